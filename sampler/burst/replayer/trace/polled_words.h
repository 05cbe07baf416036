/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words of the thread's memory, that tell from outside how far it is. */
#pragma once

#include "sampler/burst/replayer/translator/trace.h"
#include "sampler/burst/runner/boundary.h"

/* False: there is no word to poll. */
bool polled_words_choose(struct polled_words *polled, const struct run *run,
                         const struct registers *registers, uint64_t ticks_a_us);
