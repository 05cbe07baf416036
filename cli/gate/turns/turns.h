/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs base and head in turn: recorded, counted, only timed, and linked again.
 *
 * Files of this module:
 *   turns         records base and head in turn, times and counts some runs
 *   timed         runs that were only timed
 *   relink        is it layout? Other layouts of the head, timed
 *   relink_judge  ... and judged
 *   words         a command in one text, as words
 *
 * Stores of a side lie next to each other. base.store has the recorded runs, base.work.store those that counted, and
 * base.causes.store those with bursts. */
#pragma once

#include "store/base/error.h"

#include <limits.h>
#include <stdbool.h>

#define GATE_COUNTED_STORE ".work.store"
#define GATE_CAUSES_STORE ".causes.store"

/* "base.store" -> "base.work.store". */
void gate_beside(const char *store, const char *suffix, char path[PATH_MAX]);

struct gate_turns {
    char **base, **head;   /* argv */
    const char *store[2];  /* where the runs go */
    const char *folder;    /* of all that is kept */
    const char *frequency; /* of samples; NULL: 4,000 a second */
    double seconds;
    bool causes;           /* record with bursts */
    bool alone;            /* both have one thread: set by gate_record_in_turn */
    bool one_at_a_time;    /* never base and head at the same time */
    bool output;           /* of the commands, as they write it; else none */
    char not_counted[300]; /* why their instructions couldn't be counted; "": they were */
};
/* Counts two runs of each, then records both until the time is over, two runs of each at least. The error says what failed. */
int gate_record_in_turn(struct gate_turns *turns, struct cs_error *err);
/* Records both with bursts, 24 runs of each or a fifth of the time: GATE_CAUSES_STORE. */
int gate_record_causes(struct gate_turns *turns, struct cs_error *err);
/* As a shell splits words, without expanding any. NULL-terminated; NULL: a quote is left open, or there is no word. The caller
 * frees it with one free. */
char **gate_words(const char *text);
