/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All control transfers that a store has seen, of all images together, and how often each really happened.
 *
 * A burst begins in proportion to time, so raw counts overstate slow code. What is unbiased is where control
 * goes from a branch. So: each branch instruction is a state; a transfer to T leads to the next branch at or
 * after T (every branch that runs is recorded, also one that falls through), and the chain's stationary flow
 * is how often each transfer runs. It equals the true counts when the proportions at each branch do, whatever
 * the program remembers. Where bursts begin and end enters, too, with a smaller weight (transfers_ends.c):
 * regions between which few transfers were seen are to one another as their bursts are, which outnumber
 * these; regions that many link are as these say. RESEARCH: section 2 of the notes that came with the design;
 * the solver is analysis/frequency/markov_chain.h.
 *
 * What the chain can't know is how regions are to one another between which control goes seldom: their bursts
 * are in proportion to time. Where stretches were timed natively ("burst-paces") each burst has the weight of
 * the instructions that its place, or a long one that was timed itself, runs in a unit of time
 * (transfers_pace.c). And as bursts are few, those that begin in a piece of code stand together for the time
 * that its samples tell (transfers_strata.c), however long they are (transfers_weights.c).
 *
 * Paced bursts are some thirty times as long as others. They see phases end, and hide less behind the moment
 * at which they began; but their transfers from a branch are all of one phase where phases are long. Each
 * transfer of a burst counts by its length ("burst-beginnings"): 1 / (1 + instructions / 100,000).
 *
 * How sure: the same is solved again with bursts reweighted, by a random weight each (Bayesian bootstrap:
 * noise and clustering), and by one that bursts of the same place share (how well its rate of instructions
 * per time is known; not at all without paces): struct cs_transfer.replicate. Without per-burst edges
 * ("burst-windows") each edge varies by itself with the variance that its squares tell.
 *
 * Where neither bursts nor branch records tell anything, paths interpreted from samples do ("path-edges",
 * sampler/burst/paths.h). A path ends where a direction isn't known ("path-ends"); which way control goes from a
 * branch is then what the paths that know it say.
 *
 * Constant after cs_transfers_load. Some seconds for a hundred thousand transfers, the first time: solved
 * flows are kept beside the store (analysis/frequency/flow_cache.h). */
#ifndef CS_ANALYSIS_TRANSFERS_H
#define CS_ANALYSIS_TRANSFERS_H

#include "store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CS_REPLICATES 16

struct cs_transfer {
    uint32_t image, to_image; /* indexes in images */
    uint64_t from, to;
    double count, squares; /* as seen, summed over bursts */
    double bursts;
    double ends; /* paths that ended at `from`, its direction not known, and may have gone on to `to`;
                    from = to: to anywhere */
    double flow; /* estimated transfers, in the unit of `count` (same sum over all transfers) */
    float replicate[CS_REPLICATES]; /* the same from reweighted bursts */
};

struct cs_transfers {
    struct cs_transfer *list; /* ascending by image, from, to_image, to */
    uint32_t *by_to;          /* indexes of list, ascending by to_image, to */
    size_t n;
    char (*images)[CS_IMAGE_ID_MAX];
    uint32_t n_images;
    uint32_t n_bursts;           /* bursts known apart, 0 = none */
    bool from_paths;             /* nothing but paths interpreted from samples tells of them */
    double total_count;          /* of all transfers */
    double executions_a_flow_ns; /* executions = flow × this × user_ns; 0 where no stretch was timed */
    double user_ns;              /* sampled, outside the kernel */
};

enum cs_transfers_method {
    CS_TRANSFERS_CHAIN,   /* as above */
    CS_TRANSFERS_RAW,     /* flow = count: what bursts saw, biased by time */
    CS_TRANSFERS_PATHS,   /* as the first, from paths interpreted from samples alone; where there are none,
                             from the first 512 instructions of each burst: as short */
    CS_TRANSFERS_UNPACED, /* as the first, but every place taken to run as many instructions in a time */
    CS_TRANSFERS_NOISE, /* as the first, but replicates vary by the bursts that happened to be drawn alone */
};

/* A store without any gives an empty list. */
int cs_transfers_load(struct cs_store *store, enum cs_transfers_method method, struct cs_transfers **out,
                      struct cs_error *err);
/* The same, telling how many of its equations are solved; not called where they needn't be. */
int cs_transfers_load_telling(struct cs_store *store, enum cs_transfers_method method,
                              void (*tell)(unsigned done, unsigned total, void *arg), void *arg,
                              struct cs_transfers **out, struct cs_error *err);
/* For judging only: flow = count, but the bursts of each place (of the same hottest branch) have the weight
 * that fits the truth best (maximum likelihood): as if it were known how many instructions each place runs in
 * a unit of time. No replicates. `executions` tells how often a branch really ran, negative where it doesn't
 * know. Without bursts kept apart all weights are 1. */
int cs_transfers_load_fitted(struct cs_store *store,
                             double (*executions)(const char *image, uint64_t from, void *arg), void *arg,
                             struct cs_transfers **out, struct cs_error *err);
void cs_transfers_close(struct cs_transfers *transfers);
/* Place in by_to of the first transfer to that image at or after `to`. */
size_t cs_transfers_to(const struct cs_transfers *transfers, uint32_t image, uint64_t to);
/* Index of the image with that id, or UINT32_MAX. */
uint32_t cs_transfers_image(const struct cs_transfers *transfers, const char *id);

#endif
