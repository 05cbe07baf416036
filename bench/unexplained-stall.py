#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Unexplained stall, % of the samples that `sum` explains, over the five programs of the frequency benchmarks (bench/programs)
after ten seconds at default options. Frequencies without a counter are relative and the scale is fitted to the model: what is
measured is how much of the distribution within procedures the rules' bounds can't hold, not the scale (culprit-scale does that;
DCPI: 8.6 %). --quick: 2 s of two programs. PROGRAMS=a,b: these alone. --again: `sum` of the recordings of the last run."""
import json
import os
import shutil
import subprocess
import sys

cyclescope = os.environ.get("CYCLESCOPE", os.path.abspath("build/cyclescope"))
quick = "--quick" in sys.argv
seconds = 2 if quick else 10
folder = os.path.abspath(os.environ.get("BUILD", "build") + "/bench/unexplained")
programs = os.environ.get("PROGRAMS", "").split(",") if os.environ.get("PROGRAMS") else \
    ["bzip2", "lua5.4"] if quick else ["bzip2", "zstd", "lua5.4", "sqlite3", "mawk"]
os.makedirs(folder, exist_ok=True)
rows, total, unexplained, gain = [], 0.0, 0.0, 0.0
for name in programs:
    build = subprocess.run(["bench/programs", "build", name, "plain"], capture_output=True, text=True)
    command = subprocess.run(["bench/programs", "command", name, "plain", "full"], capture_output=True, text=True).stdout.strip()
    if build.returncode or not command:
        print(name, build.stderr.strip(), file=sys.stderr)
        continue
    loop = f"end=$((SECONDS+{seconds})); while [ $SECONDS -lt $end ]; do {command} >/dev/null; done"
    store = f"{folder}/{name}.store"
    if "--again" not in sys.argv:
        shutil.rmtree(store, ignore_errors=True)
        subprocess.run([cyclescope, "record", "-o", store, "--", "bash", "-c", loop], capture_output=True)
    out = subprocess.run([cyclescope, "sum", "--store", store, "--json"], capture_output=True, text=True)
    if out.returncode:
        print(name, out.stderr.strip(), file=sys.stderr)
        continue
    s = json.loads(out.stdout)["summary"]
    rows.append({"program": name, "samples": s["samples"], "unexplained": round(s["unexplained"], 1),
                 "gain": round(s["gain"], 1), "no_frequency": round(s["no_frequency"], 1), "first": s["first"],
                 "first_share": round(s["first_share"], 1)})
    print(rows[-1], file=sys.stderr)
    total += s["samples"]
    unexplained += s["samples"] * s["unexplained"] / 100
    gain += s["samples"] * s["gain"] / 100
print(json.dumps({"name": "unexplained-stall", "value": round(100 * unexplained / max(1, total), 1), "unit": "%", "target": 5,
                  "noise": 2, "detail": {"gain": round(100 * gain / max(1, total), 1), "programs": rows}}))
