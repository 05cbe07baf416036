/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Visit frequencies of a sparse Markov chain: the solution of f = e + Pᵀf, scaled freely. State elimination
 * after Grassmann, Taksar and Heyman (Operations Research 33, 1985): no subtraction, so that loops with
 * millions of turns lose no digits. States are eliminated by least fill first; the order depends on the
 * pattern alone and serves all solves with other weights. A solve of 128,420 states with 305,000 transitions
 * takes 25 ms, finding the order 100 ms. Internal to analysis/. */
#pragma once

#include <stdint.h>

struct cs_markov;

/* Several solves at a time, for the way through the pattern is what takes long. */
#define CS_MARKOV_LANES 4
typedef double cs_lanes __attribute__((vector_size(8 * CS_MARKOV_LANES), aligned(16)));
/* Where a > 0: x, elsewhere 0. */
static inline void cs_lanes_where_positive(cs_lanes *x, const cs_lanes *a)
{
    typedef int64_t mask __attribute__((vector_size(8 * CS_MARKOV_LANES), aligned(16)));
    *x = (cs_lanes)((mask)*x & (mask)(*a > (cs_lanes){0}));
}

/* `n` states, transitions from[i] → to[i] (several between the same pair add up, loops to oneself are
 * allowed). State 0 is "outside": it isn't eliminated and should reach and be reached from every other;
 * what can't reach it is treated as leaving to it, what it can't reach gets frequency 0. NULL when memory is
 * short, or the states lead to one another so much that a solve would take minutes. */
struct cs_markov *cs_markov_open(uint32_t n, const uint32_t *from, const uint32_t *to,
                                 uint32_t n_transitions);
/* Solves the same chain in another thread; to be closed before it. NULL: no memory. */
struct cs_markov *cs_markov_twin(const struct cs_markov *chain);
void cs_markov_close(struct cs_markov *chain);
/* weight[i] ≥ 0: how often transition i was taken, in any unit; a state's weights needn't sum to one. Writes
 * the visits of each state for one visit of state 0. 0 or -ENOMEM. */
int cs_markov_solve(struct cs_markov *chain, const double *weight, double *visits);
/* The same for four weights at a time: equal to the last bit to four solves. */
int cs_markov_solve_lanes(struct cs_markov *chain, const cs_lanes *weight, cs_lanes *visits);
