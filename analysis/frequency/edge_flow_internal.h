/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of this module share: bursts as they were loaded, their weights, their groups.
 *
 * A hot-branch group is all bursts (or timed intervals) whose most executed branch is the same. */
#pragma once

#include "analysis/frequency/edge_flow.h"
#include "analysis/frequency/markov_chain.h"
#include "store/base/random.h"

struct burst_edge {
    uint32_t burst; /* 0…n_bursts-1, after loading */
    uint32_t edge;  /* of the list */
    double count;
};

/* Rows of one burst as they were read, one after the other. */
struct burst_run {
    uint64_t burst; /* the store's number */
    size_t first, n;
};

struct burst_entry {
    uint64_t burst; /* the store's number */
    uint64_t group; /* hot_branch_group of its entry */
    uint64_t start; /* its first instruction */
    uint32_t image; /* of that; UINT32_MAX: none that edges know */
    double instructions;
};

struct sampled_time { /* user time, by the clock that samples it */
    uint64_t offset;
    uint32_t image;
    double count;
};

struct burst_edges {
    struct burst_edge *rows; /* ascending by burst */
    size_t n;
    struct burst_run *runs; /* while loading */
    size_t n_runs;
    uint64_t *number;            /* the store's, of each burst: ascending */
    struct burst_entry *entries; /* of the bursts, in any order; of some, or of none in an older store */
    size_t n_entries;
    struct sampled_time *samples;
    size_t n_samples;
};

/* Bursts by where they begin; `share`: of the time, in bursts. */
struct strata {
    uint32_t *of_burst;
    double *share;
    uint32_t n; /* 0: no samples, nothing to go by */
};

struct timed_interval {
    uint64_t group, burst; /* of its burst; burst: the store's number */
    double ns, instructions;
    bool first;   /* from the thread's release on */
    uint64_t own; /* its own group */
};

struct timed_intervals {
    struct timed_interval *rows;
    size_t n;
};

/* How fast a group runs, as its bursts' weight: instructions per time over the mean of all bursts. */
struct group_rate {
    double weight, spread; /* spread: standard deviation of the weight's log */
};

/* Of one group are bursts and intervals whose most executed branch is the same. */
uint64_t hot_branch_group(uint32_t image, uint64_t offset);

/* Edges as seen, in order; *bursts stands for what edge_flow_read_bursts would read. `paths`: what
 * paths from samples say, or the entries of bursts alone. */
int edge_flow_read(struct cs_store *store, bool paths, struct cs_edge_flow *t, uint64_t *bursts,
                   struct cs_error *err);
/* The same burst by burst, tied to the list, and how long each burst was; counts t->n_bursts. */
int edge_flow_read_bursts(struct cs_store *store, struct cs_edge_flow *t, struct burst_edges *w,
                          struct cs_error *err);
/* Paths by the branch that they came to first, in place of bursts ("path-windows"); samples: how many began
 * at each ("path-starts"). */
struct path_groups {
    struct burst_edges rows;
    uint32_t n;
};
int edge_flow_read_path_groups(struct cs_store *store, struct cs_edge_flow *t, struct path_groups *groups,
                               struct cs_error *err);
void burst_edges_fini(struct burst_edges *w);
/* Intervals timed natively ("burst-paces"), in any order. */
int edge_flow_read_intervals(struct cs_store *store, struct cs_edge_flow *t,
                             struct timed_intervals *intervals, struct cs_error *err);
/* Rates of the groups of bursts (group[0…n-1]) into rate[0…n-1], and their mean in instructions per ns.
 * Without any interval weight 1, `unknown` as spread and mean 0. Orders the rows and drops those that tell
 * nothing. */
int group_rates(struct timed_intervals *intervals, const uint64_t *group, size_t n, double unknown,
                struct group_rate *rate, double *mean);
/* Orders the list by source and adds up what is equal; orders by_to (0 or -ENOMEM). */
void edge_list_merge(struct cs_edge_flow *t);
int edge_list_order_targets(struct cs_edge_flow *t);
/* Finds edges of a list that doesn't change meanwhile. */
struct edge_finder {
    const struct cs_edge_flow *t;
    uint32_t *slots, mask; /* 1 + index, 0: free */
};
int edge_finder_init(struct edge_finder *finder, const struct cs_edge_flow *t); /* 0 or -ENOMEM */
/* The index of each of n keys; UINT32_MAX: no such edge. */
void edge_finder_find(const struct edge_finder *finder, const struct cs_counted_edge *keys, size_t n,
                      uint32_t *found);
void edge_finder_fini(struct edge_finder *finder);
/* Runs to rows in the order of their bursts, which get small numbers. 0 or -ENOMEM. */
int edge_list_order_bursts(struct burst_edges *w, uint32_t *n_bursts);
/* Its index of a burst's, or group's, number in the store; UINT32_MAX: none of them. */
uint32_t burst_edges_index(const struct burst_edges *w, uint32_t n_bursts, uint64_t number);
/* The first edge of `image` whose source is at or after `offset`, or SIZE_MAX. */
size_t edge_flow_next_branch(const struct cs_edge_flow *t, uint32_t image, uint64_t offset);

/* entry[b]: of burst b; NULL: unknown. 0, or -1 without memory. */
int strata_open(const struct burst_entry *const *entry, uint32_t n, const struct burst_edges *w,
                struct strata *strata);
/* Scales the bursts' weights so that each stratum's add up to its share. `sums`: room for strata->n. */
void strata_weigh(const struct strata *strata, double *weight, uint32_t n, double *sums);
void strata_fini(struct strata *strata);

/* How much the edges of each burst count (burst_weights.c). */
struct burst_weights {
    uint32_t n;
    double *weight; /* of an edge, 1 in the mean: as last set */
    double *share;  /* of what it tells for its length: of a long burst's edges less */
    double *length; /* in instructions */
    double *edges;  /* seen */
    uint64_t *group;
    struct group_rate *rate;
    float (*common)[CS_EDGE_FLOW_REPLICATES]; /* of each replicate: of variance 1, as alike in two bursts as
                                                 what they ran */
    const struct burst_entry **entry;         /* among the bursts'; NULL: unknown */
    struct strata strata;
    double *strata_sums;
    double mean_rate; /* instructions per ns, 0 = unknown */
    uint32_t n_timed; /* bursts with a rate of their own */
};
/* 0, or -ENOMEM; to be closed in either case. Orders the bursts' entries and the intervals. */
int burst_weights_open(struct burst_weights *bursts, const struct cs_edge_flow *t, struct burst_edges *w,
                       struct timed_intervals *intervals);
void burst_weights_even(struct burst_weights *bursts); /* those of the estimate */
/* Random ones, of a replicate: by the bursts that were drawn, and unless `known_bias` by what their groups'
 * rates aren't known to. */
void burst_weights_draw(struct burst_weights *bursts, struct cs_random *random, unsigned round,
                        bool known_bias);
double burst_weights_scale(const struct burst_weights *bursts); /* edges per ns; 0: unknown */
/* Numbers the groups; writes the number of each burst's and returns how many there are, or -ENOMEM. */
int64_t burst_weights_number_groups(const struct burst_weights *bursts, uint32_t *of_burst);
void burst_weights_fini(struct burst_weights *bursts);
double burst_weights_normal(struct cs_random *random); /* standard normal; the state advances */

/* The states in which bursts began and ended (burst_boundaries.c), 0 where that isn't known; from, to: of each
 * edge. Before: start[b] is the state of burst b's first instruction, or 0. 0, or -ENOMEM. */
int burst_boundaries_find(const struct burst_edges *w, const uint32_t *from, const uint32_t *to,
                          uint32_t n_states, uint32_t *start, uint32_t *end);

/* The chain of edge_flow.c: states of each edge, then 0 → k, k → 0 of each state from 1 on. */
struct path_chain {
    struct cs_markov *chain;
    const uint32_t *from, *to;
    uint32_t n_states;
};
/* Flows and replicates of the list from paths alone (path_flow.c). 0, or -ENOMEM. */
int path_flow_solve(struct cs_edge_flow *t, const struct path_groups *groups, const struct path_chain *chain);
