/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by transfers_load.c and transfers.c only. */
#ifndef CS_ANALYSIS_TRANSFERS_PARTS_H
#define CS_ANALYSIS_TRANSFERS_PARTS_H

#include "analysis/transfers.h"

struct window_row {
    uint64_t burst; /* the store's number; 0…n_bursts-1 after loading */
    uint64_t from, to;
    uint32_t image, to_image, transfer;
    double count;
};

struct windows {
    struct window_row *rows; /* ascending by burst */
    size_t n;
};

/* Transfers as seen, in order; *windows stands for what transfers_read_windows would read. */
int transfers_read(struct cs_store *store, struct cs_transfers *t, uint64_t *windows, struct cs_error *err);
/* The same burst by burst, tied to the list; counts t->n_bursts. */
int transfers_read_windows(struct cs_store *store, struct cs_transfers *t, struct windows *w,
                           struct cs_error *err);
int transfers_compare(const struct cs_transfer *x, const struct cs_transfer *y);

#endif
