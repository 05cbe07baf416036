/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words of the thread's memory, read from outside while it runs. */
#ifndef CS_SAMPLER_BURST_RUNNER_POLLED_WORDS_H
#define CS_SAMPLER_BURST_RUNNER_POLLED_WORDS_H

#include "sampler/burst/runner/trace.h"

#define POLLED_WORDS_MAX 12
#define POLLS_MAX 40
struct polled_word {
    uint64_t addr, before, after; /* what it held when the thread stood, and at the trace's end */
};
struct poll {
    uint32_t begin_ns, end_ns; /* since the thread was let go */
    uint64_t value[POLLED_WORDS_MAX];
};
struct polled_words {
    unsigned n_words, n_polls;
    bool warm;                     /* the thread's caches are as they were before it was stopped */
    uint64_t released, ticks_a_us; /* TSC */
    struct polled_word word[POLLED_WORDS_MAX];
    struct poll poll[POLLS_MAX];
};
/* False: there is no word to poll. */
bool polled_words_choose(struct polled_words *polled, const struct run *run,
                         const struct registers *registers, uint64_t ticks_a_us);
/* Until the thread has been seen often enough, or the trace is over. */
void polled_words_poll(struct polled_words *polled, pid_t pid);

#endif
