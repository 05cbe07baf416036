# SPDX-License-Identifier: GPL-2.0-or-later
"""What a zone costs in a program rebuilt with our headers in place of Tracy's and Perfetto's: ns of begin and end above the
same loop without, the least of 31 rounds, by turns, in one process. Value: the dearest of the three forms."""
import os
import subprocess
import tempfile
from libsampler import BUILD, row

PROGRAM = r"""
#include <perfetto.h>
#include <tracy/Tracy.hpp>
#include <cstdio>
#include <ctime>
#define TURNS 1000000
#define WORK __asm__ volatile("" ::: "memory")
#define ROUND(which, ...) \
    do { \
        double start = cpu(); \
        for (int i = 0; i < TURNS; i++) { __VA_ARGS__; } \
        double ns = (cpu() - start) / TURNS * 1e9; \
        least[which] = ns < least[which] ? ns : least[which]; \
    } while (0)
static double cpu()
{
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
int main()
{
    double least[] = {1e9, 1e9, 1e9, 1e9};
    for (int round = 0; round < 31; round++) {
        ROUND(0, WORK);
        ROUND(1, ZoneScopedN("zone"); WORK);
        ROUND(2, TRACE_EVENT("category", "scope"); WORK);
        ROUND(3, TRACE_EVENT_BEGIN("category", "pair"); WORK; TRACE_EVENT_END("category"));
    }
    printf("%f %f %f %f\n", least[0], least[1], least[2], least[3]);
}
"""

with tempfile.TemporaryDirectory() as at:
    os.mkdir(f"{at}/tracy")
    for name, header in {"cyclescope.h": "cyclescope.h", "cyclescope_zones.h": "macros/cyclescope_zones.h",
                         "perfetto.h": "macros/cyclescope_perfetto.h", "tracy/Tracy.hpp": "macros/cyclescope_tracy.h"}.items():
        os.symlink(os.path.realpath(f"signals/{header}"), f"{at}/{name}")
    with open(f"{at}/cost.cc", "w") as out:
        out.write(PROGRAM)
    subprocess.run(["g++", "-O2", f"-I{at}", "-o", f"{at}/cost", f"{at}/cost.cc", f"{BUILD}/libcyclescope.a"], check=True)
    bare, *forms = map(float, subprocess.run([f"{at}/cost"], check=True, capture_output=True, text=True).stdout.split())
above = dict(zip(("ZoneScopedN", "TRACE_EVENT", "TRACE_EVENT_BEGIN and END"), (round(ns - bare, 2) for ns in forms)))
print(f"the loop alone {bare:.2f} ns;", ", ".join(f"{name} {ns:.2f} ns above it" for name, ns in above.items()))
row("zone-cost", max(above.values()), "ns", 2.25, None, {"bare": round(bare, 2), **above})
