/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Several distributions next to each other. They are of several logs (shim-2015 figures 14 to 18), before
 * and after filtering (figure 4), of periods and gaps (figure 5), or in fine linear bins (section 6.3:
 * 500). */
#pragma once

#include "cli/observe/observed_source.h"

#define OVERLAY_MAX 8 /* series */
#define OVERLAY_BINS_MAX 4096

struct overlay_series {
    char name[64];
    double *bins; /* intervals in each */
    /* Of the value over all intervals, those beyond the bins too; each weighs as long as it lasted, as in tags' rates. */
    double intervals, weight, sum, squares;
};

struct overlay {
    char what[160]; /* "instructions per 1000 cycles" */
    unsigned n_bins, n_series;
    double *edges; /* n_bins + 1, ascending; the first bin may be of one value (edges alike) */
    struct overlay_series series[OVERLAY_MAX];
};

/* Bins of rates per 1000 cycles: between least and most `n_bins` of one width, or, where n_bins is 0, the sixteen an octave
 * that a store has. 0 or -ENOMEM. */
int overlay_init(struct overlay *o, double least, double most, unsigned n_bins);
/* Bins of cycles, sixteen an octave. */
int overlay_init_cycles(struct overlay *o);
void overlay_fini(struct overlay *o);
/* A further series; NULL: OVERLAY_MAX are there, or no memory. */
struct overlay_series *overlay_add(struct overlay *o, const char *name);
/* Rates of a counter in a log's intervals: those that the rule keeps, or, with `unfiltered`, also those that it drops for
 * the time that reading took; of a ratio ("IPC", "A/B") its values. `under` NULL, or the value of the first tag at both
 * ends. Names o->what. An exit code; it has printed why. */
int overlay_count_log(struct overlay *o, struct overlay_series *s, const char *log, const char *counter,
                      const char *under, bool unfiltered);
/* A table of what each series is, and one of all bins, with a bar a series. */
void overlay_print(struct output *out, const struct overlay *o);
