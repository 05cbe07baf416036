/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which data of a process lie on huge pages (2 MB and more): what bursts count are pages of 4 KB. The kernel says it by page
 * from Linux 6.7 on. Before, it does by mapping (/proc/PID/smaps), which takes a walk through all its pages. That is read
 * of one process at a time, of none beyond 16 GB, and for a thousandth of the time. One thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define CS_PAGE_SIZES_MOST 64

struct cs_page_sizes;

/* NULL: no memory. */
struct cs_page_sizes *cs_page_sizes_open(void);
void cs_page_sizes_close(struct cs_page_sizes *sizes);
/* Replaces up to CS_PAGE_SIZES_MOST addresses of a process by what they lie on (enum cs_foreign_page). Of a mapping, what most of it
 * has. False: no right, the process is gone, or it is too soon to read its mappings. */
bool cs_page_sizes_ask(struct cs_page_sizes *sizes, pid_t pid, uint64_t *at, unsigned n);
/* From now on as before Linux 6.7; for tests. */
void cs_page_sizes_by_mapping(struct cs_page_sizes *sizes);
