/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Methods in an array by start; names in one text. A lookup is a binary search, then a few steps back for an older
 * method that reaches over a younger one. */
#include "sampler/dynamic/jit_methods.h"

#include <stdlib.h>
#include <string.h>

#define TEXT_MAX ((size_t)16 << 20) /* of one process's lines or names */
#define OVERLAP 16                  /* older methods looked at that may reach over a younger one's address */

static bool is_before(const struct cs_jit_method *x, const struct cs_jit_method *y)
{
    return x->start != y->start ? x->start < y->start : x->line < y->line;
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
    if (kept->bytes + (wanted - *capacity) > CS_JIT_BYTES_MAX)
        wanted = used + more;
    void *bytes = kept->bytes + (wanted - *capacity) > CS_JIT_BYTES_MAX ? NULL : realloc(old, wanted);
    if (!bytes) {
        cut(m, kept);
        return NULL;
    }
    kept->bytes += wanted - *capacity;
    *capacity = wanted;
    return bytes;
}

bool cs_jit_methods_add(struct cs_jit_methods *m, struct cs_jit_kept *kept, uint64_t start, uint64_t size,
                        size_t name)
{
    if (size == 0 || size >= CS_JIT_METHOD_MAX)
        return true;
    struct cs_jit_method *more = grown(m, kept, m->at, m->n * sizeof *more, &m->capacity, sizeof *more);
    if (!more)
        return false;
    m->at = more;
    m->at[m->n] = (struct cs_jit_method){
        .start = start, .size = (uint32_t)size, .name = (uint32_t)name, .line = (uint32_t)m->n};
    m->n++;
    return true;
}

long cs_jit_methods_text(struct cs_jit_methods *m, struct cs_jit_kept *kept, const char *text)
{
    size_t size = strlen(text) + 1;
    char *more = NULL;
    if (m->text_used + size > TEXT_MAX)
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
void cs_jit_methods_sort(struct cs_jit_methods *m)
{
    size_t n = m->n;
    bool sorted = true;
    for (size_t i = 1; i < n && sorted; i++)
        sorted = is_before(&m->at[i - 1], &m->at[i]);
    if (sorted)
        return;
    for (size_t i = n / 2; i-- > 0;)
        sift(m->at, i, n);
    while (n-- > 1) {
        const struct cs_jit_method last = m->at[0];
        m->at[0] = m->at[n];
        m->at[n] = last;
        sift(m->at, 0, n);
    }
}

struct cs_jit_method *cs_jit_methods_at(const struct cs_jit_methods *m, uint64_t addr)
{
    size_t low = 0, high = m->n;
    while (low < high) { /* the last that starts at or below */
        size_t middle = (low + high) / 2;
        if (m->at[middle].start <= addr)
            low = middle + 1;
        else
            high = middle;
    }
    struct cs_jit_method *found = NULL;
    for (size_t i = low; i > 0 && low - i < OVERLAP; i--) {
        struct cs_jit_method *method = &m->at[i - 1];
        if (addr - method->start < method->size && (!found || method->line > found->line))
            found = method;
    }
    return found;
}

void cs_jit_methods_fini(struct cs_jit_methods *m, struct cs_jit_kept *kept)
{
    kept->bytes -= m->text_room + m->capacity;
    free(m->text);
    free(m->at);
}
