/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Nested address ranges: which is the innermost one around an address? Symbols nest (aliases, entry points
 * inside a routine), so do inlined calls. Ranges may come in any order and may overlap badly (damaged files).
 * A range that straddles the end of the one around it is cut there, empty ones are dropped.
 *
 * Internal to image/. Cost: O(n log n) to sort once, O(log n + depth) to find. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct cs_image_range {
    uint64_t low, high; /* [low, high) */
    uint32_t id;        /* the owner's index */
    uint32_t
        parent; /* index of the range around it, CS_IMAGE_RANGE_NONE at the top; set by cs_image_ranges_nest */
};

#define CS_IMAGE_RANGE_NONE UINT32_MAX

struct cs_image_ranges {
    struct cs_image_range *range;
    uint32_t n, capacity;
};

int cs_image_ranges_add(struct cs_image_ranges *ranges, uint64_t low, uint64_t high,
                        uint32_t id); /* 0, -ENOMEM */
/* Sorts and links. Of two equal ranges the one with the greater id becomes the inner one. Call once, after
 * the last add. */
void cs_image_ranges_nest(struct cs_image_ranges *ranges);
/* Index of the innermost range that holds `at`, or CS_IMAGE_RANGE_NONE. */
uint32_t cs_image_ranges_find(const struct cs_image_ranges *ranges, uint64_t at);
void cs_image_ranges_fini(struct cs_image_ranges *ranges);
