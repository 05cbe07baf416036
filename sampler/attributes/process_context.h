/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A process's OpenTelemetry context (OTEP 4719), as far as thread contexts need it: whether its threads have some, and
 * which number an attribute has. Read from outside; whatever it holds, it costs at most 128 KB and a few reads. */
#pragma once

#include "image/process_memory.h"

#include <sys/types.h>

struct cs_process_context {
    uint64_t published_ns; /* another one after each change */
    bool has_threads;      /* of a schema that we know */
    int key;               /* the attribute's number; -1: none yet */
};

/* Where its mapping begins; 0: it has none. */
uint64_t cs_process_context_at(const char *proc, pid_t pid);
/* 0; -EAGAIN: it is being written; -EINVAL: it isn't one. `name`: of the attribute. */
int cs_process_context_read(const struct cs_process_memory *memory, uint64_t at, const char *name,
                            struct cs_process_context *out);
