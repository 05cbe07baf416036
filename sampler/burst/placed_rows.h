/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows about addresses of processes, placed on images, as tables that wait for a merge: a table an image and
 * kind. Addresses are placed a page at a time, because who adds rows has some hundred of them on some ten
 * pages. Not thread-safe. */
#pragma once

#include "sampler/sampler.h"
#include "store/table/table.h"

#define CS_ROWS_KINDS_MAX 16

struct cs_placed_rows_kind {
    const char *event;
    const struct cs_schema *schema;
};

struct cs_placed_rows_image {
    const struct cs_store_image *image;
    struct cs_placed_rows *rows;
    struct cs_table *table[CS_ROWS_KINDS_MAX]; /* NULL: empty */
};

struct cs_placed_rows;

/* `kinds` stays with the caller. NULL: no memory. */
struct cs_placed_rows *cs_placed_rows_open(struct cs_sampler *sampler,
                                           const struct cs_placed_rows_kind *kinds, unsigned n);
void cs_placed_rows_close(struct cs_placed_rows *rows);
/* The rows that follow are about this process as it was at that time (UINT64_MAX: is now). */
void cs_placed_rows_begin(struct cs_placed_rows *rows, pid_t pid, uint64_t time_ns);
/* The tables of the image at `addr`, and its offset there; NULL where there is none (that is counted). */
struct cs_placed_rows_image *cs_placed_rows_place(struct cs_placed_rows *rows, uint64_t addr,
                                                  uint64_t *offset);
/* Addresses that were in no image since cs_placed_rows_begin. */
uint64_t cs_placed_rows_unplaced(const struct cs_placed_rows *rows);
/* 0 or -ENOMEM. */
int cs_placed_rows_add(struct cs_placed_rows_image *image, unsigned kind, const uint64_t *row);
/* The number of an image's name in the table, "" for its own; <0 without memory. */
int64_t cs_placed_rows_name(struct cs_placed_rows_image *image, unsigned kind,
                            const struct cs_placed_rows_image *named);
/* One transfer's row of kind "edges", `count` times in one piece of evidence. */
int cs_placed_rows_add_edge(struct cs_placed_rows_image *from, unsigned kind, uint64_t offset,
                            const struct cs_placed_rows_image *to, uint64_t to_offset, uint64_t count);
/* Rows of that image and kind. */
size_t cs_placed_rows_n(const struct cs_placed_rows_image *image, unsigned kind);
/* Merges all tables into the store; those that were merged are emptied. */
int cs_placed_rows_merge(struct cs_placed_rows *rows, struct cs_store *store, struct cs_error *err);
