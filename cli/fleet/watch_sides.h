/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs before and after one change of a service. Only for watch.
 *
 *     watch_sides_init(&sides, &series);
 *     if (watch_sides_take(&sides, &change, switches) > 0) ... sides.runs, watch_sides_step_is_here(...)
 *     watch_sides_fini(&sides);                                                                        */
#pragma once

#include "cli/compare/runs.h"
#include "cli/fleet/watch_changes.h"

#define WATCH_NO_RUN UINT8_MAX /* runs of the sides, then those of other epochs */

/* The switches [from, to) are one change. */
struct watch_change {
    size_t from, to;
    unsigned others; /* images that changed exactly then, too */
    bool none;       /* no build: only the epoch counts */
};

struct watch_sides {
    const struct watch_series *series;
    const struct watch_change *change;
    const struct watch_switch *switches;
    uint8_t *run_of;       /* by host and epoch */
    uint32_t *function_of; /* by row */
    bool *begins;          /* by epoch: some host has a new build, or two */
    unsigned epochs[2];    /* of each host, before and after */
    struct runs runs;      /* set 0 is before, set 1 after; the others are epochs that belong to neither */
    struct run run[WATCH_NO_RUN];
    unsigned set_of[WATCH_NO_RUN], n_sets;
};

int watch_sides_init(struct watch_sides *sides, const struct watch_series *series);
void watch_sides_fini(struct watch_sides *sides);
/* 1; 0: there is too little on a side; or -ENOMEM. Texts of rows are the series', until the next take. */
int watch_sides_take(struct watch_sides *sides, const struct watch_change *change,
                     const struct watch_switch *switches);
/* A step of a row at another time shows in these two sides, too. It is here unless another epoch explains the function's shares
 * much better. */
bool watch_sides_step_is_here(const struct watch_sides *sides, const struct run_row *row);
