/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cycle accounting of one procedure: where its cycles went, instruction by instruction, and why. dcpi-1997
 * section 6.
 *
 * Files of this module:
 *   account_model           constants of these alone
 *   attribute               samples to the instructions that took the time
 *   cycle_account           cycle accounting of a procedure: the steps in order
 *   cycle_account_internal  the steps, and what they share
 *   dynamic_paths           the most frequent paths, and M on them
 *   event_rates             counted events an execution, executions by counted instructions
 *   lives                   how often a loop begins again
 *   loop_variants           hot loops that were run without one thing
 *   memory_chains           chains of a loop that go through memory
 *   mispredictions          the time of a misprediction to its branch
 *   open_chains             chains outside loops, which the core overlaps with what ran before
 *   path_bounds             what bounds the steps of a path besides the model
 *   path_experiments        paths that were run by themselves
 *   returns                 what is behind a call, where returns are guessed wrong
 *   scale                   executions of a visit: counted, or fitted, with timed bursts
 *   stall_facts             facts of each stall from its surroundings on the path
 *   stalls                  what few samples share, the classifications
 *   summary                 the sums of dcpi-1997 figure 4
 *   visits                  how often blocks and edges ran
 *
 *     cs_cycle_account_open(code, procedure, evidence, scheduler, NULL, &account, &err);
 *     ... account->insns[i].cycles, .classification ... account->summary ...
 *     cs_cycle_account_close(account);
 *
 * A sample's PC is the dynamic successor of the instruction that took the time, so its time is attributed to
 * the predecessor. That is the instruction before it, or at a block's head the ends of the preceding blocks,
 * by edge frequency. What follows a call is attributed to the call (the callee's return is not ours), the
 * procedure's first instruction to itself. A branch that fused is one with what it fused with.
 *
 * Scale: bursts tell how often blocks run relative to one another. How often they ran in all is known where
 * something counted it. Otherwise the scale is fitted so that, over the procedure, M and what the rules
 * expect make up the samples, and `scale_fitted` says so. Timed intervals lift it as far as M and the rules
 * still explain the samples, and bound it from above (scale.c).
 *
 * Invariants: what is attributed to all instructions is the procedure's samples; the summary's rows add up to
 * them. One owner. */
#pragma once

#include "analysis/cfg/cfg.h"
#include "analysis/culprit/classify/culprit.h"
#include "analysis/culprit/evidence/image_evidence.h"
#include "analysis/schedule/schedule.h"

struct cs_cycle_account_insn {
    struct cs_isa_op op; /* of a fused pair: the first, with the branch's kind added */
    uint64_t branch;     /* offset of the branch that fused with it, 0 = none */
    uint32_t block;
    uint64_t samples;  /* whose PC was here */
    double attributed; /* samples attributed to it */
    double visits;     /* executions in the bursts' unit */
    double cycles;     /* an execution; NAN where it isn't known */
    double error;      /* of cycles: relative standard error from samples and bursts; without the scale's */
    struct cs_schedule_step step; /* M and its parts */
    bool fused;                   /* one with its predecessor, which has its cycles */
    const struct cs_culprit_classification
        *classification; /* in cycles an execution; empty where there is no stall, never NULL */
};

struct cs_cycle_account_block {
    double visits, visits_error; /* error: of the logarithm */
    uint8_t confidence;          /* enum cs_confidence */
    double bursts;               /* that saw it run */
    double best, actual;         /* cycles a visit; NAN unknown */
    unsigned operations;         /* instructions, a fused pair counted as one */
    double attributed;           /* samples */
    bool on_path;                /* scheduled on a path that bursts saw close on itself */
    bool measured;               /* its static cycles are those of an experiment */
    uint8_t loop;                /* 1 + the one of `loops` that it is a block of; 0: none */
};

/* Figure 4. All in samples (fractions of them). */
struct cs_cycle_account_summary {
    double low[CS_N_CAUSES], high[CS_N_CAUSES], share[CS_N_CAUSES]; /* dynamic stalls by cause */
    double statics[CS_N_CAUSES];                                    /* static stalls by cause */
    double contended;               /* of share: chains through lines that other threads take */
    double sharing_in_doubt;        /* of share: sharing beyond the least that was measured */
    double split_accesses;          /* of share: split lines, as far as two accesses in place of one cost */
    double memory_low, memory_high; /* of D-cache and DTLB misses together */
    double unexplained;
    double gain; /* in no row: what M expects beyond the samples, where code ran faster than it says */
    double execution, total;
    double unattributed;               /* samples where neither frequency nor M is known */
    double best_cycles, actual_cycles; /* without and with dynamic stalls: for the best-case line */
    /* Of the blocks whose frequency and M are known, in cycles and executions: dcpi-1997 section 3.2's best-case and actual
     * CPI of a procedure, and of a program by their sums. */
    double instructions, instruction_cycles, instruction_best;
};

/* A hot loop without branches within, as it ran by itself, and without one thing. */
struct cs_cycle_account_loop {
    double cycles; /* a turn */
    bool whole;    /* all of its blocks are here */
    struct {
        enum cs_experiment_why why;
        double cycles; /* 0 but for DONE */
    } without[CS_N_EXPERIMENT_VARIANTS];
};
enum { CS_ACCOUNT_LOOPS_MAX = 4 };

struct cs_cycle_account {
    const struct cs_image_procedure *procedure;
    struct cs_cfg *cfg;
    struct cs_cycle_account_insn *insns; /* as cfg->insns */
    struct cs_cycle_account_block *blocks;
    struct cs_culprit_classification *classifications; /* those that aren't empty: two kilobytes each */
    uint64_t samples;
    struct cs_culprit_values values;
    double cycles_a_sample;
    double scale; /* executions of one visit */
    /* Bounds of a fitted scale: all time is M and nothing stalls; every suspect that was observed costs its
     * most. */
    double scale_low, scale_high;
    bool scale_fitted; /* else counted */
    double
        scale_timed; /* by timed intervals; 0 = none. What runs after a burst is warm: it bounds a fitted scale */
    double scale_model; /* a fitted scale by the sum alone */
    /* Where more would fit, but timed bursts allow no more: as many as they say. Else 0. */
    double scale_sure;
    bool frequencies;        /* from bursts; else all blocks are taken to run equally often */
    double operation_cycles; /* that an operation takes at least: 1 / the width of the model */
    size_t n_paths, n_generic;
    unsigned n_experiments[CS_N_EXPERIMENT_WHY]; /* hot loops that were to be run, by why they weren't */
    struct cs_cycle_account_loop loops[CS_ACCOUNT_LOOPS_MAX];
    unsigned n_loops;
    bool generic_core; /* no model of a real core spoke for any path */
    struct cs_cycle_account_summary summary;
};

/* How often an instruction ran, where somebody counted it. */
struct cs_cycle_account_count {
    uint64_t offset;
    double executions;
};

/* `known` NULL: nothing counted. */
int cs_cycle_account_open(struct cs_image_code *code, const struct cs_image_procedure *procedure,
                          const struct cs_culprit_evidence *evidence, struct cs_scheduler *scheduler,
                          const struct cs_cycle_account_count *known, struct cs_cycle_account **out,
                          struct cs_error *err);
/* Who opens many begins each: the scheduler is told what it will ask for; cs_scheduler_ahead_run after the last. Then
 * finishes each: an account as opened, but that what never ran isn't decoded. NULL for `begun`: it will be opened, from its
 * beginning. What is passed here outlives what is begun. */
struct cs_cycle_account_begun;
int cs_cycle_account_begin(struct cs_image_code *code, const struct cs_image_procedure *procedure,
                           const struct cs_culprit_evidence *evidence, struct cs_scheduler *scheduler,
                           struct cs_cycle_account_begun **begun, struct cs_error *err);
size_t cs_cycle_account_begun_bytes(const struct cs_cycle_account_begun *begun);
/* What is begun is no more, in any case. */
int cs_cycle_account_finish(struct cs_cycle_account_begun *begun, struct cs_cycle_account **out,
                            struct cs_error *err);
void cs_cycle_account_drop(struct cs_cycle_account_begun *begun);
/* Cycles of a turn of that loop in the program; NAN: not known. By a fitted scale where nothing timed it. `share`: of the
 * procedure's samples. */
double cs_cycle_account_turn(const struct cs_cycle_account *account, unsigned loop, double *share);
void cs_cycle_account_close(struct cs_cycle_account *account);
