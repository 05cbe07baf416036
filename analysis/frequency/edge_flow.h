/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every edge (control going from a branch to its target) that a store has seen, of all images together, and how often
 * it really ran.
 *
 * Example: a program spends nine tenths of its time in a slow loop and one in a fast one, which turns ten times
 * as often. Bursts begin in proportion to time, so raw counts overstate the slow loop. Not biased is where
 * control goes from a branch.
 *
 * So each branch instruction is a state of a Markov chain. An edge to T leads to the first branch at or after
 * T, because every branch that runs is recorded, also one that falls through. The chain's stationary flow is
 * how often each edge runs (markov_chain.h). It equals the true counts when the proportions at each branch do.
 * Burst entries and exits enter with a smaller weight (burst_boundaries.c). Regions that few edges link keep
 * the ratio of their bursts, regions that many link follow these edges.
 *
 * The chain can't know how such weakly linked regions are to one another: their bursts are in proportion to
 * time. Where intervals of native run were timed ("burst-paces"), each burst has a weight. It is the number
 * of instructions that its hot-branch group runs in a unit of time (instruction_rates.c). Bursts are few and
 * samples many, so bursts that begin in one piece of code stand together for its samples' time (strata.c).
 *
 * A timed burst is some thirty times as long as another. Its edges from a branch may all be of one phase of the
 * program, so each counts 1 / (1 + instructions / 200,000) (burst_weights.c).
 *
 * How sure: everything is solved again for bursts with random weights (Bayesian bootstrap, Rubin 1981). Each
 * group gets a random factor, too, as uncertain as its instruction rate is: `cs_counted_edge.replicate`. Without
 * per-burst edges ("burst-windows") each edge varies by itself, with the variance that its squares tell.
 *
 * Where neither bursts nor branch records tell anything, paths interpreted from samples do ("path-edges",
 * path_flow.c).
 *
 * Constant after loading. Half a second for a hundred thousand edges the first time; flow_cache.h keeps the
 * answer. */
#pragma once

#include "store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CS_EDGE_FLOW_REPLICATES 16

struct cs_counted_edge {
    uint32_t image, to_image; /* indexes in images */
    uint64_t from, to;
    double count, squares; /* as seen, summed over bursts */
    double bursts;
    double ends; /* paths that ended at `from`, its direction not known, and may have gone on to `to`;
                    from = to: to anywhere */
    double flow; /* estimated edges, in the unit of `count` (same sum over all edges) */
    float replicate[CS_EDGE_FLOW_REPLICATES]; /* the same from reweighted bursts */
};

struct cs_edge_flow {
    struct cs_counted_edge *list; /* ascending by image, from, to_image, to */
    uint32_t *by_to;              /* indexes of list, ascending by to_image, to */
    size_t n;
    char (*images)[CS_IMAGE_ID_MAX];
    uint32_t n_images;
    uint32_t n_bursts;           /* bursts known apart, 0 = none */
    uint32_t n_timed;            /* of them with an interval that was timed and not disturbed */
    bool from_paths;             /* nothing but paths interpreted from samples tells of them */
    double total_count;          /* of all edges */
    double executions_a_flow_ns; /* executions = flow × this × user_ns; 0 where no interval was timed */
    double user_ns;              /* sampled, outside the kernel */
};

enum cs_edge_flow_method {
    CS_EDGE_FLOW_CHAIN,   /* as above */
    CS_EDGE_FLOW_RAW,     /* flow = count: what bursts saw, biased by time */
    CS_EDGE_FLOW_PATHS,   /* as the first, from paths interpreted from samples alone; where there are none,
                             from the first 512 instructions of each burst: as short */
    CS_EDGE_FLOW_UNTIMED, /* as the first, but every group taken to run as many instructions in a time */
    CS_EDGE_FLOW_NOISE, /* as the first, but replicates vary by the bursts that happened to be drawn alone */
};

/* A store without any gives an empty list. */
int cs_edge_flow_load(struct cs_store *store, enum cs_edge_flow_method method, struct cs_edge_flow **out,
                      struct cs_error *err);
/* The same, telling how many of its equations are solved; not called where they needn't be. */
int cs_edge_flow_load_reporting(struct cs_store *store, enum cs_edge_flow_method method,
                                void (*report)(unsigned done, unsigned total, void *arg), void *arg,
                                struct cs_edge_flow **out, struct cs_error *err);
/* What the bursts of each hot-branch group saw: row i is count[i] executions of branch[i] in group[i]. */
struct cs_group_counts {
    const uint32_t *group, *branch;
    const double *count;
    size_t n;
    uint32_t n_groups, n_branches; /* branch 0 is outside */
};
/* Writes weight[0…n_groups-1]; branch_of: of each edge of the flow. 0 or -ENOMEM. */
typedef int cs_group_weigher(const struct cs_edge_flow *flow, const uint32_t *branch_of,
                             const struct cs_group_counts *counts, double *weight, void *arg);
/* For who knows how much each group ran (analysis/validation/oracle_fit.h): flow = count, a group's bursts
 * weighted so. No replicates. Without bursts kept apart all weights are 1. */
int cs_edge_flow_load_weighted(struct cs_store *store, cs_group_weigher *weigher, void *arg,
                               struct cs_edge_flow **out, struct cs_error *err);

void cs_edge_flow_close(struct cs_edge_flow *flow);
/* How many bursts saw the first branch of the image at or after `offset`: at least, where its ways were taken in
 * different ones. */
double cs_edge_flow_bursts(const struct cs_edge_flow *flow, uint32_t image, uint64_t offset);
/* Place in by_to of the first edge to that image at or after `to`. */
size_t cs_edge_flow_to(const struct cs_edge_flow *flow, uint32_t image, uint64_t to);
/* Index of the image with that id, or UINT32_MAX. */
uint32_t cs_edge_flow_image(const struct cs_edge_flow *flow, const char *id);
