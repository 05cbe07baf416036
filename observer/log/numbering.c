/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "observer/log/numbering.h"

#include <assert.h>

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

void cs_observe_numbering_see(struct cs_observe_numbering *n, const struct cs_sample *s, unsigned tag)
{
    assert(tag < CS_TAGS_MAX);
    const uint64_t value = s->tags[tag];
    if (s->descheduled || value == CS_TAG_DESCHEDULED || n->fails)
        return;
    struct cs_observe_numbering_thread *t = &n->threads[0];
    while (t < &n->threads[CS_NUMBERING_THREADS] && t->used && t->thread != (uint32_t)s->thread_id)
        t++;
    if (t == &n->threads[CS_NUMBERING_THREADS] || value >> 32) {
        n->fails = true;
        return;
    }
    if (!t->used)
        *t = (struct cs_observe_numbering_thread){.thread = (uint32_t)s->thread_id, .used = true};
    if (value == t->now)
        return;
    t->now = value;
    if (value == 0)
        return;
    n->fails = value <= t->last;
    t->last = value;
    n->step = n->numbers == 0 ? 0
              : n->step == 1
                  ? 1
                  : common_divisor(value > n->least ? value - n->least : n->least - value, n->step);
    n->least = n->numbers == 0 || value < n->least ? value : n->least;
    n->most = value > n->most ? value : n->most;
    n->numbers++;
}

bool cs_observe_numbering_holds(const struct cs_observe_numbering *n)
{
    return !n->fails && n->numbers > 1;
}
