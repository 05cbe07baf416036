/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All that a store knows of one image for the culprit analysis: samples, edges, what memory instructions
 * touched, how predictable branches were, lines of code, counted events, and the machine that it ran on.
 * Merged over epochs; constant after opening. One owner. Depends on store/, edgeprofile.h, culprit.h. */
#ifndef CS_ANALYSIS_TESTIMONY_H
#define CS_ANALYSIS_TESTIMONY_H

#include "analysis/culprit/culprit.h"
#include "analysis/cfg/edge_profile.h"
#include "analysis/frequency/edge_flow.h"
#include "store/store.h"

struct cs_testimony {
    struct cs_table *points; /* of the time event */
    struct cs_table *memory, *branches, *lines, *footprints;
    struct cs_table *events[CS_N_CAUSES]; /* counted events that bound a cause, NULL = not counted */
    double event_period[CS_N_CAUSES];     /* events a sample */
    const struct cs_transfers *transfers; /* not ours */
    uint32_t image;                       /* in transfers, UINT32_MAX = it has none */
    struct cs_edge_profile *edges;
    uint64_t *sample_offset; /* ascending, as cs_frequency_estimate takes them */
    double *sample_count;
    size_t n_samples;
    struct cs_machine machine;
    bool machine_recorded;         /* from the epoch's meta; else detected here */
    bool bursts;                   /* of this image */
    char event[64];                /* the time event: "cycles", "cpu-clock" */
    double cycles_a_sample;        /* core cycles */
    double code_bytes, code_pages; /* that bursts saw run, 0 = none */
    uint64_t samples;
};

/* `transfers` must outlive it. `event` NULL: cycles when there are any, else cpu-clock. An image without
 * samples is no error. */
int cs_testimony_open(struct cs_store *store, const struct cs_transfers *transfers, const char *image_id,
                      const char *event, struct cs_testimony **out, struct cs_error *err);
void cs_testimony_close(struct cs_testimony *evidence);

/* The machine of the store's newest epoch that says it; detected and, for what is missing, measured here
 * otherwise. */
int cs_testimony_machine(struct cs_store *store, struct cs_machine *out, bool *recorded,
                         struct cs_error *err);

uint64_t cs_testimony_samples(const struct cs_testimony *evidence, uint64_t offset);
/* Facts of the instruction at `offset`; `seen` false when bursts never ran it. */
struct cs_memory_facts cs_testimony_memory(const struct cs_testimony *evidence, uint64_t offset);
struct cs_branch_facts cs_testimony_branch(const struct cs_testimony *evidence, uint64_t offset);
struct cs_fetch_facts cs_testimony_fetch(const struct cs_testimony *evidence, uint64_t offset);
/* Counted events of a cause at `offset`; negative when that event was not counted. */
double cs_testimony_events(const struct cs_testimony *evidence, enum cs_cause cause, uint64_t offset);

/* Pure: how many lines there are if `executions` random ones a burst hit `distinct` different ones; 0 = too
 * few repeats to tell. */
double cs_testimony_population(double executions, double distinct);

/* Pure: how many there are if `draws` (distinct within its burst) of `bursts` bursts, equally many in each,
 * met the same `meetings` times in two bursts; 0 = too few meetings to tell, then there are more than
 * *at_least. */
double cs_testimony_meetings(double draws, double bursts, double meetings, double *at_least);

#endif
