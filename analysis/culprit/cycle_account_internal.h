/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The steps of cycle accounting, a file each, in the order in which cycle_account.c calls them. */
#pragma once

#include "analysis/culprit/cycle_account.h"

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
int account_paths(struct accounting *x, struct cs_error *err);
int account_paths_ahead(struct accounting *x, struct cs_error *err); /* in place of it, and of what follows */
void account_stalls(struct accounting *x);
void account_memory_facts(const struct accounting *x);
void account_stall_facts(const struct accounting *x, uint32_t i, struct cs_culprit_stall *s);
void account_memory_chains(const struct accounting *x, struct cs_culprit_stall *const *stalls);
void account_event_rates(const struct accounting *x, struct cs_culprit_stall *const *stalls);
/* Are its cycles known: did it run, and has it an M? */
bool account_has(const struct cs_cycle_account *a, const struct cs_cycle_account_insn *insn);
/* Executions of a visit, and between what bounds: before the stalls have cycles. */
void account_scale(const struct accounting *x, struct cs_culprit_stall *const *stalls);
/* Blocks that mostly follow each other are one run: by block, for account_run_of; NULL: no memory. To be freed. */
uint32_t *account_runs(const struct accounting *x);
uint32_t account_run_of(uint32_t *runs, uint32_t block);
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
