/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "observer/follow.h"
#include "observer/loop.h"

/* The line that a thread owns; a line changes hands only when its owner word does, so the cache is checked.
 */
static const volatile uint64_t *line_of(struct cs_follow *f, uint32_t tid)
{
    if (!f->n_lines)
        return f->blank_line;
    uint32_t slot = tid % CS_FOLLOW_CACHE, line = f->cache[slot].line;
    if (f->cache[slot].tid != tid || f->owners[line].tid != tid) {
        uint32_t used = __atomic_load_n(f->n_lines, __ATOMIC_ACQUIRE);
        used = used < f->lines_max ? used : f->lines_max;
        for (line = 0; line < used; line++)
            if (__atomic_load_n(&f->owners[line].tid, __ATOMIC_ACQUIRE) == tid)
                break;
        if (line == used) {
            f->lineless++;
            return f->blank_line;
        }
        f->cache[slot].tid = tid;
        f->cache[slot].line = line;
    }
    return (const volatile uint64_t *)(f->lines + (uint64_t)line * f->line_bytes);
}

bool cs_follow_switch(struct cs_loop *l, uint64_t who)
{
    struct cs_follow *f = l->following;
    bool away = f->os->process != f->pid;
    const volatile uint64_t *line = away ? f->away_line : line_of(f, (uint32_t)who);
    for (unsigned t = 0; t < f->n_tags; t++)
        l->tags[t] = f->tags[t].fixed ? f->tags[t].fixed : line + f->tags[t].word;
    for (unsigned c = 0; c < f->n_softs; c++)
        l->softs[c] = f->softs[c].fixed ? f->softs[c].fixed : line + f->softs[c].word;
    f->switches++;
    return away;
}
