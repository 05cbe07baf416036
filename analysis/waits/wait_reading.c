/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rule that docs/waits.md states ("Wait or idle"). A thread that waits for an idle one is idle. */
#include "analysis/waits/wait_reading.h"

#include <assert.h>
#include <string.h>

static bool is_among(const char *kind, const char *const *kinds)
{
    for (; *kinds; kinds++)
        if (strcmp(kind, *kinds) == 0)
            return true;
    return false;
}

bool cs_wait_is_idle(const char *kind)
{
    static const char *const kinds[] = {"accept", "client", "events", "signal", "stopped", "timer", NULL};
    return is_among(kind, kinds);
}

/* Whether a thread of the same work may end it: by handing on something, or by its own end. */
static bool is_handed_on(const char *kind)
{
    static const char *const kinds[] = {"condition", "semaphore", "lock", "barrier", "pipe",
                                        "socket",    "child",     "join", "events",  NULL};
    return is_among(kind, kinds);
}

bool cs_wait_is_for_work(const char *kind)
{
    static const char *const kinds[] = {"condition", "semaphore", "lock", NULL};
    return is_among(kind, kinds);
}

static bool is_most(uint64_t part, const struct cs_wait_facts *f)
{
    return part > f->ns / 2;
}

enum cs_wait_reading cs_wait_reading_of(const char *kind, const struct cs_wait_facts *f)
{
    const bool blocks = f->blocks_ns > f->ns / 10;
    if (is_most(f->pool_ns, f) || (!blocks && is_most(f->timer_ns, f)))
        return CS_WAIT_IS_IDLE;
    if (f->timed_out)
        return blocks || !is_most(f->resting_ns, f) || is_most(f->serving_ns, f) ? CS_WAIT_IS_WAIT
                                                                                 : CS_WAIT_IS_IDLE;
    const bool events = strcmp(kind, "events") == 0;
    /* With a request under way, what another process or thread keeps is waited for, idle as that one may be. */
    const bool kept =
        is_most(f->serving_ns, f) && (events ? is_most(f->by_process_ns, f) : cs_wait_is_for_work(kind));
    if (is_handed_on(kind) && !kept && is_most(f->by_idle_ns, f))
        return CS_WAIT_IS_IDLE;
    if (events && kept)
        return CS_WAIT_IS_WAIT;
    if (events && is_most(f->by_busy_ns + f->by_unknown_ns, f))
        return is_most(f->by_process_ns, f) ? CS_WAIT_IS_WAIT : CS_WAIT_IS_EITHER;
    if (cs_wait_is_idle(kind))
        return CS_WAIT_IS_IDLE;
    if (strcmp(kind, "poll") == 0)
        return CS_WAIT_IS_EITHER;
    if ((strcmp(kind, "child") == 0 || strcmp(kind, "join") == 0) && is_most(f->no_end_ns, f))
        return CS_WAIT_IS_EITHER;
    const bool like_lock = is_most(f->handed_ns, f) && is_most(f->working_ns, f);
    if (cs_wait_is_for_work(kind) && !is_most(f->first_thread_ns, f) && !is_most(f->serving_ns, f) &&
        !blocks && ((is_most(f->resting_ns, f) && !like_lock) || !is_most(f->by_busy_ns + f->by_idle_ns, f)))
        return CS_WAIT_IS_EITHER;
    return CS_WAIT_IS_WAIT;
}

double cs_wait_own_ns(const char *kind, const struct cs_wait_facts *f)
{
    static const char *const shared[] = {"child", "join", "condition", "semaphore", "lock", NULL};
    const bool for_time = f->timed_out || strcmp(kind, "sleep") == 0, keeps = f->keeps_ns > f->ns / 10;
    if (for_time && keeps) /* it counts for what it keeps from others, and below them: they are the harm */
        return 0.999 * (double)(f->keeps_ns < f->ns ? f->keeps_ns : f->ns);
    if (is_most(f->timer_ns, f))
        return (double)(f->blocks_ns < f->ns ? f->blocks_ns : f->ns);
    if (!is_among(kind, shared))
        return (double)f->ns;
    const bool for_end = strcmp(kind, "child") == 0 || strcmp(kind, "join") == 0;
    uint64_t elsewhere = f->by_wait_ns - (for_end ? 0 : f->by_time_ns);
    if (strcmp(kind, "join") == 0 && f->by_busy_ns > elsewhere) /* what that thread computed is its own */
        elsewhere = f->by_busy_ns;
    return (double)f->ns - (double)(elsewhere < f->ns ? elsewhere : f->ns);
}

const char *cs_wait_reading_name(enum cs_wait_reading reading)
{
    assert(reading <= CS_WAIT_IS_IDLE);
    return reading == CS_WAIT_IS_IDLE ? "idle" : reading == CS_WAIT_IS_EITHER ? "either" : "wait";
}
