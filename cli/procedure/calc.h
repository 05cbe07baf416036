/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reports of one procedure.
 *
 * Files of this module:
 *   calc             the subcommand calc
 *   kernel_time      what a function causes in the kernel
 *   subject          one function with its analysis, and the answer: of calc and explain
 *   experiments      which loops may be run by themselves, and what is said of them
 *   calc_listing     its blocks and instructions
 *   calc_summary     its table of causes, and where time went in words
 *   summary_compare  such tables of two recordings beside each other
 *   advice           what usually helps
 *   gain             how much of the time that saves
 *   verdict_words    what is said where the evidence is too thin
 *   sum              the subcommand sum
 *   finish_ahead     accounts finished on all CPUs
 *   sum_tables       what it adds up, and its tables
 *   list             the subcommand list
 *   executions       how often lines and instructions ran
 *   accesses         memory accesses that a recording's processor timed
 *   edges            the subcommand edges
 *   cfg              the subcommand cfg
 *   graph            pictures by graphviz's library
 *   analysed_image         what a store knows of one image
 *   accuracy         the subcommand accuracy
 *   accuracy_scores  its scores
 *
 * Parts of calc that sum shares: the table of figure 4, and where time went in words. */
#pragma once

#include "analysis/culprit/account/cycle_account.h"
#include "analysis/culprit/verdict.h"
#include "cli/output/output.h"

/* The model that --cpu names, else the machine's own; its answers are cached per image. */
int calc_scheduler(const struct parsed *args, enum cs_isa isa, const struct cs_machine *machine,
                   const char *image_id, struct cs_scheduler **out, struct cs_error *err);

/* For hot loops of what was recorded; NULL: none are run. That is so elsewhere than on the processor that was profiled, with
 * --no-experiments, --cpu, and where the machine has cores of two kinds. `machine`: of the recording, if `recorded`. */
struct cs_experiments *calc_experiments(const struct parsed *args, enum cs_isa isa,
                                        const struct cs_machine *machine, bool recorded);
/* How many loops were, in a sentence that goes on after the model's; where none was, why; "" where none was tried. And as JSON,
 * with why others weren't. */
const char *experiments_told(const struct cs_cycle_account *account, char *text, size_t size);
json_t *experiments_json(const struct cs_cycle_account *account);
/* Loops that were run without one thing. Of the cause's, or of what matters most: a sentence without its end, or "". */
const char *removed_told(const struct cs_cycle_account *account, enum cs_culprit_cause cause, char *text,
                         size_t size);
json_t *loops_json(const struct cs_cycle_account *account);

/* Adds `from` to `into`. */
void summary_add(struct cs_cycle_account_summary *into, const struct cs_cycle_account_summary *from);
/* dcpi-1997 figure 4: rows that add up to 100 %. */
void summary_print(struct output *out, const struct cs_cycle_account_summary *summary, bool all);
/* What two recordings' time was made of, and the difference, in ms of CPU time: dcpi-1997 section 3.3 has the fastest
 * run beside the slowest one. `ms`: of one sample; 0 = samples are compared. */
void summary_compare(struct output *out, const struct cs_cycle_account_summary *a, double ms_a,
                     const struct cs_cycle_account_summary *b, double ms_b);
/* Cycles an instruction, as sampled; *best: as the model has them at best. NAN: not known. */
double summary_cpi(const struct cs_cycle_account_summary *summary, double *best);
json_t *summary_json(const struct cs_cycle_account_summary *summary);

/* The cause that costs most in the procedure, and its worst place. Unexplained: the place alone. */
struct worst_cause {
    enum cs_culprit_cause cause;   /* CS_N_CAUSES = unexplained */
    uint64_t stalled, responsible; /* offsets */
    uint64_t other; /* of sharing: the other thread's instruction, 0: in no code of this image */
    double share;   /* of the procedure's samples */
    double low, high, heaviest;
    bool observed, overlaps, streams, conflicts, carried; /* as in struct cs_culprit_suspect */
    bool spread; /* share, low, high are the cause's in the whole procedure; the place is its worst */
    const char *reason;
};
struct worst_cause worst_cause(const struct cs_cycle_account *account);
/* "41.0 % of this procedure is stalled on the load at 0x11c0 (list.c:20): pointer chasing over 3.1 MB".
 */
void cause_sentence(const struct worst_cause *worst, struct cs_image_code *code, char *text, size_t size);
/* Why no cause is named: the model contradicts the samples; evidence is there, and tells none; several causes share the
 * time; too few bursts saw the code. */
enum verdict_lack { VERDICT_MISFIT, VERDICT_NONE, VERDICT_SEVERAL, VERDICT_THIN };
/* Where the verdict isn't carried: what is missing, and how to get it. `samples`: of the whole recording. */
enum verdict_lack verdict_sentence(const struct cs_culprit_verdict *verdict,
                                   const struct cs_culprit_evidence *evidence, double samples, char *text,
                                   size_t size);
json_t *verdict_json(const struct cs_culprit_verdict *verdict);
/* The verdict on an account of that code. Code of which there are no bursts on any machine is judged by its text, as
 * the report says. */
#define MISFIT_MAX 0.5 /* share of the samples that the model lacks: more, and it says nothing of the code */
struct cs_culprit_verdict procedure_verdict(const struct cs_cycle_account *account,
                                            struct cs_image_code *code);
/* Is it a lock that is tried over and over, because another thread has it? */
bool cause_spins(const struct worst_cause *worst, const struct cs_cycle_account *account);
/* What usually helps; NULL when there is nothing to say. */
const char *cause_advice(const struct worst_cause *worst, const struct cs_cycle_account *account);
/* What takes such time, too, and isn't observed: a sentence, or NULL. */
const char *verdict_unseen(const struct cs_culprit_verdict *verdict);
/* False or true sharing. What it costs depends on the processor and on how often the threads run at the same time: shares are
 * ranges, and there is no figure of what a change saves. */
bool cause_is_shared_line(const struct worst_cause *worst);
/* The share of the procedure's time that goes with the cause, if it is the right one (gain.c). likely: all of it in the
 * procedure, less what takes its place; of D-cache misses with those of the DTLB. least, most: a range that is right in some
 * nine of ten. */
struct cause_gain {
    double likely, least, most;
};
struct cause_gain cause_gain(const struct worst_cause *worst, const struct cs_cycle_account *account);
/* What was measured of it instead, where it was. */
void bound_gain(const struct cs_cycle_account *account, enum cs_culprit_cause cause, struct cause_gain *gain);

void listing_print(struct output *out, const struct cs_cycle_account *account, struct cs_image_code *code,
                   bool source, bool all);
json_t *blocks_json(const struct cs_cycle_account *account);
/* Of a large function only what ran or has samples, unless `all`; `left_out`: how many others. */
json_t *listing_json(const struct cs_cycle_account *account, struct cs_image_code *code, bool all,
                     uint32_t *left_out);
