/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unwind tables of large images, made by a child process: reading a hundred megabytes takes memory and a second, and what is read
 * is whatever a profiled process has mapped. One at a time; bounded in bytes and CPU time; nothing waits for it. One owner. */
#ifndef CS_SAMPLER_SESSION_TABLE_BUILDER_H
#define CS_SAMPLER_SESSION_TABLE_BUILDER_H

#include "image/unwind.h"

#include <stdbool.h>
#include <sys/types.h>

#define CS_TABLE_BUILDER_BYTES (64UL << 20) /* of a table at most */

struct cs_table_builder {
    pid_t child; /* 0: none is at work */
    int memory;  /* where it puts the table */
};

/* Begins with the file behind `fd`. 0 or -errno. */
int cs_table_builder_start(struct cs_table_builder *builder, int fd);
/* 0: still at work. 1: done; *table is there until cs_table_builder_end. <0: it has none. */
int cs_table_builder_done(struct cs_table_builder *builder, const struct cs_unwind_header **table, size_t *n);
void cs_table_builder_end(const struct cs_unwind_header *table, size_t n);
/* Stops one that is at work. */
void cs_table_builder_close(struct cs_table_builder *builder);

#endif
