/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Why a program is slow whose time is spread over many functions, none of which has enough samples. What costs it may still be
 * a property of the whole: its code doesn't fit the caches, or its data. So the program is taken as one function. Bursts say
 * what a mean instruction fetches, touches and guesses; timed intervals how many cycles it takes. Without those there is only
 * the ratio of what that costs.
 *
 *     cs_flat_measure(store, flow, &machine, &facts, &err);
 *     facts.model_cycles = ...;
 *     struct cs_flat_verdict v = cs_flat_verdict(&facts, &machine);
 *
 * Invariant: the parts of a verdict are of the cycles that an instruction takes, and no more than those together. */
#pragma once

#include "analysis/frequency/edge_flow.h"
#include "analysis/machine/machine.h"
#include "store/store.h"

enum cs_flat_part { CS_FLAT_CODE, CS_FLAT_GUESSES, CS_FLAT_MEMORY, CS_FLAT_CORE, CS_N_FLAT };
extern const struct cs_flat_name {
    const char *name, *words;
} cs_flat_names[CS_N_FLAT];

/* A mean instruction of all code outside the kernel that bursts saw. */
struct cs_flat_facts {
    double bursts, instructions;            /* of the bursts' beginnings, to which the rates belong */
    double timed;                           /* bursts with a timed interval */
    double cycles;                          /* by the timed intervals; 0 = none */
    double model_cycles;                    /* by the scheduling model; 0 = unknown */
    double code_bytes, code_pages, targets; /* that run: lines, pages, targets of indirect jumps and calls */
    double l1_misses, l2_misses; /* lines of code that the cache doesn't hold, when they are fetched */
    double page_misses, page_walks;
    double guesses;         /* wrong ones but for the next row */
    double targets_unknown; /* jumps to a target that the predictor has no room for */
    double data_bytes, data_pages;
    double data_lines;   /* new to the burst, that no steady stride fetches early */
    double data_pointer; /* share of these whose address was loaded just before */
    double data_walks;   /* new pages */
};

struct cs_flat_verdict {
    double share[CS_N_FLAT], low[CS_N_FLAT], high[CS_N_FLAT]; /* of the program's cycles */
    double unexplained;
    enum cs_flat_part first; /* CS_N_FLAT: there is nothing to go by */
    bool timed;              /* else the cycles are what the parts cost together */
    bool enough;
    const char *missing; /* where it isn't: what */
};

/* All images of the store that bursts saw. */
int cs_flat_measure(struct cs_store *store, const struct cs_edge_flow *flow, const struct cs_machine *machine,
                    struct cs_flat_facts *out, struct cs_error *err);

/* Pure. */
struct cs_flat_verdict cs_flat_verdict(const struct cs_flat_facts *facts, const struct cs_machine *machine);

/* Pure: what a cache of `room` lines holds of those that come rate[i] times in a unit of time, independently: the time after
 * which one that wasn't used is gone (Che, Tung, Wang 2002). INFINITY: all fit. */
double cs_flat_kept(const double *rate, size_t n, double room);
