/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/exchange/retry.h"
#include "store/base/clock.h"

#include <assert.h>
#include <time.h>

#define RETRY_S 60
#define PAUSE_MOST_S 30

struct retry retry_begin(const struct parsed *args)
{
    const double seconds = option_number(args, "retry", RETRY_S, 0, 1e6);
    return (struct retry){.seconds = seconds, .deadline_s = cs_monotonic_seconds() + seconds};
}

bool retry_again(struct retry *r, long after_s)
{
    assert(r->deadline_s > 0);
    const double pause_s = after_s > 0       ? (double)after_s
                           : r->failures < 5 ? (double)(1u << r->failures)
                                             : PAUSE_MOST_S;
    r->failures++;
    if (cs_monotonic_seconds() + pause_s > r->deadline_s)
        return false;
    nanosleep(&(struct timespec){(time_t)pause_s, 0}, NULL);
    return true;
}
