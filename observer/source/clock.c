/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "observer/source/clock.h"

#include "store/base/clock.h"

#include <pthread.h>
#include <time.h>

static double hz;

/* One pair of both clocks, the tightest of several tries: an interrupt between the two would spoil it. */
static void both(uint64_t *cycles, uint64_t *ns)
{
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < 20; i++) {
        uint64_t before = cs_clock_ordered(), now = cs_clock_ns(CLOCK_MONOTONIC_RAW),
                 after = cs_clock_ordered();
        if (after - before < best) {
            best = after - before;
            *cycles = before + best / 2;
            *ns = now;
        }
    }
}

static void measure(void)
{
    uint64_t cycles_from, ns_from, cycles_to, ns_to;
    both(&cycles_from, &ns_from);
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    both(&cycles_to, &ns_to);
    hz = (double)(cycles_to - cycles_from) * 1e9 / (double)(ns_to - ns_from);
}

double cs_clock_hz(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, measure);
    return hz;
}
