#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The daemon with waits beside 2,000 threads that sleep, want locks, end and are followed by others (tests/programs/waiting_crowd.c), for an
hour (--quick: a minute; STORM_SECONDS): by how much its memory grew in the second half, in percent of the first half's highest. Fails
if the waits in the store aren't what the program waited by its own clocks, to 1 %. Only where the daemon says that it had no row for
some threads, those may be missing; what it says it lost are records of single waits, which no total is made of."""
import json, os, subprocess, sys, tempfile, time

cyclescope, build = os.environ["CYCLESCOPE"], os.environ["BUILD"]
seconds = int(os.environ.get("STORM_SECONDS", 60 if "--quick" in sys.argv else 3600))
if os.geteuid() != 0:
    print("needs root to record the whole machine's waits", file=sys.stderr)
    sys.exit(77)
with tempfile.TemporaryDirectory() as place:
    os.chmod(place, 0o755)
    crowd = f"{build}/tests/programs/waiting_crowd"
    subprocess.run(["make", "-s", f"BUILD={build}", crowd], check=True)

    def daemon(verb, *options):
        ran = subprocess.run([cyclescope, "daemon", verb, "--socket", f"{place}/control", *options], stdout=subprocess.PIPE, text=True)
        if ran.returncode:
            raise SystemExit(f"daemon {verb} failed")
        return ran.stdout

    daemon("start", "--waits", "--memory", "64M", "--label", "command", "--merge-interval", "60s", "-o", f"{place}/store", "--remarks", f"{place}/log")
    try:
        program = subprocess.Popen([crowd, str(seconds), "2000"], stdout=subprocess.PIPE, text=True)
        ticks = []
        while program.poll() is None:
            time.sleep(max(2, seconds / 200))
            ticks.append(json.loads(daemon("status", "--json")))
        if program.returncode:
            raise SystemExit(f"the crowd ended with {program.returncode}")
        log = {w[0]: float(w[1]) for w in map(str.split, program.stdout)}
        daemon("flush")
        last = json.loads(daemon("status", "--json"))
    finally:
        daemon("stop")
    subprocess.run([cyclescope, "store", "verify", f"{place}/store"], check=True, stdout=sys.stderr)
    waits = json.loads(subprocess.run([cyclescope, "waits", "--process", "waiting_crowd", "--epoch", "all", "--json", "--top", "0", "--store", f"{place}/store"],
                                      check=True, capture_output=True, text=True).stdout)
    size = sum(os.path.getsize(os.path.join(d, f)) for d, _, files in os.walk(f"{place}/store") for f in files)
    remarks = open(f"{place}/log").read()
memory = [t["memory_bytes"] for t in ticks]
half = len(memory) // 2
growth = 100 * (max(memory[half:]) / max(memory[:half]) - 1)
off = {t["what"]: t["seconds"] for t in waits["time"] if t["what"] != "on-cpu"}
stored, lived = sum(off.values()), log["slept"] + log["locked"]
lost = {k: v for k, v in last.items() if "lost" in k and v}
print(json.dumps({"name": "waits-storm", "value": round(growth, 2), "unit": "% of memory", "target": 5, "noise": 1,
                  "detail": {"seconds": seconds, "threads": log["threads"], "memory_peak_mb": round(last["memory_peak_bytes"] / 1e6, 2), "store_mb": round(size / 1e6, 2),
                             "waited_by_its_own_clocks": lived, "stored": {k: round(v, 1) for k, v in off.items()}, "off_percent": round(100 * (stored / lived - 1), 3),
                             "lost": lost, "remarks": remarks.splitlines()[-5:], "status": {k: v for k, v in last.items() if "wait" in k}}}))
sys.exit(stored > 1.01 * lived or (stored < 0.99 * lived and not last["waits_uncounted"]))
