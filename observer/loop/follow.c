/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "observer/loop/follow.h"
#include "observer/loop/loop.h"

/* The line that a thread owns; a line changes hands only when its owner word does, so the cache is checked.
 */
static const volatile uint64_t *line_of(struct cs_follow *f, uint32_t tid)
{
    if (!f->signals)
        return f->blank_line;
    uint32_t slot = tid % CS_FOLLOW_CACHE, line = f->cache[slot].line;
    const volatile struct cs_segment_owner *owner = cs_reader_owner(f->signals, line);
    if (f->cache[slot].tid != tid || !owner || owner->tid != tid) {
        uint32_t used = cs_reader_lines(f->signals);
        for (line = 0; line < used; line++) {
            owner = cs_reader_owner(f->signals, line);
            if (owner && __atomic_load_n(&owner->tid, __ATOMIC_ACQUIRE) == tid)
                break;
        }
        if (line == used) {
            f->lineless++;
            return f->blank_line;
        }
        f->cache[slot].tid = tid;
        f->cache[slot].line = line;
    }
    const volatile uint64_t *word = cs_reader_word(f->signals, line, 0);
    return word ? word : f->blank_line;
}

bool cs_follow_switch(struct cs_loop *l, uint64_t thread_id)
{
    struct cs_follow *f = l->following;
    bool descheduled = f->os->process != f->pid || (f->only && f->only != (uint32_t)thread_id);
    const volatile uint64_t *line = descheduled ? f->descheduled_line : line_of(f, (uint32_t)thread_id);
    for (unsigned t = 0; t < f->n_tags; t++) {
        const struct cs_follow_word *w = &f->tags[t];
        l->tags[t] = w->fixed && (!descheduled || w->always) ? w->fixed : line + w->word;
    }
    for (unsigned c = 0; c < f->n_software; c++)
        l->software[c] = f->software[c].fixed ? f->software[c].fixed : line + f->software[c].word;
    f->switches += f->last != thread_id;
    f->last = thread_id;
    return descheduled;
}

/* Words of the old line become those of the new one. */
static void of_line(struct cs_follow_word *w, const volatile struct cs_os_line *from,
                    const volatile struct cs_os_line *to)
{
    const uintptr_t at = (uintptr_t)w->fixed - (uintptr_t)from;
    if (w->fixed && at < sizeof *from)
        w->fixed = (const volatile uint64_t *)to + at / sizeof(uint64_t);
}

void cs_follow_line(struct cs_loop *l, const volatile struct cs_os_line *os)
{
    struct cs_follow *f = l->following;
    for (unsigned t = 0; t < f->n_tags; t++)
        of_line(&f->tags[t], f->os, os);
    f->os = os;
    l->thread_id = (const volatile uint64_t *)&os->thread_id;
    f->last = *l->thread_id; /* the observer moved, the CPU didn't switch */
    cs_follow_switch(l, f->last);
}
