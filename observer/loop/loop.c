/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tag-only loop, and the choice of a variant.
 *
 * A tag that has not changed costs one compare with memory and one branch that is never taken. The clock is
 * read when the tag changes, and once a block so that the observer's own absences are seen. A run of equal
 * samples is accounted as a whole. Budget: one cycle a sample while the line is quiet. On a change the line's
 * way from the other core (80 to 400 cycles) hides the accounting. */
#include "observer/loop/loop.h"
#include "observer/source/clock.h"

#define BLOCK 1024 /* samples between two readings of the clock at most */

/* Equal samples: adds them to their row, or to what wasn't seen if the observer was away meanwhile. */
static inline void account(struct cs_sink *s, struct cs_tag_row *row, uint64_t samples, uint64_t cycles)
{
    if (samples == 0)
        return;
    s->samples += samples;
    row->samples += samples;
    uint64_t period = cycles / samples;
    s->periods[cs_dte_cycle_bin(period)] += samples;
    s->gaps[cs_dte_cycle_bin(period)] += samples;
    if (__builtin_expect(cycles >= s->rule.gap_cycles, 0)) {
        s->unseen_cycles += cycles;
        s->longest_gap = cycles > s->longest_gap ? cycles : s->longest_gap;
        s->tally.intervals[CS_DTE_GAP]++;
        s->tally.cycles[CS_DTE_GAP] += cycles;
    } else {
        row->half_cycles += 2 * cycles;
        s->tally.intervals[CS_DTE_KEPT] += samples;
        s->tally.cycles[CS_DTE_KEPT] += cycles;
    }
}

void cs_loop_tag_only(struct cs_loop *l)
{
    const volatile uint64_t *line = l->tags[0];
    struct cs_sink *s = l->sink;
    uint64_t tag = *line, since = cs_clock(), now, seen, value;
    struct cs_tag_row *row = cs_tags_find(s->tags[0], tag);
    row->visits += row != s->current[0];
    if (!s->first)
        s->first = since;
    while (!__atomic_load_n(&l->stop, __ATOMIC_RELAXED)) {
        for (seen = 0; seen < BLOCK; seen += 8) {
#define STEP(n)                                                                                              \
    if (__builtin_expect((value = *line) != tag, 0)) {                                                       \
        seen += (n);                                                                                         \
        goto changed;                                                                                        \
    }
            STEP(1) STEP(2) STEP(3) STEP(4) STEP(5) STEP(6) STEP(7) STEP(8)
#undef STEP
        }
        now = cs_clock();
        account(s, row, seen, now - since);
        since = now;
        continue;
    changed:
        now = cs_clock();
        account(s, row, seen, now - since);
        since = now;
        tag = value; /* not read again: the line may be gone already */
        row = cs_tags_near(s->tags[0], tag);
        row->visits++;
    }
    s->current[0] = row;
    s->last = since;
}

cs_loop_run *cs_loop_variant(const struct cs_shape *k)
{
    if (k->tags > CS_TAGS_MAX || k->software > CS_COUNTERS_MAX || k->hardware > CS_COUNTERS_MAX)
        return NULL;
    if (k->tags > CS_LOOP_TAGS)
        return cs_loop_read;
    if (k->tags == 1 && k->software + k->hardware == 0 && !k->follow && !k->throttled &&
        k->sink == CS_SINK_AGGREGATE)
        return cs_loop_tag_only;
    cs_loop_table *tables[2][2] = {{&cs_loop_aggregate, &cs_loop_aggregate_follow},
                                   {&cs_loop_log, &cs_loop_log_follow}};
    return (*tables[k->sink == CS_SINK_LOG][k->follow])[k->tags][k->software][k->hardware][k->throttled];
}
