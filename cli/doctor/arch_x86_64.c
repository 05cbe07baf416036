/* SPDX-License-Identifier: GPL-2.0-or-later */
/* x86-64: the leaves of CPUID that describe the PMU and the time-stamp counter. */
#include "cli/doctor/arch.h"
#include "cli/doctor/machine.h"

#include <cpuid.h>
#include <time.h>

void arch_probe(uint64_t *to)
{
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (__get_cpuid_count(0x0a, 0, &a, &b, &c, &d)) {
        to[PROBE_CPUID_0A_EAX] = a;
        to[PROBE_CPUID_0A_EDX] = d;
    }
    a = b = c = d = 0;
    if (__get_cpuid_count(0x80000022, 0, &a, &b, &c, &d))
        to[PROBE_CPUID_80000022_EBX] = b;
}

double arch_tsc_mhz(void)
{
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC_RAW, &a);
    uint64_t from = __builtin_ia32_rdtsc();
    do
        clock_gettime(CLOCK_MONOTONIC_RAW, &b);
    while ((b.tv_sec - a.tv_sec) * 1000000000 + b.tv_nsec - a.tv_nsec < 20000000);
    double ticks = (double)(__builtin_ia32_rdtsc() - from);
    return ticks / ((double)(b.tv_sec - a.tv_sec) * 1e6 + (double)(b.tv_nsec - a.tv_nsec) / 1e3);
}
