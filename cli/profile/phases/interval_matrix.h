/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The interval profiles of a store as one matrix: samples by procedure and interval.
 *
 * Files of this module:
 *   interval_matrix  this
 *   event_rates      rates of one event over another by procedure and over time
 *   phases           the subcommand phases
 *
 * All rows are brought to the longest interval met; when that makes more than INTERVALS_MAX, to a multiple
 * of it. A block of code belongs to the procedure that its first byte, else its last byte, lies in. */
#pragma once

#include "store/store.h"

#include <stddef.h>
#include <stdint.h>

#define INTERVALS_MAX 2000
#define INTERVAL_EVENTS_MAX 16

struct interval_filter {               /* NULL = all */
    const char *epoch, *image, *event; /* epoch: as recordings_open takes it */
};

struct interval_matrix {
    uint64_t start_ms, length_ms;
    size_t n_intervals, n_procedures;
    uint64_t *counts; /* [interval * n_procedures + procedure], of the main event; procedures by samples */
    const char **procedures; /* "procedure\timage" */
    uint64_t *totals;        /* by procedure */

    unsigned n_events, main_event;
    char events[INTERVAL_EVENTS_MAX][64], units[INTERVAL_EVENTS_MAX][16];
    double mean_period[INTERVAL_EVENTS_MAX]; /* 0 = not known */
    uint64_t *event_counts;                  /* [interval * n_events + event] */
    struct cs_table *names;                  /* owns the strings */
};

/* -ENOENT when the store has no interval profiles. */
int interval_matrix_open(struct interval_matrix *matrix, const char *path,
                         const struct interval_filter *filter, struct cs_error *err);
/* Of a store that is open: the filter's epoch isn't looked at. */
int interval_matrix_of(struct interval_matrix *matrix, struct cs_store *store,
                       const struct interval_filter *filter, struct cs_error *err);
void interval_matrix_close(struct interval_matrix *matrix);
