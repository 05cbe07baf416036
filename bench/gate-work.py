#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Planted changes of 1 % of a real program's work that `gate` calls slower within a minute, %. It is the work that counts,
by instructions. GATE_SECONDS, GATE_PROGRAMS, GATE_TRIALS, GATE_SIZE."""
import json, os, shutil, sys, tempfile

from lib_gate import planted, planted_work_pair, programs, share

quick = "--quick" in sys.argv
seconds, n, trials = (int(os.environ.get(k, v)) for k, v in (("GATE_SECONDS", 20 if quick else 60), ("GATE_PROGRAMS", 2 if quick else 8), ("GATE_TRIALS", 1)))
place = tempfile.mkdtemp()
rows = planted(1.1, seconds, programs(n), trials, os.environ.get("GATE_SIZE", "small" if quick else "full"), place, planted_work_pair, ("5", "6"))  # a tenth above --ignore-below
shutil.rmtree(place)
print(json.dumps({"name": "gate-work", "value": share(rows, "slower"), "unit": "% of planted changes of 1 % called slower", "target": 95,
                  "noise": round(100 / max(len(rows), 1), 1),
                  "detail": {"function_right_percent": share([r for r in rows if r["slower"]], "function"), "line_right_percent": share([r for r in rows if r["slower"]], "line"),
                             "by_work_percent": round(100 * sum(r["work"] == "slower" for r in rows) / max(len(rows), 1), 1),
                             "passed_as_same_percent": round(100 * sum(not r["slower"] and r["pace"] == "same" for r in rows) / max(len(rows), 1), 1),
                             "seconds": seconds, "rows": rows}}))
