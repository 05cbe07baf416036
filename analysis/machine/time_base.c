/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/machine/time_base.h"
#include "analysis/machine/arch.h"
#include "store/base/order.h"

#include <assert.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { STRETCHES = 24, LINKS_A_STRETCH = 4000 };
enum { CHAINS = 400, LINKS_SHORT = 20, LINKS_LONG = 60 };

CS_ORDER(ascending, double, cs_order(*a, *b))

static double least(const double *v, size_t n)
{
    double m = v[0];
    for (size_t i = 1; i < n; i++)
        if (v[i] < m)
            m = v[i];
    return m;
}

double cs_time_base_ticks_per_add(const double *shorter, const double *longer, size_t n, double adds_short,
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
        uint64_t before = arch_ticks();
        clock_gettime(CLOCK_MONOTONIC_RAW, &t);
        uint64_t after = arch_ticks();
        if (after - before < best.width)
            best = (struct instant){(double)t.tv_sec * 1e9 + (double)t.tv_nsec, before / 2 + after / 2,
                                    after - before};
    }
    return best;
}

static double plausible(double hz)
{
    return hz > 0.2e9 && hz < 10e9 ? hz : 0;
}

/* Cycles in user mode over busy intervals of 0.1 ms or so; steal only lengthens one, so the fastest is right.
 * 0 where cycles can't be counted. */
static double counted_hz(double tick_hz)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_HARDWARE,
                                   .size = sizeof attr,
                                   .config = PERF_COUNT_HW_CPU_CYCLES,
                                   .exclude_kernel = 1,
                                   .exclude_hv = 1};
    double best = 0;
    int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    for (int i = 0; fd >= 0 && i < STRETCHES; i++) {
        uint64_t before = 0, after = 0;
        bool whole = read(fd, &before, sizeof before) == sizeof before;
        uint64_t t0 = arch_ticks();
        arch_chain(LINKS_A_STRETCH);
        uint64_t t1 = arch_ticks();
        whole &= read(fd, &after, sizeof after) == sizeof after;
        double hz = t1 > t0 ? (double)(after - before) / (double)(t1 - t0) * tick_hz : 0;
        if (whole && hz > best)
            best = hz;
    }
    if (fd >= 0)
        close(fd);
    return plausible(best);
}

int cs_time_base_measure(struct cs_time_base *out, struct cs_error *err)
{
    double shorter[CHAINS], longer[CHAINS];
    *out = (struct cs_time_base){0};
    struct instant start = now();
    arch_chain(40 * LINKS_LONG); /* wakes the core up */
    for (int i = 0; i < CHAINS; i++) {
        uint64_t t0 = arch_ticks();
        arch_chain(LINKS_SHORT);
        uint64_t t1 = arch_ticks();
        arch_chain(LINKS_LONG);
        uint64_t t2 = arch_ticks();
        shorter[i] = (double)(t1 - t0);
        longer[i] = (double)(t2 - t1);
    }
    struct instant end = now();
    while (end.ns - start.ns < 20e6)
        end = now();
    double tick_hz = (double)(end.ticks - start.ticks) / (end.ns - start.ns) * 1e9;
    double per_add = cs_time_base_ticks_per_add(shorter, longer, CHAINS, LINKS_SHORT * ARCH_ADDS_A_LINK,
                                                LINKS_LONG * ARCH_ADDS_A_LINK);
    double counted = counted_hz(tick_hz), core_hz = per_add > 0 ? tick_hz / per_add : 0;
    if (counted > 0)
        core_hz = counted;
    if (plausible(core_hz) <= 0)
        return cs_fail(err, ERANGE,
                       "the core's clock could not be calibrated (%.3f GHz came out): cycles can't be "
                       "distinguished from nanoseconds here",
                       core_hz / 1e9);
    cs_sort(longer, CHAINS, ascending);
    assert(core_hz > 0.2e9 && core_hz < 10e9);
    out->core_hz = core_hz;
    out->tsc_hz = tick_hz;
    out->spread = (longer[CHAINS / 2] - longer[0]) / longer[0];
    out->n_chains = CHAINS;
    out->counted = counted > 0;
    return 0;
}
