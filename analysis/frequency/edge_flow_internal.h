/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by transfers.c and transfers_*.c only. */
#ifndef CS_ANALYSIS_TRANSFERS_PARTS_H
#define CS_ANALYSIS_TRANSFERS_PARTS_H

#include "analysis/frequency/markov_chain.h"
#include "analysis/frequency/edge_flow.h"

struct window_row {
    uint64_t burst; /* the store's number; 0…n_bursts-1 after loading */
    uint64_t from, to;
    uint32_t image, to_image, transfer;
    double count;
};

struct beginning {
    uint64_t burst; /* the store's number */
    uint64_t place; /* transfers_place of its beginning */
    uint64_t start; /* its first instruction */
    uint32_t image; /* of that; UINT32_MAX: none that transfers know */
    double instructions;
};

struct sampled { /* user time, by the clock that samples it */
    uint64_t offset;
    uint32_t image;
    double count;
};

struct windows {
    struct window_row *rows; /* ascending by burst */
    size_t n;
    uint64_t *number;             /* the store's, of each burst: ascending */
    struct beginning *beginnings; /* of the bursts, in any order; of some, or of none in an older store */
    size_t n_beginnings;
    struct sampled *samples;
    size_t n_samples;
};

/* Bursts by where they begin; `share`: of the time, in bursts. */
struct strata {
    uint32_t *of_burst;
    double *share;
    uint32_t n; /* 0: no samples, nothing to go by */
};

struct pace_row {
    uint64_t place, burst; /* of its burst; burst: the store's number */
    double ns, instructions;
    bool first;   /* from the thread's release on */
    uint64_t own; /* its own place */
};

struct paces {
    struct pace_row *rows;
    size_t n;
};

/* How fast a place runs, as its bursts' weight: instructions per time over the mean of all bursts. */
struct place_rate {
    double weight, spread; /* spread: standard deviation of the weight's log */
};

/* Of one place are bursts and stretches whose most executed branch is the same. */
uint64_t transfers_place(uint32_t image, uint64_t offset);

/* Transfers as seen, in order; *windows stands for what transfers_read_windows would read. `paths`: what
 * paths from samples say, or the beginnings of bursts alone. */
int transfers_read(struct cs_store *store, bool paths, struct cs_transfers *t, uint64_t *windows,
                   struct cs_error *err);
/* The same burst by burst, tied to the list, and how long each burst was; counts t->n_bursts. */
int transfers_read_windows(struct cs_store *store, struct cs_transfers *t, struct windows *w,
                           struct cs_error *err);
/* Paths by the branch that they came to first, in place of bursts ("path-windows"); samples: how many began
 * at each ("path-starts"). */
struct path_groups {
    struct windows rows;
    uint32_t n;
};
int transfers_read_groups(struct cs_store *store, struct cs_transfers *t, struct path_groups *groups,
                          struct cs_error *err);
void transfers_windows_fini(struct windows *w);
/* Stretches timed natively ("burst-paces"), in any order. */
int transfers_read_paces(struct cs_store *store, struct cs_transfers *t, struct paces *paces,
                         struct cs_error *err);
/* Rates of the places of bursts (place[0…n-1]) into rate[0…n-1], and their mean in instructions per ns.
 * Without any stretch weight 1, `unknown` as spread and mean 0. Orders the rows and drops those that tell
 * nothing. */
int transfers_rate(struct paces *paces, const uint64_t *place, size_t n, double unknown,
                   struct place_rate *rate, double *mean);
int transfers_compare(const struct cs_transfer *x, const struct cs_transfer *y);
/* Its index of a burst's, or group's, number in the store; UINT32_MAX: none of them. */
uint32_t transfers_burst_of(const struct windows *w, uint32_t n_bursts, uint64_t number);
/* The first transfer of `image` whose source is at or after `offset`, or SIZE_MAX. */
size_t transfers_next_branch(const struct cs_transfers *t, uint32_t image, uint64_t offset);

/* beginning[b]: of burst b; NULL: unknown. 0, or -1 without memory. */
int transfers_stratify(const struct beginning *const *beginning, uint32_t n, const struct windows *w,
                       struct strata *strata);
/* Scales the bursts' weights so that each stratum's add up to its share. `sums`: room for strata->n. */
void transfers_strata_weigh(const struct strata *strata, double *weight, uint32_t n, double *sums);
void transfers_strata_fini(struct strata *strata);

/* How much the transfers of each burst count (transfers_weights.c). */
struct burst_weights {
    uint32_t n;
    double *weight;    /* of a transfer, 1 in the mean: as last set */
    double *share;     /* of what it tells for its length: of a long burst's transfers less */
    double *length;    /* in instructions */
    double *transfers; /* seen */
    uint64_t *place;
    struct place_rate *rate;
    const struct beginning **beginning; /* in the windows; NULL: unknown */
    struct strata strata;
    double *strata_sums;
    double mean_rate; /* instructions per ns, 0 = unknown */
};
/* 0, or -ENOMEM; to be closed in either case. Orders the windows' beginnings and the paces. */
int transfers_weights_open(struct burst_weights *bursts, const struct cs_transfers *t, struct windows *w,
                           struct paces *paces);
void transfers_weights_even(struct burst_weights *bursts); /* those of the estimate */
/* Random ones, of a replicate: by the bursts that were drawn, and unless `known_bias` by what their places'
 * rates aren't known to. */
void transfers_weights_draw(struct burst_weights *bursts, uint64_t *random, unsigned round, bool known_bias);
double transfers_weights_scale(const struct burst_weights *bursts); /* transfers per ns; 0: unknown */
/* Numbers the places; writes the number of each burst's and returns how many there are, or -ENOMEM. */
int64_t transfers_number_places(const struct burst_weights *bursts, uint32_t *of_burst);
void transfers_weights_fini(struct burst_weights *bursts);
double transfers_normal(uint64_t *random); /* standard normal; the state advances */

/* The states in which bursts began and ended (transfers_ends.c), 0 where that isn't known; from, to: of each
 * transfer. Before: start[b] is the state of burst b's first instruction, or 0. 0, or -ENOMEM. */
int transfers_find_ends(const struct windows *w, const uint32_t *from, const uint32_t *to, uint32_t n_states,
                        uint32_t *start, uint32_t *end);

/* The chain of transfers.c: states of each transfer, then 0 → k, k → 0 of each state from 1 on. */
struct path_chain {
    struct cs_chain *chain;
    const uint32_t *from, *to;
    uint32_t n_states;
};
/* Flows and replicates of the list from paths alone (transfers_paths.c). 0, or -ENOMEM. */
int transfers_solve_paths(struct cs_transfers *t, const struct path_groups *groups,
                          const struct path_chain *chain);

/* Maximum-likelihood weights of places (transfers_fit.c): row i: place row_place[i] counted row_count[i] of
 * state row_state[i]; truth by state, negative = unknown. Writes weight[place], whose mean over counts is 1.
 */
int transfers_fit(const uint32_t *row_place, const uint32_t *row_state, const double *row_count,
                  size_t n_rows, const double *truth, uint32_t n_states, double *weight, uint32_t n_places);

#endif
