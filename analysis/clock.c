/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/clock.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

enum { CHAINS = 400, LINKS_SHORT = 20, LINKS_LONG = 60, ADDS_A_LINK = 100 };

#define ADD10(x) x x x x x x x x x x

#if defined(__x86_64__)
static uint64_t ticks(void)
{
    uint32_t low, high, aux;
    __asm__ volatile("rdtscp" : "=a"(low), "=d"(high), "=c"(aux)::"memory");
    return (uint64_t)high << 32 | low;
}
/* 100 dependent adds a turn; the loop's own counter runs beside them. */
static void chain(unsigned links)
{
    uint64_t sum = 1, step = 3;
    __asm__ volatile("1:\n\t" ADD10(ADD10("add %1, %0\n\t")) "dec %2\n\tjnz 1b"
                     : "+r"(sum), "+r"(step), "+r"(links)::"cc");
}
#elif defined(__aarch64__)
static uint64_t ticks(void)
{
    uint64_t count;
    __asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(count)::"memory");
    return count;
}
static void chain(unsigned links)
{
    uint64_t sum = 1, step = 3;
    __asm__ volatile("1:\n\t" ADD10(ADD10("add %0, %0, %1\n\t")) "subs %w2, %w2, #1\n\tb.ne 1b"
                     : "+r"(sum), "+r"(step), "+r"(links)::"cc");
}
#else
#error "the core's clock: no chain for this architecture yet"
#endif

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double least(const double *v, size_t n)
{
    double m = v[0];
    for (size_t i = 1; i < n; i++)
        if (v[i] < m)
            m = v[i];
    return m;
}

double cs_clock_ticks_per_add(const double *shorter, const double *longer, size_t n, double adds_short,
                              double adds_long)
{
    if (n == 0 || adds_long <= adds_short)
        return -1;
    return (least(longer, n) - least(shorter, n)) / (adds_long - adds_short);
}

struct instant {
    double ns;
    uint64_t ticks, width;
};

/* Clock and counter at (nearly) one moment: the reading with the tightest bracket out of 50. */
static struct instant now(void)
{
    struct instant best = {0, 0, UINT64_MAX};
    for (int i = 0; i < 50; i++) {
        struct timespec t;
        uint64_t before = ticks();
        clock_gettime(CLOCK_MONOTONIC_RAW, &t);
        uint64_t after = ticks();
        if (after - before < best.width)
            best = (struct instant){(double)t.tv_sec * 1e9 + (double)t.tv_nsec, before / 2 + after / 2,
                                    after - before};
    }
    return best;
}

int cs_clock_calibrate(struct cs_clock *out, struct cs_error *err)
{
    double shorter[CHAINS], longer[CHAINS];
    *out = (struct cs_clock){0};
    struct instant start = now();
    chain(40 * LINKS_LONG); /* wakes the core up */
    for (int i = 0; i < CHAINS; i++) {
        uint64_t t0 = ticks();
        chain(LINKS_SHORT);
        uint64_t t1 = ticks();
        chain(LINKS_LONG);
        uint64_t t2 = ticks();
        shorter[i] = (double)(t1 - t0);
        longer[i] = (double)(t2 - t1);
    }
    struct instant end = now();
    while (end.ns - start.ns < 20e6)
        end = now();
    double tick_hz = (double)(end.ticks - start.ticks) / (end.ns - start.ns) * 1e9;
    double per_add =
        cs_clock_ticks_per_add(shorter, longer, CHAINS, LINKS_SHORT * ADDS_A_LINK, LINKS_LONG * ADDS_A_LINK);
    double core_hz = per_add > 0 ? tick_hz / per_add : 0;
    if (!(core_hz > 0.2e9 && core_hz < 10e9))
        return cs_fail(err, ERANGE,
                       "the core's clock could not be calibrated (%.3f GHz came out): cycles can't be told "
                       "from nanoseconds here",
                       core_hz / 1e9);
    qsort(longer, CHAINS, sizeof *longer, ascending);
    out->core_hz = core_hz;
    out->tsc_hz = tick_hz;
    out->spread = (longer[CHAINS / 2] - longer[0]) / longer[0];
    out->n_chains = CHAINS;
    return 0;
}
