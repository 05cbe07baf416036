/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How far in its trace the thread was at each poll. Pure. */
#pragma once

#include "sampler/burst/replayer/trace/word_history.h"

struct trace_positions {
    unsigned fit, within; /* polls that fit the trace; of them, those surely within it */
    uint64_t least[POLLS_MAX], most[POLLS_MAX]; /* instructions run; most: of those within */
};
struct trace_positions trace_positions(const struct polled_words *polled, const struct history *h,
                                       uint64_t length);
struct position_interval {
    uint64_t from_ns, to_ns;
    uint64_t from, to; /* instructions */
    uint64_t off;      /* thousandths of it that it may be off by; above 1000: there is none */
};
/* The intervals that are known best: one from the thread's start on, with cold caches, and a later one. */
void position_intervals(const struct polled_words *polled, const struct trace_positions *known,
                        struct position_interval *early, struct position_interval *late);
