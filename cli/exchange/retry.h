/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A server that is away or busy is tried again after 1, 2, 4, ... 30 s, or when it wants, until --retry is over. */
#pragma once

#include "cli/command/command.h"

struct retry {
    double seconds, deadline_s;
    unsigned failures; /* in a row: the caller sets it to 0 after an answer */
};

struct retry retry_begin(const struct parsed *args);
/* After a failure that may be gone in a moment: true when it is time for another try. `after_s` is when the server
 * wants it; 0 = it didn't say. */
bool retry_again(struct retry *r, long after_s);
