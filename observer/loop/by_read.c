/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The loop where counters come by read(), variables by pread(), or there are more than two tags. A system call a sample
 * takes microseconds, so one function for all shapes costs nothing that shows. With three and four tags it takes the
 * place of 32 variants in each of four files. Order and sums are those of loop/body.h. */
#include "observer/log/log.h"
#include "observer/loop/follow.h"
#include "observer/loop/loop.h"
#include "observer/loop/throttle.h"
#include "observer/source/clock.h"
#include "observer/source/events.h"
#include "observer/source/variables.h"

static void take(struct cs_loop *l, bool by_read, struct cs_sample *to)
{
    const struct cs_shape *k = &l->shape;
    unsigned tags = k->tags % (CS_TAGS_MAX + 1), software = k->software % (CS_COUNTERS_MAX + 1);
    for (;;) {
        uint64_t read[CS_COUNTERS_MAX] = {0};
        to->start = cs_clock_ordered();
        bool whole = !l->variables || cs_variables_read(l->variables);
        for (unsigned c = 0; c < software; c++)
            to->counters[c] = *l->software[c];
        to->complete = (!by_read || cs_events_read(l->events, read)) && whole;
        for (unsigned c = 0; c < k->hardware % (CS_COUNTERS_MAX + 1) && !by_read; c++)
            read[c] = cs_pmc_read(&l->hardware[c], &to->complete);
        to->end = cs_clock_ordered();
        for (unsigned c = software; c < software + k->hardware && c < CS_COUNTERS_MAX; c++)
            to->counters[c] = read[c - software];
        if (k->follow && *l->thread_id != to->thread_id) {
            to->thread_id = *l->thread_id;
            to->descheduled = cs_follow_switch(l, to->thread_id);
            continue;
        }
        for (unsigned t = 0; t < tags; t++)
            to->tags[t] = *l->tags[t];
        return;
    }
}

void cs_loop_read(struct cs_loop *l)
{
    struct cs_shape k = l->shape;
    k.tags %= CS_TAGS_MAX + 1; /* they fit; the compiler wants to see it */
    k.software %= CS_COUNTERS_MAX + 1;
    k.hardware %= CS_COUNTERS_MAX + 1 - k.software;
    const bool by_read = l->events && cs_events_by_read(l->events);
    struct cs_sample from = {0}, to = {0};
    take(l, by_read, &from); /* what waited before the first reading is no matter of the first interval */
    to = from;
    take(l, by_read, &from);
    if (k.sink == CS_SINK_LOG)
        cs_observe_log_add(l->log, k.tags, k.software + k.hardware, k.follow, &from);
    else
        cs_sink_first(l->sink, k.tags, &from);
    for (to = from; !__atomic_load_n(&l->stop, __ATOMIC_RELAXED); from = to) {
        if (k.throttled)
            cs_throttle(l, from.start);
        take(l, by_read, &to);
        if (k.sink == CS_SINK_LOG) {
            cs_observe_log_add(l->log, k.tags, k.software + k.hardware, k.follow, &to);
            continue;
        }
        cs_sink_probe(l->sink, k.tags, &from, &to);
        cs_sink_add(l->sink, k.tags, k.software, k.hardware, k.follow, &from, &to);
    }
}
