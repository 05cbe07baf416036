# SPDX-License-Identifier: GPL-2.0-or-later
"""sprof-1998 figure 6: a large and a small function that take 75 % and 25 % of a program's time, sampled for longer and
longer: how far is the large one's share from the truth? The truth is the program's own: it reads the clock around each
call. Value: the error after the longest run, in percentage points."""
import json, math, os, subprocess, sys, tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from libsampler import CYCLESCOPE, QUICK, row  # noqa: E402

SOURCE = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
static inline uint64_t tick(void)
{
#if defined(__x86_64__)
    uint32_t low, high, cpu;
    __asm__ volatile("rdtscp" : "=a"(low), "=d"(high), "=c"(cpu)::"memory");
    return (uint64_t)high << 32 | low;
#else
    uint64_t count;
    __asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(count)::"memory");
    return count;
#endif
}
#define TURN(name) __attribute__((noinline)) uint64_t name(uint64_t x, unsigned n) \
    { for (unsigned i = 0; i < n; i++) x = x * 6364136223846793005u + i; return x; }
TURN(large_func)
TURN(small_func)
int main(int argc, char **argv)
{
    uint64_t x = 1, large = 0, all = 0;
    for (unsigned n = (unsigned)atoi(argv[argc - 1]); n; n--) {
        uint64_t a = tick();
        x = large_func(x, 300000);
        uint64_t b = tick();
        x = small_func(x, 100000);
        uint64_t c = tick();
        large += b - a, all += c - a;
    }
    fprintf(stderr, "%.6f %d\n", 100.0 * (double)large / (double)all, (int)(x & 1));
}
"""

with tempfile.TemporaryDirectory() as at:
    open(at + "/two.c", "w").write(SOURCE)
    subprocess.run(["gcc", "-O2", "-g", "-o", at + "/two", at + "/two.c"], check=True)
    detail, last = {}, None
    print(f"{'turns':>6} {'samples':>8} {'true %':>8} {'sampled %':>10} {'error':>7} {'expected error':>15}")
    for turns in (30, 100, 300, 1000, 3000)[:4 if QUICK else 5]:
        store = f"{at}/{turns}"
        done = subprocess.run([CYCLESCOPE, "record", "--no-bursts", "-o", store, "--", at + "/two", str(turns)],
                              check=True, capture_output=True, text=True)
        truth = next(float(l.split()[0]) for l in done.stderr.splitlines() if l.replace(".", "").replace(" ", "").isdigit())
        rows = json.loads(subprocess.run([CYCLESCOPE, "prof", "--json", "--store", store], check=True, capture_output=True, text=True).stdout)["rows"]
        count = {r["procedure"]: sum(r["samples"].values()) for r in rows if r["procedure"] in ("large_func", "small_func")}
        n = sum(count.values())
        share = 100 * count.get("large_func", 0) / max(n, 1)
        expected = 100 * math.sqrt(0.75 * 0.25 / max(n, 1))
        last = (share - truth, expected)
        detail[turns] = {"samples": n, "true_percent": round(truth, 2), "sampled_percent": round(share, 2)}
        print(f"{turns:6} {n:8} {truth:8.2f} {share:10.2f} {last[0]:7.2f} {expected:15.2f}", flush=True)
row("sprof-accuracy", round(abs(last[0]), 2), "points", 3.0, round(last[1], 2), detail)
