#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""daemon-reports: time of each report on a daemon's store with waits, intervals, call chains and labels by process, recorded
over builds, Python, shells and pipes; of each report the quickest of some runs, user and system time beside the wall's.
    daemon-reports [--seconds N] [--quick] [--runs N] [--budget 20%] [--keep DIR]     N: 150; --quick: 60
--keep leaves the store there; where DIR has one, it is measured and nothing is recorded.  Target: at most 3 s for the slowest."""
import argparse, json, os, resource, shutil, signal, subprocess, sys, tempfile, time

arguments = argparse.ArgumentParser()
arguments.add_argument("--seconds", type=float, default=150)
arguments.add_argument("--quick", action="store_true")
arguments.add_argument("--runs", type=int, default=3)
arguments.add_argument("--budget", default="20%")  # at 0.5 % the daemon thins out so much that the store is small
arguments.add_argument("--keep")
args = arguments.parse_args()
seconds = 60 if args.quick else args.seconds
cs = os.path.join(os.path.realpath(os.environ.get("BUILD", "build")), "cyclescope")
work = tempfile.mkdtemp()
store = os.path.abspath(args.keep) if args.keep else work + "/store"
quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
SOURCE = "#include <stdlib.h>\n" + "".join(f"int f{i}(int x) {{ for (int k = 0; k < x; k++) x ^= k * {i} + rand(); return x; }}\n"
                                           for i in range(400))
LOADS = (
    "while :; do cc -O2 -g -c a.c -o a.o && cc -shared a.o -o a.so; done",
    "while :; do python3 -c 'import json; [json.loads(json.dumps(list(range(999)))) for _ in range(999)]'; done",
    "while :; do sh -c 'for i in 1 2 3 4 5; do /bin/true; expr $i + 1; done'; done",
    "while :; do head -c 200000 /dev/urandom | gzip | sort | wc -c; done",
    "python3 -c 'import threading, time\nlock = threading.Lock()\ndef work():\n  while True:\n    with lock: sum(range(2000))\n"
    "    time.sleep(0.002)\n[threading.Thread(target=work).start() for i in range(8)]'",
)


def record():
    os.mkdir(work + "/run")
    with open(work + "/a.c", "w") as f:
        f.write(SOURCE)
    socket = ["--socket", work + "/run/control"]
    subprocess.run([cs, "daemon", "start", "-o", store, "--remarks", work + "/log", "--budget", args.budget, "--waits", "on",
                    "--intervals", "10s", "--label", "process", *socket], check=True, **quiet)
    loads = [subprocess.Popen(["bash", "-c", load], cwd=work, start_new_session=True, **quiet) for load in LOADS]
    try:
        time.sleep(seconds)
    finally:
        for load in loads:
            os.killpg(load.pid, signal.SIGKILL)
            load.wait()
        subprocess.run([cs, "daemon", "stop", *socket], timeout=300, **quiet)


def once(report):
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run([cs, *report, "--store", store], check=True, timeout=600, **quiet)
    wall, after = time.monotonic() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    return [round(wall, 2), round(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, 2)]


try:
    if not os.path.isdir(store):
        record()
    files = [os.path.join(d, f) for d, _, names in os.walk(store) for f in names]
    reports = {}
    for report in (["prof"], ["prof", "--wall"], ["prof", "--last", "10m"], ["tree"], ["waits"], ["report", "--html", work + "/page"]):
        times = [once(report) for _ in range(args.runs)]
        reports[" ".join(report).replace(" " + work + "/page", "")] = {"s": min(t[0] for t in times), "cpu_s": min(t[1] for t in times)}
    megabytes = round(sum(map(os.path.getsize, files)) / 1e6, 1)
finally:
    shutil.rmtree(work, ignore_errors=True)
print(f"{megabytes} MB in {len(files)} files: {reports}", file=sys.stderr)
print(json.dumps({"name": "daemon-reports", "value": max(r["s"] for r in reports.values()), "unit": "s", "target": 3, "noise": None,
                  "detail": {"store_MB": megabytes, "files": len(files), "runs": args.runs, "reports": reports}}))
