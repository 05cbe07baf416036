/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the build-ids of one service changed. Only for watch. */
#pragma once

#include "cli/fleet/watch.h"

#define WATCH_HOST_EPOCHS_MAX 5e7

/* On one host: the first epoch that has the new build, and the first one that has hardly any of the old one (n_epochs: none yet). */
struct watch_switch {
    uint32_t host, image, build, old, epoch, clean;
};

struct watch_series {
    struct watch_cell **cell;
    size_t n;
    uint32_t n_hosts, n_epochs, n_images, n_builds, n_functions;
    const struct watch_cell **function, **build; /* one cell of each */
    int64_t *epoch;                              /* the epochs' numbers */
    double *total;                               /* by host and epoch */
    struct watch_switch *change;                 /* by image, old and new build; then by host */
    size_t n_changes, capacity;
};

/* Gives all cells their numbers, and finds the switches. 0, -ENOMEM or -EFBIG. */
int watch_series_init(struct watch_series *series, struct watch_cell *cells, size_t n);
void watch_series_fini(struct watch_series *series);
