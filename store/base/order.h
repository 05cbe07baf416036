/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What comes first, for qsort and bsearch.
 *
 *     CS_ORDER(by_place, struct place, cs_order(a->image, b->image), cs_order(a->offset, b->offset))
 *     CS_ORDER(most_first, struct row, cs_order(b->samples, a->samples), strcmp(a->name, b->name))
 *
 * The second defines a static function `most_first` of two elements `a` and `b`: the first comparison that isn't 0
 * decides, of five at most. Then cs_sort(rows, n, most_first), and cs_find(&key, rows, n, most_first). */
#pragma once

#include <stdlib.h>

/* Below 0, 0 or above 0 as x < y, x == y or x > y. Both are evaluated twice. */
#define cs_order(x, y) (((x) > (y)) - ((x) < (y)))

#define CS_FIRST_OF_FIVE(u, v, w, x, y, ...) ((u) ?: (v) ?: (w) ?: (x) ?: (y))

// NOLINTBEGIN(bugprone-macro-parentheses): types and names
#define CS_ORDER(name, type, ...)                                                                            \
    static int name(const void *cs_left_, const void *cs_right_)                                             \
    {                                                                                                        \
        type const *a = cs_left_;                                                                            \
        type const *b = cs_right_;                                                                           \
        return CS_FIRST_OF_FIVE(__VA_ARGS__, 0, 0, 0, 0, 0);                                                 \
    }
// NOLINTEND(bugprone-macro-parentheses)

/* qsort and bsearch of an array that may be empty, and then NULL. */
#define cs_sort(at, n, by) ((n) ? qsort((at), (n), sizeof *(at), (by)) : (void)0)
#define cs_find(key, at, n, by)                                                                              \
    ((__typeof__(&*(at)))((n) ? bsearch((key), (at), (n), sizeof *(at), (by)) : NULL))
