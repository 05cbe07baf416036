/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When the trace changes the polled words, and to what. */
#pragma once

#include "sampler/burst/replayer/trace/polled_words.h"

struct change {
    uint32_t position; /* instructions before the block that makes it */
    uint64_t value;    /* until then */
};
void history_rest(void); /* between bursts: gives memory back */
struct history {
    const struct change *change;
    uint32_t n, capacity;
    uint64_t before, after;
    bool known; /* else the word tells nothing */
    bool some;  /* values between the first change and the last are not known */
};
extern struct history histories[POLLED_WORDS_MAX];
/* Of words that are written a few times. How many instructions the trace has. */
uint64_t history_begin(const struct polled_words *polled, const struct run *run,
                       const struct registers *registers);
/* Of the others, too: runs the burst once more, which puts *second in the place of the trace. False: there
 * are none, or it could not be done. */
bool history_again(const struct polled_words *polled, const struct run *run, uint64_t length,
                   const struct registers *registers, const void *vectors, uint64_t vectors_bytes,
                   struct run *second);
