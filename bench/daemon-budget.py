#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""daemon-budget: CPU time of the daemon and all its processes over what its budget allows, with waits, intervals, call chains and
labels by process under a mixed load (short processes, pipes, threads that wait for one another). --quick leaves the first 30 s out,
where a session's start is paid from what an hour saves; `first_30_s` in the detail has them.
    daemon-budget [--seconds N] [--quick] [--defaults]     N: 3600; --quick: 120
Target: at most 1.0; memory within the bound (64 MB more for waits' is in it), disk at most 50 MB a day or none."""
import argparse, json, os, re, signal, subprocess, sys, tempfile, threading, time

arguments = argparse.ArgumentParser()
arguments.add_argument("--seconds", type=float, default=3600)
arguments.add_argument("--quick", action="store_true")
arguments.add_argument("--defaults", action="store_true")
args = arguments.parse_args()
seconds = 120 if args.quick else args.seconds
apart = 30 if args.quick else 0  # the session's start and the tables of what runs already
budget = 0.005
cs = os.path.join(os.path.realpath(os.environ.get("BUILD", "build")), "cyclescope")
work = tempfile.mkdtemp()
os.mkdir(work + "/run")
socket = ["--socket", work + "/run/control"]
everything = [] if args.defaults else "--waits on --intervals 10s --label process".split()
subprocess.run([cs, "daemon", "start", "-o", work + "/store", "--remarks", work + "/log", "--budget", f"{100 * budget}%", *everything,
                *socket], check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def status(timeout=120):
    return json.loads(subprocess.run([cs, "daemon", "status", "--json", *socket], check=True, capture_output=True, text=True,
                                     timeout=timeout).stdout)


pid = int(status()["pid"])
began = time.monotonic()


def below(parent):
    pids = [parent]
    for p in pids:
        try:
            for task in os.listdir(f"/proc/{p}/task"):
                pids += map(int, open(f"/proc/{p}/task/{task}/children").read().split())
        except OSError:
            pass
    return pids


def cpu_seconds():
    ticks = 0
    for p in below(pid):
        try:
            fields = open(f"/proc/{p}/stat").read().rsplit(")", 1)[1].split()
            ticks += sum(map(int, fields[11:15]))
        except OSError:
            pass
    return ticks / os.sysconf("SC_CLK_TCK")


until = began + seconds
load = [subprocess.Popen(["bash", "-c", command], start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for command in (
    "while :; do /bin/true; done",
    "while :; do head -c 20000 /dev/urandom | gzip | wc -c; done",
    "python3 -c 'import threading, time\nlock = threading.Lock()\ndef work():\n  while True:\n    with lock: sum(range(2000))\n"
    "    time.sleep(0.002)\n[threading.Thread(target=work).start() for i in range(8)]'",
)]
peak, last = 0, {}
try:
    time.sleep(apart)
    first, counted_from = cpu_seconds() if apart else 0, time.monotonic() if apart else began
    while time.monotonic() < until:
        time.sleep(min(10, max(0, until - time.monotonic())))
        peak = max(peak, int(re.search(r"VmHWM:\s*(\d+)", open(f"/proc/{pid}/status").read())[1]) * 1024)
finally:
    for p in load:
        os.killpg(p.pid, signal.SIGKILL)
allowed = budget * os.sysconf("SC_NPROCESSORS_ONLN") * (time.monotonic() - counted_from)
used = cpu_seconds() - first
last = status()
lost = sum("lost" in line for line in open(work + "/log"))
subprocess.run([cs, "daemon", "stop", *socket], stdout=subprocess.DEVNULL, timeout=300)
disk = sum(os.path.getsize(os.path.join(d, f)) for d, _, files in os.walk(work + "/store") for f in files)
reports = {}
for report in ("prof", "prof --last 10m", "tree", "report --html " + work + "/page", *(() if args.defaults else ("prof --wall", "waits"))):
    begin = time.monotonic()
    subprocess.run([cs, *report.split(), "--store", work + "/store"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=300)
    reports[report.replace(" " + work + "/page", "")] = round(time.monotonic() - begin, 1)
grains = subprocess.run([cs, "prof", "--last", "2m", "--store", work + "/store"], capture_output=True, text=True, timeout=300).stderr
subprocess.run(["rm", "-rf", work])
print(f"{used:.2f} s of CPU time of {allowed:.2f} s in {seconds:.0f} s; peak {peak / 1e6:.1f} MB; store {disk / 1e6:.1f} MB; "
      f"{reports}; {grains.strip()}; {lost} lines of losses; rested {last.get('rested_percent')} %", file=sys.stderr)
print(json.dumps({"name": "daemon-budget", "value": round(used / allowed, 3), "unit": "of the budget", "target": 1.0, "noise": 0.05,
                  "detail": {"seconds": seconds, "first_30_s": round(first, 2),
                             "waits_all_from_ms": last.get("waits_all_from_ms"), "waits_kept": last.get("waits_kept"), "peak_MB": round(peak / 1e6, 1), "store_MB": round(disk / 1e6, 1),
                             "store_MB_a_day": round(disk / 1e6 * 86400 / seconds, 1), "reports_s": reports, "loss_lines": lost, "rested_percent": last.get("rested_percent")}}))
