/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lines of a function where its threads waited.
 *
 *     struct wait_lines lines = {0};
 *     wait_lines_add(&lines, store, &waits, group);     of each group that counts
 *     ... wait_lines_longest(&lines) ...
 *     wait_lines_fini(&lines); */
#pragma once

#include "analysis/waits/wait_groups.h"
#include "store/base/array.h"

struct wait_line {
    char *file;
    unsigned line;       /* 0: unknown */
    uint64_t ns;         /* all waits there */
    uint64_t address;    /* of the call under which threads waited longest, within its image */
    uint64_t longest_ns; /* below one chain of calls */
};

struct wait_lines {
    CS_ARRAY(struct wait_line) all;
};

/* Of a group of the store's waits. What can't be read adds nothing. */
void wait_lines_add(struct wait_lines *lines, struct cs_store *store, const struct cs_wait_groups *waits,
                    const struct cs_wait_group *group);
/* NULL: there is none. */
const struct wait_line *wait_lines_longest(const struct wait_lines *lines);
void wait_lines_fini(struct wait_lines *lines);
