/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words of the thread's memory, read from outside while it runs. */
#ifndef CS_SAMPLER_BURST_HOLDER_POLL_WORDS_H
#define CS_SAMPLER_BURST_HOLDER_POLL_WORDS_H

#include "sampler/burst/runner/boundary.h"

/* Until the thread has been seen often enough, or the trace is over. */
void poll_words(struct polled_words *polled);

#endif
