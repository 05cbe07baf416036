#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How long a recording stops a thread: the stops that it counts itself, by classes of 0.1 ms over all pieces, and beside it all
gaps of 0.1 ms or more that the thread sees in its clock, with bursts and without; on the machine as it is and with a busy loop
on each CPU (then the scheduler has its share). The value is the 99.99th percentile of the stops, the worse of the two machines;
below 10,000 stops the longest. `steal_percent` is what the host took of all CPUs meanwhile, as the kernel counts it: a stop
lasts longer when it takes the one on which the burst runs (docs/lab/bursts.md).

PAUSE_MINUTES (2)       of each of the four recordings; 15 for an hour
PAUSE_PIECES (1)        recordings of that length each
PAUSE_RATE              bursts a second; else as record chooses: some 9,000 an hour
PAUSE_MACHINES          quiet or busy: one of them"""
import json
import math
import os
import subprocess
import sys
import tempfile

CYCLESCOPE = os.environ.get("CYCLESCOPE", os.path.abspath(os.environ.get("BUILD", "build") + "/cyclescope"))
MINUTES = float(os.environ.get("PAUSE_MINUTES", 0.25 if "--quick" in sys.argv else 2))
PROGRAM = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1e6 + t.tv_nsec * 1e-3; }
int main(int argc, char **argv) /* prints each gap of 0.1 ms or more, in us */
{
    static uint64_t table[1 << 21];
    uint64_t x = 1;
    double end = now() + atof(argv[argc - 1]) * 1e6, last = now();
    while (last < end) {
        for (int i = 0; i < 200; i++) { /* what makes bursts dear: pages at random */
            x = x * 6364136223846793005u + 1442695040888963407u;
            table[x >> 43]++;
        }
        double t = now();
        if (t - last >= 100)
            printf("%.0f\n", t - last);
        last = t;
    }
}
"""


def cpu_ticks():
    """-> all that passed on all CPUs, and of it what the host took"""
    fields = [int(field) for field in open("/proc/stat").readline().split()[1:9]]
    return sum(fields), fields[7]


def record(program, folder, bursts):
    """-> gaps in us, the stops by class, the longest in ms, what the host took in %"""
    gaps, stops, longest = [], {}, 0
    all_before, stolen_before = cpu_ticks()
    for _ in range(int(os.environ.get("PAUSE_PIECES", 1))):
        store = tempfile.mkdtemp(dir=folder) + "/store"
        rate = os.environ.get("PAUSE_RATE")
        how = ["--no-bursts"] if not bursts else ["--burst-rate", rate] if rate else ["--bursts"]
        run = subprocess.run([CYCLESCOPE, "record", "-o", store, "--json", *how, "--", "sh", "-c",
                              f"exec {program} {MINUTES * 60} >{folder}/gaps"], capture_output=True, text=True)
        told = json.loads(run.stdout)["bursts"] if bursts else None
        gaps += [float(line) for line in open(folder + "/gaps")]
        for start, n in (told or {"stops_us": []})["stops_us"]:
            stops[start] = stops.get(start, 0) + n
        longest = max(longest, told["longest_stop_us"] / 1e3 if told else 0)
    everything, stolen = cpu_ticks()
    return gaps, stops, longest, 100 * (stolen - stolen_before) / max(1, everything - all_before)


def stop_percentile(stops, share):
    """The upper end of the class that has it, in ms."""
    left = math.ceil(share * sum(stops.values()))
    for start, n in sorted(stops.items()):
        left -= n
        if left <= 0:
            return (start + 100) / 1e3
    return 0


rows = {}
with tempfile.TemporaryDirectory() as folder:
    open(folder + "/p.c", "w").write(PROGRAM)
    subprocess.run(["gcc", "-O2", "-o", folder + "/p", folder + "/p.c"], check=True)
    for machine in os.environ.get("PAUSE_MACHINES", "quiet,busy").split(","):
        others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() if machine == "busy" else 0)]
        try:
            without, _, _, _ = record(folder + "/p", folder, False)
            gaps, stops, longest, steal = record(folder + "/p", folder, True)
        finally:
            for other in others:
                other.kill()
        n = sum(stops.values())
        rows[machine] = {"stops": n, "stop_p99_ms": stop_percentile(stops, 0.99),
                         "stop_p9999_ms": stop_percentile(stops, 0.9999) if n >= 10000 else longest, "longest_stop_ms": round(longest, 2),
                         "over_4_ms": sum(c for s, c in stops.items() if s >= 4000), "over_5_ms": sum(c for s, c in stops.items() if s >= 5000),
                         "steal_percent": round(steal, 2), "gaps": len(gaps), "gaps_without": len(without),
                         "longest_gap_ms": max(gaps, default=0) / 1e3, "longest_gap_without_ms": max(without, default=0) / 1e3}
        print(machine, json.dumps(rows[machine]), file=sys.stderr)
print(json.dumps({"name": "record-pause", "value": max(r["stop_p9999_ms"] for r in rows.values()), "unit": "ms", "target": 5,
                  "noise": None, "detail": {"minutes": MINUTES, "pieces": int(os.environ.get("PAUSE_PIECES", 1)), **rows}}))
