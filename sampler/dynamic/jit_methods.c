/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Methods in an array by start; names in one text. A lookup is a binary search, then a few steps back for an older
 * method that reaches over a younger one. Each step is a binary search in time. */
#include "sampler/dynamic/jit_methods.h"

#include "store/base/bisect.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define OVERLAP 16 /* older methods looked at that may reach over a younger one's address */

static bool is_before(const struct cs_jit_method *x, const struct cs_jit_method *y)
{
    if (x->start != y->start)
        return x->start < y->start;
    return x->since_ns != y->since_ns ? x->since_ns < y->since_ns : x->line < y->line;
}

/* Lets the one at `i` down to where it belongs in a heap, the last one first. */
static void sift(struct cs_jit_method *at, size_t i, size_t n)
{
    const struct cs_jit_method moving = at[i];
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        child += child + 1 < n && is_before(&at[child], &at[child + 1]);
        if (!is_before(&moving, &at[child]))
            break;
        at[i] = at[child];
    }
    at[i] = moving;
}

static void cut(struct cs_jit_methods *m, struct cs_jit_kept *kept)
{
    kept->cut += !m->cut;
    m->cut = true;
}

/* Room for `more` bytes of what has `capacity` and uses `used`; doubles, within the bound of all. */
static void *grown(struct cs_jit_methods *m, struct cs_jit_kept *kept, void *old, size_t used,
                   size_t *capacity, size_t more)
{
    if (used + more <= *capacity)
        return old;
    size_t wanted = 2 * *capacity + more > 4096 ? 2 * *capacity + more : 4096;
    if (kept->bytes + (wanted - *capacity) > cs_jit_kept_max(kept))
        wanted = used + more;
    void *bytes = kept->bytes + (wanted - *capacity) > cs_jit_kept_max(kept) ? NULL : realloc(old, wanted);
    if (!bytes) {
        cut(m, kept);
        return NULL;
    }
    kept->bytes += wanted - *capacity;
    *capacity = wanted;
    return bytes;
}

bool cs_jit_methods_add(struct cs_jit_methods *m, struct cs_jit_kept *kept, uint64_t start, uint64_t size,
                        uint64_t since_ns, size_t name)
{
    assert(name <= m->text_used);
    if (size == 0 || size >= CS_JIT_METHOD_MAX)
        return true;
    struct cs_jit_method *more = grown(m, kept, m->at, m->n * sizeof *more, &m->capacity, sizeof *more);
    if (!more)
        return false;
    m->at = more;
    m->at[m->n] = (struct cs_jit_method){.start = start,
                                         .since_ns = since_ns,
                                         .size = (uint32_t)size,
                                         .name = (uint32_t)name,
                                         .line = (uint32_t)m->n};
    m->n++;
    return true;
}

long cs_jit_methods_text(struct cs_jit_methods *m, struct cs_jit_kept *kept, const char *text)
{
    size_t size = strlen(text) + 1;
    char *more = NULL;
    if (m->text_used + size > cs_jit_kept_max(kept) / 2)
        cut(m, kept);
    else
        more = grown(m, kept, m->text, m->text_used, &m->text_room, size);
    if (!more)
        return -1;
    m->text = more;
    memcpy(m->text + m->text_used, text, size);
    m->text_used += size;
    return (long)(m->text_used - size);
}

/* In place, and never quadratic, whatever a process writes: qsort takes a copy's memory. */
static void sort(struct cs_jit_method *at, size_t n)
{
    bool sorted = true;
    for (size_t i = 1; i < n && sorted; i++)
        sorted = is_before(&at[i - 1], &at[i]);
    for (size_t i = sorted ? 0 : n / 2; i-- > 0;)
        sift(at, i, n);
    while (!sorted && n-- > 1) {
        const struct cs_jit_method last = at[0];
        at[0] = at[n];
        at[n] = last;
        sift(at, 0, n);
    }
}

/* The sorted ones behind `old` go between those before it, from the end: a drain brings few. */
static bool merge(struct cs_jit_method *at, size_t old, size_t n)
{
    const size_t n_fresh = n - old;
    struct cs_jit_method *fresh = malloc(n_fresh * sizeof *fresh);
    if (!fresh)
        return false;
    memcpy(fresh, at + old, n_fresh * sizeof *fresh);
    for (size_t to = n, k = n_fresh; k > 0;)
        at[--to] = old > 0 && is_before(&fresh[k - 1], &at[old - 1]) ? at[--old] : fresh[--k];
    free(fresh);
    return true;
}

/* Whether one of those from line `first` on overlaps another that is older, and is no repetition of it. */
static void note_replaced(struct cs_jit_methods *m, uint32_t first)
{
    for (size_t i = 1; i < m->n; i++) {
        const struct cs_jit_method *x = &m->at[i - 1], *y = &m->at[i];
        const uint64_t since_ns = x->since_ns > y->since_ns ? x->since_ns : y->since_ns;
        if ((x->line >= first || y->line >= first) && y->start - x->start < x->size &&
            x->since_ns != y->since_ns && since_ns > m->replaced_ns &&
            (x->start != y->start || x->code != y->code || strcmp(m->text + x->name, m->text + y->name) != 0))
            m->replaced_ns = since_ns;
    }
}

void cs_jit_methods_sort(struct cs_jit_methods *m)
{
    const size_t old = m->n_sorted <= m->n ? m->n_sorted : 0;
    sort(m->at + old, m->n - old);
    if (old && old < m->n && is_before(&m->at[old], &m->at[old - 1]) && !merge(m->at, old, m->n))
        sort(m->at, m->n);
    if (old < m->n)
        note_replaced(m, (uint32_t)old);
    m->n_sorted = m->n;
}

/* How many of the first `n` are before (start, time), that one included. */
static size_t up_to(const struct cs_jit_methods *m, size_t n, uint64_t start, uint64_t time_ns)
{
    return cs_bisect(n, i, m->at[i].start != start ? m->at[i].start < start : m->at[i].since_ns <= time_ns);
}

static bool is_younger(const struct cs_jit_method *x, const struct cs_jit_method *y)
{
    return !y || (x->since_ns != y->since_ns ? x->since_ns > y->since_ns : x->line > y->line);
}

/* Start by start downwards, as far as one may reach over `addr`. */
struct cs_jit_method *cs_jit_methods_at(const struct cs_jit_methods *m, uint64_t addr, uint64_t time_ns)
{
    struct cs_jit_method *found = NULL, *coming = NULL;
    size_t behind = up_to(m, m->n, addr, UINT64_MAX);
    for (unsigned starts = 0; behind > 0 && starts < OVERLAP; starts++) {
        const uint64_t start = m->at[behind - 1].start;
        const size_t then = up_to(m, behind, start, time_ns);
        size_t first = up_to(m, then, start - 1, UINT64_MAX); /* start 0 holds nothing that runs */
        for (size_t i = then; i > first && then - i < OVERLAP; i--)
            if (addr - start < m->at[i - 1].size) {
                if (is_younger(&m->at[i - 1], found))
                    found = &m->at[i - 1];
                break;
            }
        for (size_t i = then; i < behind && i - then < OVERLAP; i++)
            if (addr - start < m->at[i].size) {
                if (!coming || is_younger(coming, &m->at[i]))
                    coming = &m->at[i];
                break;
            }
        behind = first;
    }
    return found ? found : coming;
}

uint64_t cs_jit_methods_change(const struct cs_jit_methods *m, uint64_t addr, uint64_t from_ns,
                               uint64_t to_ns)
{
    uint64_t next_ns = 0;
    const struct cs_jit_method *now = cs_jit_methods_at(m, addr, from_ns);
    if (!now || m->replaced_ns <= from_ns)
        return 0;
    size_t behind = up_to(m, m->n, addr, UINT64_MAX);
    for (unsigned starts = 0; behind > 0 && starts < OVERLAP; starts++) {
        const uint64_t start = m->at[behind - 1].start;
        const size_t then = up_to(m, behind, start, from_ns);
        for (size_t i = then; i < behind && i - then < OVERLAP; i++)
            if (addr - start < m->at[i].size && &m->at[i] != now && m->at[i].since_ns > now->since_ns) {
                if (m->at[i].since_ns < to_ns && (!next_ns || m->at[i].since_ns < next_ns))
                    next_ns = m->at[i].since_ns;
                break;
            }
        behind = up_to(m, then, start - 1, UINT64_MAX);
    }
    return next_ns;
}

void cs_jit_methods_fini(struct cs_jit_methods *m, struct cs_jit_kept *kept)
{
    kept->bytes -= m->text_room + m->capacity;
    free(m->text);
    free(m->at);
}
