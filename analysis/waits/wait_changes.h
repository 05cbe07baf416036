/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The waits of two sides of runs compared, by place and kind.
 *
 * A difference counts when chance is unlikely to make it (false discovery rate below 1 %) and when it is larger than
 * `least_percent`. Chance is of two kinds. Within a run: waits come at random, so the variance of their sum is the sum
 * of their squares (a compound Poisson sum). It is more where short ones were sampled. Between runs they differ by
 * more than that: by a dispersion of each kind (pooled chi-square), or of the row itself.
 * Waits don't all come at random: where a side's runs agree closely, runs are the unit, and Student's t compares them.
 * The better of both tests counts, twice its chance. With one run on a side the spread is unknown. */
#pragma once

#include "analysis/waits/wait_groups.h"
#include "store/base/array.h"

struct cs_wait_side { /* of one row; means of the runs */
    double ns, waits, variance, sampled, own_cpu_ns;
};

struct cs_wait_in_run {
    double ns, variance, sampled; /* sampled: what of the variance comes from short waits that weren't kept */
};

struct cs_wait_change {
    const char *kind, *where,
        *image; /* image: its last part; "" where the chain has no code of the program's own */
    const char *meanwhile, *object; /* of the last run that tells it; "" */
    const char *via;                /* the call with most time in one run, as "fdatasync"; "" */
    bool idle;                      /* a wait for something to do */
    struct cs_wait_side side[2];
    double difference, ratio; /* of ns, or of shares */
    double discovery;
    bool significant;
    bool others; /* significant, but a wait for a CPU that other programs had: no change of the program */
    /* Internal. */
    double dispersion; /* of its kind */
    uint64_t via_ns;
    CS_ARRAY(struct cs_wait_in_run) by_run;
};

struct cs_wait_changes {
    bool shares;  /* set by the caller: of all threads' time, in percent, instead of ns a run */
    bool by_kind; /* set by the caller: a row for each kind of wait */
    double least_percent;
    const char *
        renamed; /* set by the caller: "A, B", the program's image in side 0 and in side 1, which is one; or NULL */
    struct cs_wait_change *at;
    size_t n, capacity, n_significant, n_others;
    unsigned runs[2];
    double seconds[2]; /* of all threads' time, a run */
    double dispersion, dispersion_for_cpu;
    /* Internal. */
    struct cs_dictionary keys, texts;
    unsigned *side_of; /* by run */
    double *all_ns;
    size_t n_runs, runs_capacity, all_capacity;
};

/* A run of side 0 (A) or 1 (B); the waits may be closed afterwards. -ENOMEM. */
int cs_wait_changes_add(struct cs_wait_changes *changes, unsigned side, const struct cs_wait_groups *run);
/* After the last: compares and sorts: significant ones first, those that wait for work after the others, then by size. */
int cs_wait_changes_end(struct cs_wait_changes *changes);
void cs_wait_changes_fini(struct cs_wait_changes *changes);
