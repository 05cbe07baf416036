/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/chains/extents.h"

#include "store/base/array.h"
#include "store/base/bisect.h"

#include <assert.h>
#include <stdbool.h>

static int insert(struct cs_extents *e, size_t at, struct cs_extent run)
{
    if (cs_array_room(e->free, e->n_free, e->capacity) < 0)
        return -ENOMEM;
    memmove(&e->free[at + 1], &e->free[at], (e->n_free - at) * sizeof *e->free);
    e->free[at] = run;
    e->n_free++;
    return 0;
}

static void drop(struct cs_extents *e, size_t at)
{
    e->n_free--;
    memmove(&e->free[at], &e->free[at + 1], (e->n_free - at) * sizeof *e->free);
}

int cs_extents_init(struct cs_extents *e, uint32_t n)
{
    *e = (struct cs_extents){.left = n};
    return insert(e, 0, (struct cs_extent){0, n});
}

void cs_extents_fini(struct cs_extents *e)
{
    free(e->free);
    *e = (struct cs_extents){.free = NULL};
}

int64_t cs_extents_take(struct cs_extents *e, uint32_t n, uint32_t align)
{
    assert(n > 0 && align > 0 && (align & (align - 1)) == 0);
    for (size_t i = 0; i < e->n_free; i++) {
        struct cs_extent *run = &e->free[i];
        uint32_t at = (run->at + align - 1) & ~(align - 1), before = at - run->at;
        if (run->n < before || run->n - before < n)
            continue;
        uint32_t after = run->n - before - n;
        if (before && after && insert(e, i + 1, (struct cs_extent){at + n, after}) < 0)
            return -ENOMEM;
        run = &e->free[i]; /* the list may have moved */
        if (before)
            run->n = before;
        else if (after)
            *run = (struct cs_extent){at + n, after};
        else
            drop(e, i);
        e->left -= n;
        return at;
    }
    return -ENOSPC;
}

int cs_extents_give(struct cs_extents *e, struct cs_extent given)
{
    size_t low = cs_bisect(e->n_free, i, e->free[i].at < given.at);
    assert(low == 0 || e->free[low - 1].at + e->free[low - 1].n <= given.at); /* it isn't free already */
    assert(low == e->n_free || given.at + given.n <= e->free[low].at);
    bool joins_before = low > 0 && e->free[low - 1].at + e->free[low - 1].n == given.at;
    bool joins_after = low < e->n_free && given.at + given.n == e->free[low].at;
    if (joins_before) {
        e->free[low - 1].n += given.n + (joins_after ? e->free[low].n : 0);
        if (joins_after)
            drop(e, low);
    } else if (joins_after) {
        e->free[low].at = given.at;
        e->free[low].n += given.n;
    } else if (insert(e, low, given) < 0) {
        return -ENOMEM;
    }
    e->left += given.n;
    return 0;
}
