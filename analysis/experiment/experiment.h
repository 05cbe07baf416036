/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cycles of code by experiment: it runs alone in a loop, with registers and memory that are made up, and is timed. After
 * BHive (IISWC 2019). The first level of cache holds all data, and branches lead to the next instruction either way. What
 * comes out is the time of a turn of the core itself: no misses, few mispredictions.
 *
 *     struct cs_experiments *e = cs_experiments_open(processor, most);
 *     cs_experiments_run(e, ops, n, &result) == CS_EXPERIMENT_DONE ... result.cycles
 *     cs_experiments_close(e);
 *
 * The code comes from a stranger's file. It runs in a process that has no rights (child/), with nothing of ours in its
 * memory, and for a bounded time. Its answer is checked as a stranger's word. x86-64 only; elsewhere nothing runs. The
 * processor must be the one that was profiled: the caller sees to that.
 *
 * Files of this module:
 *   experiment  many of them: the process, its answer, what is kept
 *   piece       instructions as a loop that can run by itself: pure
 *   variant     the same loop without its locks, divisions, chains, or forwarded loads: pure
 *
 * A few ms each, the first time: the least of two processes counts, and of four where two differ. Several threads may ask;
 * who opened it closes it after them. */
#pragma once

#include "image/isa/semantics.h"

#include <stddef.h>

/* Why there are no cycles. */
enum cs_experiment_why {
    CS_EXPERIMENT_DONE,
    CS_EXPERIMENT_OFF,     /* not here: another architecture, or the budget is spent */
    CS_EXPERIMENT_CALL,    /* calls, returns, or jumps to where memory says */
    CS_EXPERIMENT_SYSTEM,  /* system calls, fences, string instructions, what changes the processor's state */
    CS_EXPERIMENT_SEGMENT, /* memory of the thread */
    CS_EXPERIMENT_REGISTER, /* none is free to count turns */
    CS_EXPERIMENT_LONG,     /* too many instructions, or too few */
    CS_EXPERIMENT_CODE,     /* doesn't decode */
    CS_EXPERIMENT_WILD,     /* addresses that can't be made up */
    CS_EXPERIMENT_DIVISION,
    CS_EXPERIMENT_PAGES,  /* more data than a first-level cache holds */
    CS_EXPERIMENT_SIGNAL, /* an instruction that this processor hasn't, or that isn't allowed */
    CS_EXPERIMENT_NOISY,  /* others have a part of the core, or turns differ */
    CS_EXPERIMENT_RIGHTS, /* its rights couldn't be given up: nothing was run */
    CS_EXPERIMENT_VALUES, /* never from here: the caller's reason not to use the cycles, because values decide them */
    CS_EXPERIMENT_FAILED, /* the process came to another end, or to none */
    CS_EXPERIMENT_ABSENT, /* of a variant: there is nothing of the kind to remove */
    CS_EXPERIMENT_FIXED,  /* of a variant: it can't be replaced here */
    CS_N_EXPERIMENT_WHY,
};
extern const char *const cs_experiment_why_names[CS_N_EXPERIMENT_WHY];

struct cs_experiment_result {
    double cycles; /* a turn */
    unsigned pages;
};

/* What a loop is run without (variant.h). */
enum cs_experiment_variant {
    CS_EXPERIMENT_NO_LOCK,
    CS_EXPERIMENT_NO_DIVISION,
    CS_EXPERIMENT_NO_CHAIN,
    CS_EXPERIMENT_NO_FORWARD,
    CS_EXPERIMENT_ALIGNED, /* nothing is removed: it begins with a line of memory */
    CS_N_EXPERIMENT_VARIANTS,
};

struct cs_experiments;

/* `processor`: names it for what is kept between calls (store/base/cache.h); NULL: nothing is kept. `most`: experiments that
 * may be made, besides those that are kept. NULL: no memory. */
struct cs_experiments *cs_experiments_open(const char *processor, unsigned most);
void cs_experiments_close(struct cs_experiments *experiments);
/* A turn of these instructions, in the order in which they run; the last is followed by the first. NULL for `experiments`:
 * OFF. */
enum cs_experiment_why cs_experiments_run(struct cs_experiments *experiments, const struct cs_isa_op *ops,
                                          size_t n, struct cs_experiment_result *result);
/* The same without one thing: half of `most` at most. */
enum cs_experiment_why cs_experiments_without(struct cs_experiments *experiments,
                                              enum cs_experiment_variant what, const struct cs_isa_op *ops,
                                              size_t n, struct cs_experiment_result *result);
/* Whether a turn loads where it stores, as far as operands tell: addresses are made up. */
bool cs_experiments_forwards(const struct cs_isa_op *ops, size_t n);
