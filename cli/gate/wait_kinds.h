/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a run's threads waited, by kind, in sum: known without sampling. A longer sleep is lost in the sum of all kinds where
 * siblings' waits vary from run to run; by itself it isn't.
 *
 * A kind grew if chance rarely makes its growth, by its mean or by ranks (verdict/ranks.h). Each has half of the level, and
 * all kinds share it. Ranks find a wait that most runs of the base don't have. */
#pragma once

#include "analysis/waits/wait_changes.h"
#include "cli/gate/verdict/estimate.h"

#define GATE_WAIT_KINDS_MAX 64
#define GATE_ONE_CHILD 0.95 /* of its waits for children a process waited for one */

struct gate_wait_kind {
    char kind[32];
    double *ns;                         /* by run, idle ones too */
    struct gate_estimate estimate;      /* of what isn't idle, as a share of the whole */
    double base_ns, head_ns, growth_ns; /* a run, of what isn't idle */
    bool grew, shrank;
    bool by_ranks; /* it grew by ranks; the mean alone can't tell */
};

struct gate_wait_kinds {
    struct gate_wait_kind at[GATE_WAIT_KINDS_MAX];
    size_t n;
};

/* The kind that a wait is judged as. Its chain says which lock it is, and a run of few waits keeps no chain: then it is "lock".
 * So mutexes are judged with them, else a run has one kind or the other by chance. */
const char *gate_wait_kind_of(const char *what);
/* What a run's first process waited for another one that lived nearly as long, as `sh -c` does, in ns. That one's time is judged
 * itself, so this wait says nothing. Children one after the other don't live as long, and that wait counts: the same children
 * may have run at the same time. 0: it isn't so, or the first process has other threads. */
uint64_t gate_wait_for_only_child_ns(const struct cs_wait_groups *run);
/* Of run `r` of `n_runs`. Kinds beyond the most have no sum of their own. -ENOMEM. */
int gate_wait_kinds_add(struct gate_wait_kinds *kinds, size_t r, size_t n_runs,
                        const struct cs_wait_groups *run);
/* Takes `ns` of each run off a kind. True: in each run that is GATE_ONE_CHILD of it or more. */
bool gate_wait_kinds_take_off(struct gate_wait_kinds *kinds, const char *what, const double *ns,
                              size_t n_runs);
/* After the last run: which grew for sure, and which may have shrunk. `run` has side and time of each run. `least`: share of the
 * whole; by ranks alone a smaller change is none. -ENOMEM. */
int gate_wait_kinds_end(struct gate_wait_kinds *kinds, const struct gate_run *run, size_t n_runs,
                        const struct cs_wait_changes *waits, double whole_ns, double least);
/* Share of the whole by which kinds grew, less what others may have shrunk by. */
double gate_wait_kinds_net(const struct gate_wait_kinds *kinds);
/* Of those that grew the one to blame: a sleep by more than `least`, for others may have waited for the sleeper; else the
 * one that grew most. NULL: none grew. */
const struct gate_wait_kind *gate_wait_kinds_first(const struct gate_wait_kinds *kinds, double least);
void gate_wait_kinds_fini(struct gate_wait_kinds *kinds);
