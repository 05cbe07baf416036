#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How many times faster `calc` of the hottest procedure is than `perf annotate --stdio` of it, on recordings of the same program,
rate and duration: sqlite3 built with debug information, whose hottest procedures are large. Medians of alternating runs, with
llvm-mca's answers and solved frequencies kept; the first run, and `sum` over a program of 100 MB (clang's libraries compiling), are in the detail.
perf's recording carries no build-ids: perf aborts in its own handling of them on some machines."""
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

cyclescope = os.environ.get("CYCLESCOPE", os.path.abspath("build/cyclescope"))
quick = "--quick" in sys.argv
turns = 1 if quick else 5
procedure = "sqlite3VdbeExec"


def timed(command):
    start = time.time()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.time() - start if done.returncode == 0 else None


def median(times):
    times = [t for t in times if t]
    return statistics.median(times) if times else None


def large(folder):
    """Seconds and MB that `sum` takes the first time over clang-19 compiling, whose code is a library of more than 100 MB: control-flow
    graphs, frequencies and causes of all procedures with samples."""
    clang = shutil.which("clang-19")
    if not clang:
        return None, None
    source = folder + "/large.c"
    with open(source, "w") as f:
        for i in range(1500):
            f.write(f"int f{i}(int *p, int n) {{ int s = {i}; for (int i = 0; i < n; i++) s += p[i] * (s ^ {i}) % (i + 7); return s; }}\n")
    subprocess.run([cyclescope, "record", "-o", folder + "/l", "-F", "1000", "--burst-rate", "30", "--", clang, "-O2", "-c", "-o",
                    "/dev/null", source], capture_output=True)
    start = time.time()
    child = subprocess.Popen([cyclescope, "sum", "--store", folder + "/l"], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    return (None, None) if status else (round(time.time() - start, 1), round(usage.ru_maxrss / 1024))


subprocess.run(["bench/programs", "build", "sqlite3", "plain"], check=True, capture_output=True)
command = subprocess.run(["bench/programs", "command", "sqlite3", "plain", "small" if quick else "full"], capture_output=True, text=True, check=True).stdout.strip()
with tempfile.TemporaryDirectory() as folder:
    os.environ["XDG_CACHE_HOME"] = folder + "/cache"
    os.mkdir(folder + "/cache")
    subprocess.run([cyclescope, "record", "-o", folder + "/s", "-F", "2000", "--burst-rate", "30", "--", "sh", "-c", command], capture_output=True)
    subprocess.run(["perf", "record", "-q", "-B", "-e", "cpu-clock", "-F", "2000", "-o", folder + "/p", "sh", "-c", command], capture_output=True)
    calc = [cyclescope, "calc", "--store", folder + "/s", procedure]
    annotate = ["perf", "--buildid-dir", folder + "/none", "annotate", "--stdio", "-i", folder + "/p", procedure]
    first = timed(calc)
    ours, perfs = [], []
    for _ in range(turns):
        ours.append(timed(calc))
        perfs.append(timed(annotate))
    whole, whole_mb = (None, None) if quick else large(folder)
ours, perfs = median(ours), median(perfs)
value = round(perfs / ours, 1) if ours and perfs else None
print(json.dumps({"name": "calc-speed", "value": value, "unit": "x", "target": 20, "noise": value and round(value * 0.2, 1),
                  "detail": {"procedure": procedure, "calc_s": ours and round(ours, 3), "calc_first_s": first and round(first, 3),
                             "perf_annotate_s": perfs and round(perfs, 3), "sum_of_100_MB_s": whole, "sum_of_100_MB_peak_MB": whole_mb,
                             **({} if perfs else {"why": "perf annotate failed here"})}}))
