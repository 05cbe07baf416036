/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether a tag holds numbers that only grow on each thread, as those of requests do. 0 is no number. Pure. */
#pragma once

#include "observer/sample/sample.h"

#include <stdbool.h>
#include <stdint.h>

#define CS_NUMBERING_THREADS 256 /* of more it isn't known */

struct cs_observe_numbering { /* all zero: nothing was seen */
    bool fails;               /* a number came again, or was less */
    uint64_t least, most, numbers;
    uint64_t step; /* greatest common divisor of their differences; 0: one number, or none */
    struct cs_observe_numbering_thread {
        uint32_t thread;
        bool used;
        uint64_t now, last;
    } threads[CS_NUMBERING_THREADS];
};

void cs_observe_numbering_see(struct cs_observe_numbering *n, const struct cs_sample *sample, unsigned tag);
bool cs_observe_numbering_holds(const struct cs_observe_numbering *n);
