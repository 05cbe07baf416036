#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Planted changes of 3 % of a real program's time without more work that `gate` calls slower within a minute, %: a walk that misses the
cache, a branch that is mispredicted, two threads' words on one line, a longer sleep. GATE_SECONDS, GATE_PROGRAMS, GATE_TRIALS,
GATE_SIZE, GATE_KINDS."""
import functools, json, os, shutil, sys, tempfile

from lib_gate import SLOWER, planted, share, slower_pair

quick = "--quick" in sys.argv
seconds, n, trials = (int(os.environ.get(k, v)) for k, v in (("GATE_SECONDS", 20 if quick else 60), ("GATE_PROGRAMS", 1 if quick else 8), ("GATE_TRIALS", 1)))
kinds = os.environ.get("GATE_KINDS", ",".join(SLOWER)).split(",")
place, rows = tempfile.mkdtemp(), []
for kind in kinds:
    # The lines of planted_work after its head.
    source = SLOWER[kind].split("\n")
    begin = next(i for i, text in enumerate(source) if "planted_work(" in text)
    lines = [str(i + 1) for i in range(begin + 1, source.index("}", begin))]
    rows += planted(3, seconds, n, trials, os.environ.get("GATE_SIZE", "small" if quick else "full"), place,
                    functools.partial(slower_pair, kind), lines, kind=kind)
shutil.rmtree(place)
found = [r for r in rows if r["slower"]]
print(json.dumps({"name": "gate-time", "value": share(rows, "slower"), "unit": "% of planted changes of 3 % called slower", "target": 90,
                  "noise": round(100 / max(len(rows), 1), 1),
                  "detail": {"by_kind_percent": {k: share([r for r in rows if r["kind"] == k], "slower") for k in kinds}, "function_right_percent": share(found, "function"),
                             "line_right_percent": share(found, "line"), "seconds": seconds, "rows": rows}}))
