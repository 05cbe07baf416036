# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs whose guilty line is known: made from a seed, some lines with loops of their own, some that call libraries, and each
tells the CPU time that it spent at each of its lines. Recordings of them, and what a tool says of a recording."""
import json
import os
import random
import subprocess

FOLDER = os.environ.get("BUILD", "build") + "/bench/guilty"
CHOSEN, JUDGED = range(1000, 1040), range(1, 61)  # seeds: what constants may be chosen on, and what they are judged by
WORK = ["for (long i = 0; i < {n}; i++) x = x * 3 + i", "for (long i = 0; i < {n}; i++) x ^= x << 7 ^ i", "for (long i = 0; i < {n} / 40; i++) y += sin(y + i)",
        "for (long i = 0; i < {n} / 90; i++) y += strtod(text, NULL)", "for (long i = 0; i < {n} / 300; i++) x += snprintf(text2, 64, \"%.17g\", y + i)",
        "for (long i = 0; i < {n} / 2000; i++) memmove(large + (i & 63), large, 40000)", "for (long i = 0; i < {n} / 3000; i++) x += strlen(memset(large, 'a', 60000))",
        "for (long i = 0; i < {n} / 40; i++) free(malloc(16 + (i & 1023)))"]
HEAD = """#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
static double spent[4096]; static volatile long x; static volatile double y; static char text[] = "3.14159265358979e-3", text2[64], large[70000];
static double cpu(void) { struct timespec t; clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); return t.tv_sec + 1e-9 * t.tv_nsec; }
#define AT(...) do { double begun = cpu(); __VA_ARGS__; spent[__LINE__] += cpu() - begun; } while (0)
"""


def source(seed):
    """Its text, and the seconds that it is to run for."""
    draw = random.Random(seed)
    text, functions = HEAD, draw.randint(2, 8)
    for f in range(functions):
        text += f"static __attribute__((noinline)) void part_{f}(void)\n{{\n"
        for _ in range(draw.randint(1, 5)):
            n = int(20000 + 200000 * draw.expovariate(1) ** 2)
            text += f"    AT({draw.choice(WORK).format(n=n)});\n"
        text += "}\n"
    calls = "".join(f" part_{f}();" for f in range(functions))
    seconds = draw.choice([0.15, 0.3, 0.6, 1.2])
    return text + f"""int main(void)
{{
    while (cpu() < {seconds}) {{{calls} }}
    for (int i = 0; i < 4096; i++) if (spent[i] > 0) printf("%d %.6f\\n", i, spent[i]);
}}
""", seconds


def record(cyclescope, seed):
    """Makes the recording of a seed, if it isn't there."""
    stem = os.path.abspath(f"{FOLDER}/{seed}")
    if os.path.exists(stem + ".truth"):
        return
    os.makedirs(FOLDER, exist_ok=True)
    with open(stem + ".c", "w") as f:
        f.write(source(seed)[0])
    subprocess.run(["gcc", "-O2", "-g", "-o", stem, stem + ".c", "-lm"], check=True)
    done = subprocess.run([cyclescope, "record", "-o", stem + ".store", "--", stem], capture_output=True, text=True, check=True)
    with open(stem + ".truth", "w") as f:
        f.write(done.stdout)


def verdict(cyclescope, seed):
    """"right": the line that it names took the most CPU time, or nearly; "wrong": another one did; "none": no line; None: no recording."""
    stem = f"{FOLDER}/{seed}"
    if not os.path.exists(stem + ".truth"):
        return None
    spent = {int(line): float(seconds) for line, seconds in map(str.split, open(stem + ".truth"))}
    run = subprocess.run([cyclescope, "prof", "--store", stem + ".store", "--json"], capture_output=True, text=True)
    named = json.loads(run.stdout).get("hottest_line") if run.returncode == 0 else None
    if not named or os.path.basename(named["file"]) != f"{seed}.c":
        return "none"
    return "right" if spent.get(named["line"], 0) >= 0.9 * max(spent.values()) else "wrong"


def figures(cyclescope, seeds):
    """% of the recordings by verdict; None: there are none."""
    found = [v for v in (verdict(cyclescope, s) for s in seeds) if v]
    return {what: 100 * found.count(what) / len(found) for what in ("right", "wrong", "none")} if found else None
