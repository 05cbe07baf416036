#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Share of the kernels of known cause whose first cause `calc` names rightly: those that the rules were made with, and in
the detail those that were held out."""
import json
import sys

sys.path.insert(0, "bench")
import lib_culprits

quick = "--quick" in sys.argv
sets = {file: lib_culprits.run_all(quick, file) for file in ("kernels.txt", "held-out.txt")}
judged = {file: lib_culprits.judged(rows) for file, rows in sets.items()}
share = {file: round(100 * sum(r["verdict"] == "right" for r in rows) / max(1, len(rows)), 1) for file, rows in judged.items()}
detail = {file: [{k: r.get(k) for k in ("kernel", "ratio", "verdict", "expected", "first", "share", "gain")} for r in rows]
          for file, rows in sets.items()}
n = len(judged["kernels.txt"])
print(json.dumps({"name": "culprit-kernels", "value": share["kernels.txt"], "unit": "%", "target": 100,
                  "noise": round(100 / max(1, n), 1),
                  "detail": {"kernels": n, "held_out": {"kernels": len(judged["held-out.txt"]), "right": share["held-out.txt"]},
                             **detail}}))
