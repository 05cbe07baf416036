/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Several runs of a program side by side: rows of the same procedure (or line, image) with the samples of
 * each run. A run is an epoch of a store. Procedures match by image name and symbol, so that a rebuilt binary
 * still compares; a made-up name ("sub_1234") matches within the same build only. Versions of a JIT method
 * (sampler/dynamic/jit_code.h) are one row. Lines of two builds are matched by run_lines.c.
 *
 * Files of this module:
 *   runs        several runs side by side
 *   run_lines   which lines of two builds are the same
 *   comparison  two sides of runs compared
 *   diff        the subcommand diff
 *   diff_waits  diff --waits: which waits grew
 *   stats       the subcommand stats */
#pragma once

#include "cli/profile/profile.h"

struct run {
    char *name;    /* store and epoch */
    unsigned set;  /* which store of the command line, 0, 1, ... */
    double total;  /* samples */
    double period; /* mean, in `unit` */
    uint64_t began_ms;
};

struct run_row {
    char *name, *image, *build_id; /* name NULL = BY_IMAGE or no symbol */
    char *where;                   /* BY_LINE: FILE:LINE, as it is shown */
    char *file;                    /* BY_LINE; NULL unknown */
    unsigned line, begin;          /* of its function, 0: unknown */
    unsigned set;                  /* the only one that has it, where `lines_apart`; else 0 */
    double *samples;               /* by run */
};

struct runs {
    char event[64], unit[16];
    struct run *run;
    size_t n_runs;
    struct run_row *row;
    size_t n_rows;
    unsigned n_sets;
    struct cs_store_times times; /* of the last store, where a part of its time was asked for */
    bool
        totals; /* BY_PROCEDURE: samples are those of a procedure and of what it called; set before the first */
    const char *const *only; /* epochs of the next store that count, n_only of them; 0: all */
    size_t n_only;
    const char *image; /* only its samples: path, name or build-id; NULL: all */
    bool lines_apart;  /* BY_LINE: each set has rows of its own until runs_join_lines; set before the first */
    char
        *renamed; /* by runs_join_renamed: "A, B", the names that the program's image had; NULL: it has one */
};

/* Adds every epoch of a store (or only `epoch`, as recordings_open takes it); the first store chooses the event unless it is given. */
int runs_add(struct runs *runs, const char *store, const char *epoch, const char *event, enum profile_by by,
             struct cs_error *err);
/* Two sets of one program whose file has another name in each ("app-1.2", "app-1.3"): the image with the most samples that only the
 * first set has, and the one that only the second has, become "app-1.2, app-1.3" if they have a function in common. 1 if so, 0 if
 * not, or -ENOMEM. */
int runs_join_renamed(struct runs *runs);
/* Two sets by line: each line of the first gets the samples of the line that it is in the second. 0 or -ENOMEM. */
int runs_join_lines(struct runs *runs);
void run_row_fini(struct run_row *row);
void runs_fini(struct runs *runs);
