#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Planted changes of 3 % of a real program's time without more work that `gate` calls slower within a minute, %: a walk that misses the
cache, a branch that is mispredicted, two threads' words on one line, a lock that is held longer, new pages, data that is brought to the disk, a longer sleep. Each is calibrated by pairs of runs of our own. One
that isn't between 1.5 and 4.5 %, or isn't known better than by a third, is left out before `gate` sees it. GATE_SECONDS, GATE_PROGRAMS,
GATE_NAMES, GATE_TRIALS, GATE_SIZE, GATE_KINDS; GATE_MINUTES: after as long no further one begins. GATE_OWN: names of bench/plants, whose
programs have two threads or processes and a plant of their own; only these, then."""
import functools, json, os, shutil, sys, tempfile, time

from lib_gate import OWN, SLOWER, own_pair, planted, programs, share, slower_pair

# Of a walk that misses the cache, most of its pages miss the TLB, too.
CAUSES = {"cache": ("d-cache", "dtlb"), "branch": ("mispredict",), "sharing": ("lock", "d-cache", "false-sharing"), "lock": ("mutex",),
          "faults": ("page-fault",), "sync": ("file", "system-call"), "wait": ("sleep",), "csvstat": ("false-sharing",),
          "store": ("mutex", "lock"), "jobs": ("condition",), "pipe": ("pipe", "system-call"),
          "journal": ("file", "disk", "system-call"), "patience": ("sleep",), "ledger": ("mutex", "lock")}
quick = "--quick" in sys.argv
seconds, n, trials = (int(os.environ.get(k, v)) for k, v in (("GATE_SECONDS", 20 if quick else 60), ("GATE_PROGRAMS", 1 if quick else 8), ("GATE_TRIALS", 1)))
kinds = os.environ.get("GATE_KINDS", ",".join(SLOWER)).split(",")
place, rows = tempfile.mkdtemp(), []
ends = time.monotonic() + 60 * float(os.environ.get("GATE_MINUTES", "1e6"))
own = os.environ.get("GATE_OWN", "").split()
for name in own:
    with open(f"bench/plants/{name}.c") as f:
        source = f.read().split("\n")
    begin = next(i for i, text in enumerate(source) if f" {OWN[name][0]}(" in text and not text.endswith(";"))
    lines = [str(i + 1) for i in range(begin + 1, source.index("}", begin))]
    rows += planted(3, seconds, [name], trials, "full", place, own_pair, lines, OWN[name][0], kind=name)
for name in [] if own else programs(n):
    for kind in kinds:
        if time.monotonic() > ends:
            break
        # The lines of planted_work after its head.
        source = SLOWER[kind].split("\n")
        begin = next(i for i, text in enumerate(source) if "planted_work(" in text)
        lines = [str(i + 1) for i in range(begin + 1, source.index("}", begin))]
        rows += planted(3, seconds, [name], trials, os.environ.get("GATE_SIZE", "small" if quick else "full"), place,
                        functools.partial(slower_pair, kind), lines, kind=kind)
shutil.rmtree(place)
for r in rows:
    r["cause_right"] = r["cause"] in CAUSES[r["kind"]]
found = [r for r in rows if r["slower"]]
print(json.dumps({"name": "gate-time", "value": share(rows, "slower"), "unit": "% of planted changes of 3 % called slower", "target": 90,
                  "noise": round(100 / max(len(rows), 1), 1),
                  "detail": {"by_kind_percent": {k: share([r for r in rows if r["kind"] == k], "slower") for k in own or kinds}, "function_right_percent": share(found, "function"),
                             "line_right_percent": share(found, "line"), "cause_right_percent": share(found, "cause_right"), "cause_wrong": sum(bool(r["cause"]) and not r["cause_right"] for r in rows),
                             "faster": sum("faster" in (r["pace"], r["waits"]) for r in rows), "seconds": seconds, "rows": rows}}))
