/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bisection of what is sorted. */
#pragma once

/* The first index below `n` whose element isn't before what is sought; `n` if all are. `is_before` is an expression of
 * the index `i`, true for a first part of the elements and false for the rest.
 *
 *     size_t at = cs_bisect(n, i, rows[i].offset < offset); */
// NOLINTBEGIN(bugprone-macro-parentheses): `i` is a name
#define cs_bisect(n, i, is_before)                                                                           \
    ({                                                                                                       \
        __typeof__((n) + 0) cs_low_ = 0, cs_high_ = (n);                                                     \
        while (cs_low_ < cs_high_) {                                                                         \
            const __typeof__(cs_low_) i = cs_low_ + (cs_high_ - cs_low_) / 2;                                \
            if (is_before)                                                                                   \
                cs_low_ = i + 1;                                                                             \
            else                                                                                             \
                cs_high_ = i;                                                                                \
        }                                                                                                    \
        cs_low_;                                                                                             \
    })
// NOLINTEND(bugprone-macro-parentheses)
