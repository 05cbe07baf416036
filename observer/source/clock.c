/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "observer/source/clock.h"

#include <pthread.h>
#include <time.h>

static double hz;

static uint64_t monotonic_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* One pair of both clocks, the tightest of several tries: an interrupt between the two would spoil it. */
static void both(uint64_t *cycles, uint64_t *ns)
{
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < 20; i++) {
        uint64_t before = cs_clock_ordered(), now = monotonic_ns(), after = cs_clock_ordered();
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
