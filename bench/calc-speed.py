#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How many times faster `calc` of the hottest procedure is than `perf annotate --stdio` of it: the same program, rate and
duration, medians of alternating runs; calc with llvm-mca's answers cached, its first run in the detail."""
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, "bench")
import lib_culprits

cyclescope = lib_culprits.CYCLESCOPE
program = lib_culprits.build("branch_random")
turns = 3 if "--quick" in sys.argv else 7


def timed(command):
    start = time.time()
    rc = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
    return time.time() - start if rc == 0 else None


with tempfile.TemporaryDirectory() as folder:
    os.environ["XDG_CACHE_HOME"] = folder + "/cache"
    os.mkdir(folder + "/cache")
    subprocess.run([cyclescope, "record", "-o", folder + "/s", "-F", "2000", "--", program, "3"], capture_output=True)
    calc = [cyclescope, "calc", "--store", folder + "/s", "sort_bytes"]
    first = timed(calc)
    ours, perfs = [], []
    perf = shutil.which("perf")
    if perf:
        subprocess.run([perf, "record", "-q", "-e", "cpu-clock", "-F", "2000", "-o", folder + "/p", program, "3"],
                       capture_output=True)
    for _ in range(turns):
        ours.append(timed(calc))
        if perf:
            perfs.append(timed([perf, "annotate", "--stdio", "-i", folder + "/p", "sort_bytes"]))
ours = [t for t in ours if t]
perfs = [t for t in perfs if t]
value = statistics.median(perfs) / statistics.median(ours) if perfs and ours else None
print(json.dumps({"name": "calc-speed", "value": value and round(value, 1), "unit": "x", "target": 20,
                  "noise": value and round(value * 0.2, 1),
                  "detail": {"calc_s": ours and round(statistics.median(ours), 3), "calc_first_s": first and round(first, 3),
                             "perf_annotate_s": perfs and round(statistics.median(perfs), 3)}}))
