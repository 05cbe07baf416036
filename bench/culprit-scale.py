#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How far the executions that `calc` assumes are from the kernels' own counts where nothing counted them: median of the
factor (1.5 is half too many or a third too few), the worst, and how often the truth lies within the bounds it states."""
import json
import statistics
import sys

sys.path.insert(0, "bench")
import lib_culprits

quick = "--quick" in sys.argv
judged = [r for f in ("kernels.txt", "held-out.txt") for r in lib_culprits.judged(lib_culprits.run_all(quick, f))]
off = {r["kernel"]: max(r["scale"], 1 / r["scale"]) for r in judged if r["scale"] > 0}
inside = [r["scale_low"] <= 1.1 and r["scale_high"] >= 0.9 for r in judged]
worst = max(off, key=off.get)
print(json.dumps({"name": "culprit-scale", "value": round(statistics.median(off.values()), 2), "unit": "factor", "target": 1.5,
                  "noise": 0.1, "detail": {"worst": [worst, round(off[worst], 1)],
                                           "truth within the stated bounds, %": round(100 * sum(inside) / max(1, len(inside))),
                                           "kernels": {r["kernel"]: [r["scale_low"], r["scale"], r["scale_high"]] for r in judged}}}))
