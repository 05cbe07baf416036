#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Planted changes of 3 % of a real program's CPU time that `gate` calls slower within a minute, %. One function of the program has a
sixth of the time, and does more. Also: function and line right, of those found. GATE_SECONDS, GATE_PROGRAMS, GATE_TRIALS, GATE_SIZE."""
import json, os, shutil, sys, tempfile

from lib_gate import planted, share

quick = "--quick" in sys.argv
seconds, n, trials = (int(os.environ.get(k, v)) for k, v in (("GATE_SECONDS", 20 if quick else 60), ("GATE_PROGRAMS", 2 if quick else 8), ("GATE_TRIALS", 1)))
place = tempfile.mkdtemp()
rows = planted(3, seconds, n, trials, os.environ.get("GATE_SIZE", "small" if quick else "full"), place)
shutil.rmtree(place)
found = [r for r in rows if r["slower"]]
print(json.dumps({"name": "gate-time", "value": share(rows, "slower"), "unit": "% of planted changes of 3 % called slower", "target": 90,
                  "noise": round(100 / max(len(rows), 1), 1),
                  "detail": {"function_right_percent": share(found, "function"), "line_right_percent": share(found, "line"), "seconds": seconds, "rows": rows}}))
