/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "observer/loop/throttle.h"
#include "observer/source/clock.h"

#include <time.h>

#define PROBES 32 /* one period in so many is a short one */

/* Short periods show how long a tag's visits are where they are shorter than the period (sample/mixed.h). */
static uint64_t period(struct cs_loop *l)
{
    const uint64_t jitter = cs_jitter(&l->random, l->jitter_cycles);
    return l->random % PROBES == 0 ? cs_jitter(&l->random, l->period_cycles / CS_PROBE_PART)
                                   : l->period_cycles + jitter;
}

void cs_throttle(struct cs_loop *l, uint64_t from)
{
    uint64_t due = from + period(l), now = cs_clock();
    while ((int64_t)(due - now) > CS_SLEEP_CYCLES && !__atomic_load_n(&l->stop, __ATOMIC_RELAXED)) {
        double ns = ((double)(due - now) - CS_SLEEP_CYCLES * 0.5) * 1e9 / cs_clock_hz();
        if (ns > 1e7)
            ns = 1e7; /* look at `stop` every 10 ms */
        nanosleep(&(struct timespec){.tv_nsec = (long)ns}, NULL);
        now = cs_clock();
    }
    if ((int64_t)(due - now) > CS_SLEEP_CYCLES)
        return; /* asked to stop */
    while ((int64_t)(due - now) > 0) {
        /* A pause takes 40 to 140 cycles: the last ones are waited for without. */
        if (due - now > 200)
            cs_pause();
        now = cs_clock();
    }
}
