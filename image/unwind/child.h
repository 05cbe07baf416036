/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unwind tables made by a child process without rights (image/file/apart.h). Reading a hundred megabytes takes memory
 * and a second, and a compressed section may become a gigabyte. The input is whatever a profiled process has mapped.
 * Its owner may wait, and how long is the owner's to bound. cs_apart_wait waits, cs_apart_end stops it. One owner.
 *
 * What it makes is a stranger's word: cs_unwind_child_done looks whether the table is whole. */
#pragma once

#include "image/file/apart.h"
#include "image/unwind/unwind.h"

#define CS_UNWIND_CHILD_BYTES (24UL << 20) /* of a table: what the kernel has room for; Node.js takes 4 MB */

/* Begins with the file behind `fd`, which the caller may close. 0 or -errno. */
int cs_unwind_child_start(struct cs_apart *child, int fd);
/* 0: still at work. 1: done; *unwind is the caller's; `keep`: and kept on disk where it may be. <0: there is none. */
int cs_unwind_child_done(struct cs_apart *child, bool keep, struct cs_unwind **unwind);
/* An image in memory as a file for it, as a process's vDSO; a descriptor or -errno. */
int cs_unwind_child_file(const void *bytes, size_t n);
/* All at once: of an image in memory, as a process's vDSO: waits, but not longer than `ns`; NULL: there is none. */
struct cs_unwind *cs_unwind_child_of_memory(const void *bytes, size_t n, uint64_t ns);
