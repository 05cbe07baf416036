/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unwind tables of mapped images, in user space: for the kernel to be given (chains.c) and for copies of stacks
 * (stack_copies.c). They come from the cache or from a child process without rights (image/unwind/child.h). A small
 * file's come mostly at once, a large one's later. What wasn't used for longest goes, when they take more than some
 * megabytes. One owner.
 *
 * The CPU time that this takes, children's too, may have a limit: a build would take all of a budget. Above it tables come
 * later. */
#pragma once

#include "image/unwind/unwind.h"
#include "sampler/images/images.h"

#include <stdbool.h>

struct cs_image_tables;

/* For a process that will be large, while it is small: files are read by children, and forking is dear then. */
void cs_image_tables_prepare(void);
struct cs_image_tables *cs_image_tables_open(struct cs_images *images);
void cs_image_tables_close(struct cs_image_tables *tables);
/* CPU seconds a second that this may take from now on; 0: any. It begins with a second. */
void cs_image_tables_limit(struct cs_image_tables *tables, double cpu_max);
/* May another child begin? A child of the caller's has taken so much. */
bool cs_image_tables_may_begin(struct cs_image_tables *tables);
void cs_image_tables_pay(struct cs_image_tables *tables, uint64_t cpu_ns);

/* Of an image that `pid` has, or had, mapped from `start` to `end`. 1: *table is there until the next trim. 0: it is being made;
 * ask again. -EAGAIN: the limit forbids that now. -ENOENT: it has none that can be had. */
int cs_image_tables_get(struct cs_image_tables *tables, const struct cs_mapped_image *image, pid_t pid,
                        uint64_t start, uint64_t end, const struct cs_unwind_header **table, size_t *n);
/* Its table is still absent, for a child is at work: quick, for those who wait with many. */
bool cs_image_tables_waits(const struct cs_image_tables *tables, unsigned index);
/* Of code that `pid` made, mapped there: false unless it is copies of a short template (image/unwind/template.h). The table's base
 * is the mapping's start; it lives as long as `tables`. */
bool cs_image_tables_made(struct cs_image_tables *tables, pid_t pid, uint64_t start, uint64_t end,
                          const struct cs_unwind_header **table, size_t *n);
/* A child is at work; true again and again until what it made has been taken. */
bool cs_image_tables_busy(const struct cs_image_tables *tables);
/* What a child has made since the last look: 1, the image and its table; -ENOENT: it has none; 0: nothing yet. */
int cs_image_tables_poll(struct cs_image_tables *tables, const struct cs_mapped_image **image,
                         const struct cs_unwind_header **table, size_t *n);
/* Nobody holds a table now: frees what is too much. */
void cs_image_tables_trim(struct cs_image_tables *tables);
