/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the name and the file of one function say of a wait below it. Names of kinds are short: they are read in sums. */
#pragma once

#include "analysis/contexts/calls.h"

#include <string.h>

enum {
    PROGRAM = 1,
    LIBRARY = 2,
    WAY = 4,
    FIRST = 8,
    POOL = 16,
    MONITOR = 32,
    SLEEP = 64,
    SCRIPT = 128, /* a Python function */
    INTERPRETER = 256,
    QUEUE = 512,      /* of Python */
    THREADING = 1024, /* around all that a thread does */
    BEGINS = 2048,    /* what is around it isn't done on its account: a pool's loop, a child after its fork */
    CHILD = 4096,
    JOIN = 8192
};

static inline bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* The sum of all that apply. */
unsigned cs_wait_said_by(const struct cs_call_function *f);
