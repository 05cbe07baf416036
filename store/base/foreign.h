/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls that a stranger may leave unanswered: reads of its memory, opens of its files. A page of a FUSE mount or of a
 * dead NFS server is never served; who reads it can't even be killed. So each such call is made by a helper: a process
 * that shares our memory but not our descriptors. It holds nothing, and is given up when it is late.
 *
 *     cs_foreign_limit(CS_FOREIGN_LIMIT_MS);
 *     if (!cs_foreign_memory(pid, addr, &word, sizeof word)) ... the process is gone, or doesn't answer
 *
 * What it costs: a round trip of some 10 us a call. What all calls may wait is bounded, too: BUDGET_MS at once, and a
 * tenth of the time that passes. Beyond that they fail at once with -ETIMEDOUT, and who was late fails at once for a
 * minute. All functions: any thread. Until cs_foreign_limit the calls are made directly: who reads their own files may
 * wait for them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/types.h>

#define CS_FOREIGN_LIMIT_MS 100

/* From now on nothing is waited for longer than this; 0: calls are made directly again. */
void cs_foreign_limit(unsigned ms);
/* All `n` bytes of a process's memory, or false. */
bool cs_foreign_memory(pid_t pid, uint64_t addr, void *to, size_t n);
/* As pread, of a process's memory file that the caller has open. */
ssize_t cs_foreign_read(int fd, uint64_t at, void *to, size_t n);
/* A file of /proc that waits for its process: maps (the lock of its memory). NULL and errno. */
FILE *cs_foreign_proc(const char *path);
/* Replaces `n` addresses of a process by the sizes of their pages. Unknown: nothing is there. Negative errno: -ENOTTY from a
 * kernel that doesn't tell (before Linux 6.7). */
enum cs_foreign_page { CS_FOREIGN_PAGE_SMALL, CS_FOREIGN_PAGE_HUGE, CS_FOREIGN_PAGE_UNKNOWN };
#define CS_FOREIGN_PAGES_MOST 512
int cs_foreign_page_sizes(pid_t pid, uint64_t *at, size_t n);
/* What cs_open_regular promises, and with an owner cs_open_owned (regular_file.h). With a limit, a file that is neither on a disk here nor in memory is given as
 * a copy in memory, of 32 MB at most: reading it, and even closing it, may never come to an end. */
int cs_foreign_regular(const char *root, const char *path, uint64_t bytes_max, const uid_t *owner,
                       struct stat *st);
/* What stat tells of a path, links followed; `root` as above. 0 or negative errno. */
int cs_foreign_stat(const char *root, const char *path, struct stat *st);
/* Calls that came to no answer so far, or were not made for it. */
uint64_t cs_foreign_unanswered(void);

/* Ends a child of ours, by force, and waits for that up to `ms`. 0: it is reaped. -ETIMEDOUT: it hangs in the kernel, and is
 * reaped some day. `used` may be NULL. */
int cs_end_child(pid_t pid, unsigned ms, int *status, struct rusage *used);
