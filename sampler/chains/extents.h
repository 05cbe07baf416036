/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which numbers of 0 … n - 1 are taken, in runs: first fit, neighbours merge. One owner. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct cs_extent {
    uint32_t at, n;
};

struct cs_extents {
    struct cs_extent *free; /* ascending, never touching */
    size_t n_free, capacity;
    uint32_t left; /* numbers that are free */
};

/* All of `n` numbers free. 0 or -ENOMEM. */
int cs_extents_init(struct cs_extents *extents, uint32_t n);
void cs_extents_fini(struct cs_extents *extents);
/* Where a run of `n` begins, a multiple of `align` (a power of two); -ENOSPC, -ENOMEM. */
int64_t cs_extents_take(struct cs_extents *extents, uint32_t n, uint32_t align);
/* 0 or -ENOMEM: then it stays taken. */
int cs_extents_give(struct cs_extents *extents, struct cs_extent run);
