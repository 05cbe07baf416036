#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How long a recording stops a thread: what the recording states at its end, and beside it all gaps of 0.1 ms or more that
the thread itself sees in its clock, with bursts and without, on a quiet machine and with a busy loop on each CPU (then the
scheduler has its share). PAUSE_MINUTES (2): of each of the four recordings; 15 for an hour."""
import json
import os
import re
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


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else 0


def record(program, store, bursts):
    run = subprocess.run([CYCLESCOPE, "record", "-o", store, "--bursts" if bursts else "--no-bursts", "--", program,
                          str(MINUTES * 60)], capture_output=True, text=True)
    text = run.stderr + run.stdout
    found = re.search(r"(\d+) bursts,", text)
    most = re.search(r"([\d.]+) ms at most", text)
    gaps = [float(line) for line in run.stdout.split("\n") if re.fullmatch(r"\d+", line)]
    return gaps, int(found.group(1)) if found else 0, float(most.group(1)) if most else None


rows = {}
with tempfile.TemporaryDirectory() as folder:
    open(folder + "/p.c", "w").write(PROGRAM)
    subprocess.run(["gcc", "-O2", "-o", folder + "/p", folder + "/p.c"], check=True)
    for machine in ("quiet", "busy"):
        others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() if machine == "busy" else 0)]
        try:
            without, _, _ = record(folder + "/p", folder + "/w", False)
            gaps, bursts, stated = record(folder + "/p", folder + "/s" + machine, True)
        finally:
            for other in others:
                other.kill()
        rows[machine] = {"bursts": bursts, "stated_max_ms": stated, "gaps": len(gaps), "gaps_without": len(without),
                         "longest_ms": max(gaps, default=0) / 1e3, "longest_without_ms": max(without, default=0) / 1e3,
                         "p9999_ms": percentile(gaps, 0.9999) / 1e3, "p9999_without_ms": percentile(without, 0.9999) / 1e3}
        print(machine, json.dumps(rows[machine]), file=sys.stderr)
print(json.dumps({"name": "record-pause", "value": max((r["stated_max_ms"] or 0) for r in rows.values()), "unit": "ms", "target": 5,
                  "noise": None, "detail": {"minutes": MINUTES, **rows}}))
