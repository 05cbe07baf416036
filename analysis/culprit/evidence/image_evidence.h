/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a store has about one image for the culprit analysis: samples and edges, memory accesses, predictability
 * of branches, lines of code, counts, the machine. Added up over epochs; constant after opening: threads may
 * read it.
 *
 * Files of this module:
 *   image_evidence  what a store tells of one image
 *   evidence_model  constants of these alone
 *   footprints      lines and pages that bursts drew
 *   sharing         lines that threads take from each other
 *   working_set     how much memory code goes over */
#pragma once

#include "analysis/culprit/classify/culprit.h"
#include "analysis/experiment/experiment.h"
#include "analysis/frequency/evidence.h"
#include "store/store.h"

/* What bursts saw of values, over all images. Older recordings didn't look. */
struct cs_culprit_values {
    uint64_t looked, denormal; /* bursts; those whose arithmetic met denormal numbers */
};
/* Did enough of those `bursts` that saw some code meet denormal numbers for these to be its own? A burst says that some arithmetic
 * met them, not which. */
bool cs_culprit_met_denormals(const struct cs_culprit_values *values, double bursts);
int cs_culprit_values(struct cs_store *store, struct cs_culprit_values *out, struct cs_error *err);

struct cs_culprit_evidence {
    struct cs_culprit_values values;   /* set by who asks: it is the same for all images of a store */
    struct cs_frequency_evidence flow; /* samples of the time event, edges */
    struct cs_table *memory, *crowded, *branches, *lines, *footprints, *sharing, *page_sizes;
    struct cs_culprit_counted {
        struct cs_table *table; /* samples; NULL = not counted */
        double period;          /* events a sample, those that weren't counted for want of a counter too */
        bool precise;           /* (counted.h) */
        bool exact;             /* each event is a sample */
        char event[64];
        unsigned rank;
    } events[CS_N_COUNTED];
    struct cs_machine machine;
    bool machine_recorded;         /* from the epoch's meta; else detected here */
    bool bursts;                   /* of this image */
    char event[64];                /* the time event: "cycles", "cpu-clock" */
    double cycles_a_sample;        /* core cycles */
    double code_bytes, code_pages; /* that bursts saw run, 0 = none */
    double burst_rate_hz;          /* that was asked for when the newest epoch was recorded; 0: none */
    double path_samples;           /* set by who asks about many procedures: paths with fewer are scheduled
                                      roughly (CS_MODEL_PATH_SHARE) */
    struct cs_experiments *experiments; /* set by who asks: hot paths are run; NULL: none is */
};

/* `flow` must outlive it. `event` NULL: the best time event that was sampled (cs_culprit_time_event). An
 * image without samples is no error. */
int cs_culprit_evidence_open(struct cs_store *store, const struct cs_edge_flow *flow, const char *image_id,
                             const char *event, struct cs_culprit_evidence **out, struct cs_error *err);
void cs_culprit_evidence_close(struct cs_culprit_evidence *evidence);

/* The machine of the store's newest epoch that says it; otherwise this one, measured now or within the last
 * hour (cs_machine_recall). */
int cs_culprit_evidence_machine(struct cs_store *store, struct cs_machine *out, bool *recorded,
                                struct cs_error *err);

/* How well an event tells where time goes: 3 core cycles, 2 the CPU's clock, 1 the task's clock, 0 it doesn't.
 * Modifiers (cycles:u), units (cpu_core/cycles/) and the kernel's other names (cpu-cycles) count as the plain one. */
int cs_culprit_time_event(const char *name);

uint64_t cs_culprit_evidence_samples(const struct cs_culprit_evidence *evidence, uint64_t offset);
/* Facts of the instruction at `offset`; `seen` false when bursts never ran it. */
struct cs_culprit_memory cs_culprit_evidence_memory(const struct cs_culprit_evidence *evidence,
                                                    uint64_t offset);
struct cs_culprit_branch cs_culprit_evidence_branch(const struct cs_culprit_evidence *evidence,
                                                    uint64_t offset);
/* Of all returns to `offset`; `*from`: the one of this image that mostly leads there, 0 = none. */
struct cs_culprit_branch cs_culprit_evidence_returns(const struct cs_culprit_evidence *evidence,
                                                     uint64_t offset, uint64_t *from);
struct cs_culprit_fetch cs_culprit_evidence_fetch(const struct cs_culprit_evidence *evidence,
                                                  uint64_t offset);
/* Samples of a counted event at `offset`. */
double cs_culprit_evidence_events(const struct cs_culprit_evidence *evidence, enum cs_counted kind,
                                  uint64_t offset);
double cs_culprit_evidence_events_between(const struct cs_culprit_evidence *evidence, enum cs_counted kind,
                                          uint64_t start, uint64_t end);

/* Pure: how many lines there are if `executions` random ones a burst hit `distinct` different ones; 0 = too
 * few repeats to tell. */
double cs_culprit_evidence_population(double executions, double distinct);

/* Pure: how many there are if `draws` (distinct within its burst) of `bursts` bursts, equally many in each,
 * met the same `meetings` times in two bursts; 0 = too few meetings to tell, then there are more than
 * *at_least. */
double cs_culprit_evidence_meetings(double draws, double bursts, double meetings, double *at_least);
