#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What recording waits costs at 50,000 switches a second: two threads on one CPU hand a byte to and fro (two switches a round); time
a switch with a recorder, less without, in interleaved rounds, median; times 50,000 a second. `record` alone is subtracted from
`record --waits`. bcc's offcputime and `perf sched record` in the same rounds, where they are installed. What a recorder uses in
user space, on the other CPU, is in no figure."""
import json, os, re, shutil, statistics, subprocess, sys, tempfile

cyclescope, build = os.environ["CYCLESCOPE"], os.environ["BUILD"]
rounds = 3 if "--quick" in sys.argv else 7
program = ["taskset", "-c", "0", f"{build}/tests/programs/waiting", "switches", "1"]
subprocess.run(["make", "-s", f"BUILD={build}", f"{build}/tests/programs/waiting"], check=True)

def ns_a_switch(said):
    rounds_made = int(re.search(r"switches (\d+)", said)[1])
    return 1e9 / (2 * rounds_made) # wall: one CPU, always busy

def plain():
    return ns_a_switch(subprocess.run(program, capture_output=True, text=True, check=True).stdout)

def recorded(*options):
    with tempfile.TemporaryDirectory() as store:
        said = subprocess.run(["taskset", "-c", "1", cyclescope, "record", "--no-bursts", *options, "-o", store, "--", *program], capture_output=True, text=True, check=True)
        return ns_a_switch(said.stdout)

def beside(command):
    import signal, time
    with tempfile.TemporaryDirectory() as work:
        other = subprocess.Popen(command, cwd=work, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(4)
        value = plain()
        other.send_signal(signal.SIGINT)
        try:
            other.wait(20)
        except subprocess.TimeoutExpired:
            other.kill(); other.wait()
        return value

ways = {"plain": plain, "record": recorded, "waits": lambda: recorded("--waits")}
if shutil.which("offcputime-bpfcc"):
    ways["offcputime"] = lambda: beside(["taskset", "-c", "1", "offcputime-bpfcc", "-f", "30"])
if shutil.which("perf"):
    ways["perf sched record"] = lambda: beside(["taskset", "-c", "1", "perf", "sched", "record", "-o", "p.data", "--", "sleep", "30"])
seen = {name: [] for name in ways}
for r in range(rounds):
    for name, way in ways.items():
        seen[name].append(way())
def added(name, base):
    return statistics.median(a - b for a, b in zip(seen[name], seen[base]))
value = 100 * added("waits", "record") * 50000 / 1e9
spread = 100 * (max(a - b for a, b in zip(seen["waits"], seen["record"])) - min(a - b for a, b in zip(seen["waits"], seen["record"]))) / 2 * 50000 / 1e9
print(json.dumps({"name": "waits-cost", "value": round(value, 3), "unit": "% of a CPU at 50,000 switches a second", "target": 1, "noise": round(spread, 3),
                  "detail": {"ns_a_switch": {n: round(statistics.median(v), 1) for n, v in seen.items()},
                             "added_percent": {n: round(100 * added(n, "plain") * 50000 / 1e9, 3) for n in ways if n != "plain"}}}))
