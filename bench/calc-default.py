#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""First causes that `calc` names at default options, of kernels of known cause: 4 s each on a quiet machine and beside a
program for each CPU that takes its time. A verdict is right, wrong, or "not enough evidence"; wrong ones and those without
a verdict are listed. --quick: every third kernel, quiet."""
import json
import os
import subprocess
import sys

sys.path.insert(0, "bench")
import lib_culprits
from lib_culprits import CYCLESCOPE

SECONDS = 4
quick = "--quick" in sys.argv
kernels = list(lib_culprits.table("kernels.txt"))[:11]


def verdict(name, procedure, first):
    program = lib_culprits.build(name)
    store = program + ".default"
    subprocess.run(["rm", "-rf", store])
    run = subprocess.run([CYCLESCOPE, "record", "-o", store, "--", program, str(SECONDS)], capture_output=True, text=True)
    calc = subprocess.run([CYCLESCOPE, "calc", "--store", store, "--json", procedure], capture_output=True, text=True)
    if run.returncode or calc.returncode:
        return {"kernel": name, "verdict": "not recorded", "why": run.stderr[-200:] + calc.stderr[-200:]}
    result = json.loads(calc.stdout)
    named = result["worst"]["cause"]
    evidence = result.get("evidence", {})
    if not evidence.get("enough", True):
        word = "not enough evidence"
    else:
        word = "right" if result["summary"]["first"] in first else "wrong"
    return {"kernel": name, "verdict": word, "first": result["summary"]["first"], "named": named, "expected": first,
            "share": round(result["summary"]["first_share"], 1), **evidence}


def costs(kernel):
    """Is the cause one on this machine?"""
    name, _, _, _, least = kernel
    slow, fast = lib_culprits.ns_a_visit(lib_culprits.build(name), 0.1)
    return not least or slow / fast >= least


kernels = [k for k in kernels[:: 3 if quick else 1] if costs(k)]
rows = {}
for machine in ["quiet"] if quick else ["quiet", "busy"]:
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() if machine == "busy" else 0)]
    try:
        rows[machine] = [verdict(name, procedure, first) for name, procedure, first, _, _ in kernels]
    finally:
        for other in others:
            other.kill()
    for row in rows[machine]:
        print(machine, json.dumps(row), file=sys.stderr)
every = [r for machine in rows.values() for r in machine]
share = {word: round(100 * sum(r["verdict"] == word for r in every) / max(1, len(every)), 1)
         for word in ("right", "wrong", "not enough evidence", "not recorded")}
print(json.dumps({"name": "calc-default", "value": share["right"], "unit": "%", "target": 90,
                  "noise": round(100 / max(1, len(every)), 1), "detail": {"kernels": len(kernels), **share, "rows": rows}}))
