/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Visit frequencies of a sparse Markov chain: the solution of f = e + Pᵀf, scaled freely. State elimination
 * after Grassmann, Taksar and Heyman (Operations Research 33, 1985): no subtraction, so that loops with
 * millions of turns lose no digits. States are eliminated by least fill first; the order depends on the
 * pattern alone and serves all solves with other weights. A solve of 128,420 states with 305,000 transitions
 * takes 25 ms, finding the order 100 ms. Internal to analysis/. */
#ifndef CS_ANALYSIS_FREQUENCY_MARKOV_CHAIN_H
#define CS_ANALYSIS_FREQUENCY_MARKOV_CHAIN_H

#include <stdint.h>

struct cs_markov;

/* `n` states, transitions from[i] → to[i] (several between the same pair add up, loops to oneself are
 * allowed). State 0 is "outside": it isn't eliminated and should reach and be reached from every other;
 * what can't reach it is treated as leaving to it, what it can't reach gets frequency 0. NULL when memory is
 * short, or the states lead to one another so much that a solve would take minutes. */
struct cs_markov *cs_markov_open(uint32_t n, const uint32_t *from, const uint32_t *to,
                                 uint32_t n_transitions);
void cs_markov_close(struct cs_markov *chain);
/* weight[i] ≥ 0: how often transition i was taken, in any unit; a state's weights needn't sum to one. Writes
 * the visits of each state for one visit of state 0. 0 or -ENOMEM. */
int cs_markov_solve(struct cs_markov *chain, const double *weight, double *visits);

#endif
