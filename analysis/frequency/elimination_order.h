/* SPDX-License-Identifier: GPL-2.0-or-later */
/* In which order the states of a sparse chain are eliminated, and which transitions there are then. The
 * least fill comes first (Markowitz, Management Science 3, 1957), and only the pattern decides. Internal to
 * markov_chain.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* State 0 is outside and has no place: it isn't eliminated, so that its many transitions fill nothing in. The
 * others have places 0…n-1, in the order of their elimination. */
struct elimination_order {
    uint32_t n;
    uint32_t *place;       /* of each state */
    uint32_t *state;       /* at each place */
    size_t *later_start;   /* of each place, n + 1 */
    uint32_t *later;       /* where it leads to when its turn comes, itself left out; in no order */
    size_t *earlier_start; /* of each place, n + 1 */
    uint32_t *earlier;     /* places before it whose elimination bypasses it; ascending */
};

/* 0, -ENOMEM, or -E2BIG where so much fills in that it would take minutes; to be freed in any case. */
int elimination_order_init(struct elimination_order *order, uint32_t n_states, const uint32_t *from,
                           const uint32_t *to, size_t n_transitions);
void elimination_order_fini(struct elimination_order *order);
