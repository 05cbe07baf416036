/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much memory code goes over, from the lines that bursts drew of its accesses. */
#pragma once

#include "analysis/culprit/evidence/image_evidence.h"

struct cs_working_set {
    double bytes, pages; /* 0: too few draws to tell; all processes that ran the code together */
    double draws;        /* different lines, summed over bursts */
    double once;         /* of these, lines that no second burst drew */
    double bursts;       /* at least so many drew them: long ones, which come back to all lines, don't */
    bool least;          /* a lower bound: much of it was met a few times only */
};

/* Of the accesses of the code from `start` up to `end`, which come to new lines; `footprints` may be NULL. Lines drawn
 * again and again are counted (Chao 1984). Where most lines are new, all of the ranges of addresses over which the draws
 * are spread count, or each n-th line where all draws are multiples of n apart. 0 or -ENOMEM. */
int cs_working_set(struct cs_table *footprints, uint64_t start, uint64_t end, struct cs_working_set *out);
