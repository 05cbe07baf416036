/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What each run of two stores used: the samples by function (cli/compare/runs.h), what was counted (cli/record/record_exact.h),
 * and the waits. */
#pragma once

#include "analysis/waits/wait_changes.h"
#include "cli/compare/comparison.h"
#include "cli/gate/turns/timed.h"
#include "cli/gate/verdict/verdict.h"
#include "cli/gate/wait_kinds.h"

enum gate_count {
    GATE_CPU,     /* ns */
    GATE_ELAPSED, /* ns */
    GATE_FAULTS,
    GATE_SYSTEM_CALLS,
    GATE_INSTRUCTIONS,
    GATE_COUNTS
};

struct gate_evidence {
    struct runs functions;
    struct comparison comparison;        /* of functions */
    struct gate_run *count[GATE_COUNTS]; /* by run, as functions.run; a value that wasn't counted is NAN */
    struct cs_wait_changes waits;        /* by run too, where `waited` */
    double *off_cpu_ns; /* by run: all threads' waits but those for a CPU, idle ones too; exact */
    double *
        alone; /* by run: the share of its time that it would take without others' load: they keep all threads from running */
    size_t threads;               /* of the run that has most */
    struct gate_wait_kinds kinds; /* where `waited` */
    double *
        only_child_ns; /* by run: what the first process waited for its only child; out of off_cpu_ns where all runs have it */
    bool one_child;          /* that is nearly all that runs waited for children: such a wait has no row */
    bool waited;             /* all runs recorded their waits */
    struct gate_timed timed; /* runs that nothing recorded */
    bool cpu_is_sampled;     /* GATE_CPU is the samples' periods, for want of counts */
};

/* 0, or negative errno with its sentence. Closed in both cases. */
int gate_evidence_open(struct gate_evidence *evidence, const struct gate *gate, struct cs_error *err);
void gate_evidence_close(struct gate_evidence *evidence);
/* Takes waits for an only child out of off_cpu_ns and kinds: in all runs or in none, else a run would differ by as much as it
 * took. Done when evidence is opened. */
void gate_leave_out_only_children(struct gate_evidence *evidence);
/* The runs of a side, as runs_add: its store's, or of two builds those that count. */
int gate_runs_add(struct runs *runs, const struct gate *gate, unsigned side, const char *event,
                  enum profile_by by, struct cs_error *err);
/* What waits are a share of: the base's elapsed time, without what others' load made of it. A lone thread has one; of several, a
 * sibling waits as much longer as they run later. */
double gate_whole(const struct gate_evidence *evidence);
/* Time of threads in a run that waited for something else than a CPU or work. */
double gate_waited_in(const struct gate_evidence *evidence, size_t run);
