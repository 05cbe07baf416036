/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sorted by (low up, high down) a range comes after all ranges around it. So one pass with a stack of open
 * ranges links each to its parent. */
#include "image/file/ranges.h"
#include "store/base/array.h"
#include "store/base/bisect.h"
#include "store/base/order.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

int cs_image_ranges_add(struct cs_image_ranges *ranges, uint64_t low, uint64_t high, uint32_t id)
{
    if (low >= high)
        return 0;
    if (cs_array_room(ranges->range, ranges->n, ranges->capacity) < 0)
        return -ENOMEM;
    ranges->range[ranges->n++] = (struct cs_image_range){low, high, id, CS_IMAGE_RANGE_NONE};
    return 0;
}

CS_ORDER(outer_first, struct cs_image_range, cs_order(a->low, b->low), cs_order(b->high, a->high),
         cs_order(a->id, b->id))

void cs_image_ranges_nest(struct cs_image_ranges *ranges)
{
    bool sorted = true;
    for (uint32_t i = 1; i < ranges->n && sorted; i++)
        sorted = outer_first(&ranges->range[i - 1], &ranges->range[i]) <= 0;
    if (!sorted)
        cs_sort(ranges->range, ranges->n, outer_first);
    uint32_t open = CS_IMAGE_RANGE_NONE; /* top of the stack, which is threaded through `parent` */
    for (uint32_t i = 0; i < ranges->n; i++) {
        struct cs_image_range *r = &ranges->range[i];
        while (open != CS_IMAGE_RANGE_NONE && ranges->range[open].high <= r->low)
            open = ranges->range[open].parent;
        r->parent = open;
        if (open != CS_IMAGE_RANGE_NONE && r->high > ranges->range[open].high)
            r->high = ranges->range[open].high;
        open = i;
    }
}

uint32_t cs_image_ranges_find(const struct cs_image_ranges *ranges, uint64_t at)
{
    /* first range that starts above `at` */
    uint32_t low = cs_bisect(ranges->n, i, ranges->range[i].low <= at);
    uint32_t i = low ? low - 1 : CS_IMAGE_RANGE_NONE;
    while (i != CS_IMAGE_RANGE_NONE && ranges->range[i].high <= at)
        i = ranges->range[i].parent;
    assert(i == CS_IMAGE_RANGE_NONE || (ranges->range[i].low <= at && at < ranges->range[i].high));
    return i;
}

void cs_image_ranges_fini(struct cs_image_ranges *ranges)
{
    free(ranges->range);
    *ranges = (struct cs_image_ranges){0};
}
