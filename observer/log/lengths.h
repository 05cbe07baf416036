/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How long each value of a tag stood, from its begin to its end: the time of a request, of a phase, of a
 * collection.
 *
 *      struct cs_observe_lengths *l;
 *      if (cs_observe_lengths_fold("FILE", &(struct cs_observe_lengths_options){.values = 10}, &l, NULL, &err) == 0) {
 *          printf("%g\n", cs_observe_length_quantile(&l->rows[0], 0.99) / l->cycles_per_second);
 *          cs_observe_lengths_close(l);
 *      }
 *
 * A value begins and ends in the middle of the interval in which the tag changed. Sometimes the observer wasn't
 * looking: it lost its CPU, wrote the log, or a reading came late. Those gaps cut a long value more often than a
 * short one, so whole values only would make the distribution too short. So each value whose begin was seen
 * counts with what is known of it: its length, or two bounds, or a lower one. The distribution is the most
 * likely one (Kaplan and Meier 1958 where there are lower bounds only; Turnbull 1976). That asks that the
 * observer's absences know nothing of the tag.
 *
 * Where each thread's values only grow, as numbers of requests do, the same value after an absence is the same
 * stretch. Another value bounds its end. A number that is left out between two samples was shorter than the time
 * between them, and counts so. One that an absence hides doesn't count: its begin wasn't seen. Other values may have
 * been away and back after an absence, and count as far as they were seen. A thread that doesn't run keeps its value:
 * lengths are wall-clock time. Two passes over the file; memory for the histograms and the bounds only. One owner. */
#pragma once

#include "observer/log/log.h"

#define CS_LENGTH_VALUES 64                         /* rows of their own */
#define CS_LENGTH_BINS_OCTAVE 128                   /* each 0.8 % wide at most */
#define CS_LENGTH_BINS (44 * CS_LENGTH_BINS_OCTAVE) /* to 2^44 cycles, over an hour */

struct cs_observe_lengths_options {
    unsigned tag;
    unsigned values; /* how many values, most time first, have a row of their own; <= CS_LENGTH_VALUES */
    void (*progress)(void *arg, uint64_t done, uint64_t total); /* as in timeline.h */
    void *arg;
};

struct cs_observe_length_row {
    uint64_t value;                   /* rows[0]: every value but 0 and "not running" */
    uint64_t begun;                   /* stretches whose begin was seen */
    uint64_t whole, cut;              /* of them: their end, too; or not */
    double whole_cycles, away_cycles; /* of whole ones, and of it the thread didn't run */
    uint64_t longest, longest_cut;    /* the latter is at least so long */
    /* By length in cycles: whole ones, those known to be longer, and shares of what is most likely. */
    uint64_t ended[CS_LENGTH_BINS], left[CS_LENGTH_BINS];
    double unseen[CS_LENGTH_BINS]; /* numbers that no sample has, at most so long */
    double shares[CS_LENGTH_BINS];
};

struct cs_observe_lengths {
    struct cs_observe_log_head head;
    double cycles_per_second, period_cycles; /* usual */
    double whole_cycles, unseen_cycles;      /* of the log; of it the observer wasn't looking */
    bool numbered;                           /* each thread's values only grow */
    uint64_t least, most, numbers;           /* where numbered: the numbers, and how many of them were seen */
    double unseen;                           /* numbers that rows[0] counts though no sample has them */
    unsigned n_rows;
    struct cs_observe_length_row rows[];
};

/* *reader (may be NULL) is the log's reader at its end, for names of values; the caller closes it. */
int cs_observe_lengths_fold(const char *path, const struct cs_observe_lengths_options *options,
                            struct cs_observe_lengths **out, struct cs_observe_log_reader **reader,
                            struct cs_error *err);
void cs_observe_lengths_close(struct cs_observe_lengths *l);

/* Cycles; NaN where fewer than one whole stretch is expected beyond it, or cut ones hide it. */
double cs_observe_length_quantile(const struct cs_observe_length_row *row, double q);
/* Share of the stretches that are shorter than `cycles`, 0 to 1. */
double cs_observe_length_below(const struct cs_observe_length_row *row, double cycles);
