/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The steps by which an account is made, each a file. Internal to account*.c.
 *
 *   account.c           decodes, counts samples, calls the steps in this order
 *   account_visits.c    blocks' and edges' visits
 *   account_charge.c    samples to the instructions that took the time
 *   account_paths.c     dynamic paths, and M on them
 *   account_judge.c     facts of each stall, scale, verdicts
 *   account_summary.c   figure 4 */
#ifndef CS_ANALYSIS_ACCOUNT_INSIDE_H
#define CS_ANALYSIS_ACCOUNT_INSIDE_H

#include "analysis/culprit/cycle_account.h"

struct accounting {
    struct cs_account *a;
    const struct cs_testimony *e;
    struct cs_scheduler *scheduler;
    double *edge_visits; /* by cfg edge */
    const struct cs_known_count *known;
    struct cs_memory_facts *memory; /* by instruction; only while account_judge runs */
};

int account_visits(struct accounting *x, struct cs_error *err);
void account_charge(struct accounting *x);
int account_paths(struct accounting *x, struct cs_error *err);
void account_judge(struct accounting *x);
void account_summary(struct cs_account *a);

/* The most visited edge into (out of) a block, CS_CFG_EXIT when there is none within the procedure. */
uint32_t account_likely_in(const struct accounting *x, uint32_t block);
uint32_t account_likely_out(const struct accounting *x, uint32_t block);

#endif
