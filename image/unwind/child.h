/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unwind tables made by a child process without rights: reading a hundred megabytes takes memory and a second, and what is read is
 * whatever a profiled process has mapped. Bounded in bytes and CPU time; its owner may wait, and how long is the owner's to bound. One owner.
 *
 * What it makes is a stranger's word: cs_unwind_child_done looks whether the table is whole. */
#ifndef CS_IMAGE_UNWIND_CHILD_H
#define CS_IMAGE_UNWIND_CHILD_H

#include "image/unwind/unwind.h"

#include <sys/types.h>

#define CS_UNWIND_CHILD_BYTES (64UL << 20) /* of a table at most */

struct cs_unwind_child {
    pid_t pid;  /* 0: none is at work */
    int memory; /* where it puts the table */
    int file;
};

/* Begins with the file behind `fd`, which the caller may close. 0 or -errno. */
int cs_unwind_child_start(struct cs_unwind_child *child, int fd);
/* 0: still at work. 1: done; *unwind is the caller's, and kept on disk where it may be. <0: there is none. */
int cs_unwind_child_done(struct cs_unwind_child *child, struct cs_unwind **unwind);
/* Stops one that is at work. */
void cs_unwind_child_close(struct cs_unwind_child *child);

#endif
