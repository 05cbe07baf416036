#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Working sets that `calc` says, against the sizes that programs were given: bench/_footprint.c, 4 KB to 1 GB, recorded for 6 s at
default options. A program is right when the size is within a factor of 1.3. One that is said with "at least" and is larger is
neither right nor wrong. --quick: every third program, 3 s."""
import json
import os
import subprocess
import sys

BUILD = os.environ.get("BUILD", "build")
CYCLESCOPE = os.environ.get("CYCLESCOPE", os.path.abspath(BUILD + "/cyclescope"))
KB, MB = 1 << 10, 1 << 20
PROGRAMS = [("anywhere", 4 * KB), ("links", 64 * KB), ("anywhere", 256 * KB), ("along", 1 * MB), ("links", 4 * MB), ("eight", 8 * MB),
            ("anywhere", 16 * MB), ("down", 32 * MB), ("tree", 64 * MB), ("along", 256 * MB), ("links", 256 * MB),
            ("anywhere", 1024 * MB)]
FUNCTIONS = {"anywhere": "go_anywhere", "along": "go_along", "down": "go_down", "links": "follow_links", "tree": "search_tree",
             "eight": "add_eight"}
WITHIN = 1.3

quick = "--quick" in sys.argv
program, store = (os.path.abspath(f"{BUILD}/bench/{name}") for name in ("_footprint", "_footprint.store"))
os.makedirs(os.path.dirname(program), exist_ok=True)
subprocess.run(["gcc", "-O2", "-g", "-o", program, "bench/_footprint.c"], check=True)
rows = []
for kind, size in PROGRAMS[:: 3 if quick else 1]:
    subprocess.run(["rm", "-rf", store])
    subprocess.run([CYCLESCOPE, "record", "-o", store, "--", program, kind, str(size), "3" if quick else "6"], check=True,
                   capture_output=True)
    calc = subprocess.run([CYCLESCOPE, "calc", "--store", store, "--json", FUNCTIONS[kind]], check=True, capture_output=True, text=True)
    said = json.loads(calc.stdout)["working_set"] or {}
    times = said["bytes"] / size if said else None
    verdict = ("not told" if not said else "right" if 1 / WITHIN <= times <= WITHIN else
               "at least" if said["at_least"] and times < 1 else "wrong")
    rows.append({"program": kind, "bytes": size, "times": times and round(times, 2), "verdict": verdict, **said})
    print(f"{kind:10} {size:12} bytes: {verdict} {times or 0:.2f} times, {said.get('draws', 0):.0f} lines of "
          f"{said.get('bursts', 0):.0f} bursts", file=sys.stderr)
right = sum(r["verdict"] == "right" for r in rows)
print(json.dumps({"name": "footprint-truth", "value": round(100 * right / len(rows), 1), "unit": "%", "target": 83.3,
                  "noise": round(100 / len(rows), 1), "detail": {"wrong": sum(r["verdict"] == "wrong" for r in rows), "rows": rows}}))
