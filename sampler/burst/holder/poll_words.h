/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words of the thread's memory, read from outside while it runs. */
#pragma once

#include "sampler/burst/runner/boundary.h"

/* Until the thread has been seen often enough, or the trace is over. */
void poll_words(struct polled_words *polled);
