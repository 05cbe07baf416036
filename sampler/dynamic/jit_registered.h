/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of code that a process registered by signals' cs_name_code. Its segment is met while it runs, and held, because
 * it is gone when the process ends. One owner. */
#pragma once

#include "sampler/dynamic/jit_methods.h"
#include "signals/reader/reader.h"

#include <stdbool.h>
#include <sys/types.h>

/* Of one process; all zero is none. */
struct cs_jit_registered {
    struct cs_code_names *names;
    unsigned rest;    /* drains until it may be looked for again */
    bool read;        /* in this drain */
    bool refused;     /* too many others were held */
    uint64_t read_ns; /* when it was last read: what comes now was registered since */
};

/* Looks for the process's segment. True: it has another one than what is held, which stays (it did an exec). */
bool cs_jit_registered_meet(struct cs_jit_registered *r, struct cs_jit_kept *kept, pid_t pid);
/* Adds what was registered since, once a drain. */
void cs_jit_registered_read(struct cs_jit_registered *r, struct cs_jit_methods *methods,
                            struct cs_jit_kept *kept);
void cs_jit_registered_refresh(struct cs_jit_registered *r); /* a drain begins */
void cs_jit_registered_drop(struct cs_jit_registered *r, struct cs_jit_kept *kept);
