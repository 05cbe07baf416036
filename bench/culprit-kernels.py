#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Share of the kernels of known cause whose first cause `calc` names rightly."""
import json
import sys

sys.path.insert(0, "bench")
import lib_culprits

rows = lib_culprits.run_all("--quick" in sys.argv)
judged = [r for r in rows if r["verdict"] in ("right", "wrong")]
right = sum(r["verdict"] == "right" for r in judged)
detail = [{k: r.get(k) for k in ("kernel", "ratio", "verdict", "expected", "first", "share", "gain", "scale")} for r in rows]
print(json.dumps({"name": "culprit-kernels", "value": round(100 * right / max(1, len(judged)), 1), "unit": "%", "target": 100,
                  "noise": round(100 / max(1, len(judged)), 1), "detail": detail}))
