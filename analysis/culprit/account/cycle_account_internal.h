/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The steps of cycle accounting, a file each, in the order in which cycle_account.c calls them. */
#pragma once

#include "analysis/culprit/account/cycle_account.h"

enum { LIFE_OUTSIDE = 64 }; /* blocks from where a loop is left to where it is entered again, at most */

struct accounting {
    struct cs_cycle_account *a;
    const struct cs_culprit_evidence *e;
    struct cs_scheduler *scheduler;
    double *edge_visits; /* by cfg edge */
    enum cs_isa isa;
    bool what_ran; /* instructions of blocks that never did aren't decoded: nothing leads to them */
    const struct cs_cycle_account_count *known;
    struct cs_culprit_memory *memory; /* by instruction; only while account_stalls runs */
};

int account_visits(struct accounting *x, struct cs_error *err);
int account_attribute(struct accounting *x, struct cs_error *err);
/* Samples of an event (CS_N_COUNTED: of time) by the instruction that they are of, added to `to`. */
void account_attribute_events(const struct accounting *x, int kind, double *to);
/* Blocks of one life of a loop, in order, closed on itself: writes them to `life`. 0: the loop lives longer than `most_insns`,
 * isn't mostly entered again by one way, or calls; nobody counted its blocks; or there is no room. */
uint32_t account_life(const struct accounting *x, const uint32_t *loop, uint32_t n, size_t most_insns,
                      uint32_t *life, uint32_t most_blocks);
/* Of a path's steps: cycles of a turn; what one operation takes at least. */
double account_path_cycles(const struct cs_schedule_step *steps, size_t n);
double account_operation_cycles(const struct cs_schedule_step *steps, size_t n);
/* `less`: what a turn takes where lives of the loop follow one another, as a factor, at most 1. */
void account_bound_waits(const struct cs_schedule_path *path, struct cs_schedule_step *steps, double less);
void account_bound_divisions(const struct cs_schedule_path *path, struct cs_schedule_step *steps,
                             const struct cs_machine *m);
void account_blame_divider(const struct cs_schedule_path *path, struct cs_schedule_step *steps,
                           const struct cs_machine *m);
/* Cycles of a turn of a closed path by experiment, 0: none; and why the model's (`modelled`) are to be believed. */
enum cs_experiment_why account_experiment(struct cs_experiments *experiments,
                                          const struct cs_schedule_path *path, double modelled,
                                          double *cycles);
/* Branches of a turn. */
unsigned account_branches(const struct cs_schedule_path *path);
/* Runs such a path that takes `cycles` again without what may be why. 1 + its place in `loops`; 0: it isn't worth it. */
uint8_t account_loop(const struct accounting *x, const struct cs_schedule_path *path, double samples,
                     double cycles);
/* Pure: whether a turn may take longer with made-up values than with the program's. */
bool account_by_values(const struct cs_schedule_path *path);
/* The steps make up so many cycles from then on. */
void account_scale_path(struct cs_schedule_step *steps, size_t n, double cycles);
int account_paths(struct accounting *x, struct cs_error *err);
int account_paths_ahead(struct accounting *x, struct cs_error *err); /* in place of it, and of what follows */
/* How many instructions of its run behind a call an instruction comes after the return to there, which is at `*to`: 0 is the
 * call. CS_MODEL_NEAR_INSNS: it isn't near one. */
unsigned account_behind_return(const struct cs_cycle_account *a, uint32_t i, uint64_t *to);
/* Behind returns that are guessed wrong the model's latencies are the guess's. */
void account_return_shadows(const struct accounting *x);
void account_stalls(struct accounting *x);
void account_memory_facts(const struct accounting *x);
void account_stall_facts(const struct accounting *x, uint32_t i, struct cs_culprit_stall *s);
void account_memory_chains(const struct accounting *x, struct cs_culprit_stall *const *stalls);
/* Of the `n` classifications; there is room for one an instruction that has cycles. */
void account_move_mispredictions(struct cs_cycle_account *a, size_t n);
void account_event_rates(const struct accounting *x, struct cs_culprit_stall *const *stalls);
/* Are its cycles known: did it run, and has it an M? */
bool account_has(const struct cs_cycle_account *a, const struct cs_cycle_account_insn *insn);
/* Executions of a visit, and between what bounds: before the stalls have cycles. */
void account_scale(const struct accounting *x, struct cs_culprit_stall *const *stalls);
/* Blocks that mostly follow each other are one run: by block, for account_run_of; NULL: no memory. To be freed. */
uint32_t *account_runs(const struct accounting *x);
uint32_t account_run_of(uint32_t *runs, uint32_t block);
/* Of M, the wait for a chain of a path that isn't closed, where timed bursts say how often it ran; else 0. */
double account_open_chain(const struct cs_cycle_account *a, const struct cs_cycle_account_insn *insn);
/* Takes from M what these have too much by the scale. False: nothing, so that facts stay. */
bool account_give_chains(const struct accounting *x);
bool account_scale_by_instructions(struct cs_cycle_account *a, const struct cs_culprit_evidence *e);
void account_summary(struct cs_cycle_account *a);

/* The most visited edge into (out of) a block, CS_CFG_EXIT when there is none within the procedure. */
uint32_t account_likely_in(const struct accounting *x, uint32_t block);
uint32_t account_likely_out(const struct accounting *x, uint32_t block);

/* The instruction before (after) one on the most frequent way, CS_CFG_EXIT at its end. */
uint32_t account_before(const struct accounting *x, uint32_t i);
uint32_t account_after(const struct accounting *x, uint32_t i);
/* Offset of the transfer that most often led to a function, 0 = unknown. */
uint64_t account_caller(const struct accounting *x, uint64_t entry);
