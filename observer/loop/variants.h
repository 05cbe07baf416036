/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Expands the loop's body into one function a shape and a table of them, for the file that defines FOLLOW, KIND
 * and TABLE. There are 3 numbers of tags x 15 pairs of software and hardware counters. Without counters, where a
 * sample takes a few cycles, there is one more for throttled loops. */
#include "observer/loop/body.h"

#define BODY(T, S, P, R, THROTTLED)                                                                          \
    static void loop_##T##S##P##R(struct cs_loop *l)                                                         \
    {                                                                                                        \
        cs_loop_body(l, T, S, P, FOLLOW, THROTTLED, KIND);                                                   \
    }
#define EITHER(T, S, P) BODY(T, S, P, 0, l->shape.throttled)
#define COUNTERS(T)                                                                                          \
    BODY(T, 0, 0, 0, false)                                                                                  \
    BODY(T, 0, 0, 1, true)                                                                                   \
    EITHER(T, 1, 0)                                                                                          \
    EITHER(T, 2, 0)                                                                                          \
    EITHER(T, 3, 0)                                                                                          \
    EITHER(T, 4, 0)                                                                                          \
    EITHER(T, 0, 1)                                                                                          \
    EITHER(T, 1, 1)                                                                                          \
    EITHER(T, 2, 1)                                                                                          \
    EITHER(T, 3, 1)                                                                                          \
    EITHER(T, 0, 2)                                                                                          \
    EITHER(T, 1, 2) EITHER(T, 2, 2) EITHER(T, 0, 3) EITHER(T, 1, 3) EITHER(T, 0, 4)
COUNTERS(0)
COUNTERS(1)
COUNTERS(2)

#define SAME(T, S, P) [S][P] = {loop_##T##S##P##0, loop_##T##S##P##0}
#define ROWS(T)                                                                                              \
    {                                                                                                        \
        [0][0] = {loop_##T##000, loop_##T##001}, SAME(T, 1, 0), SAME(T, 2, 0), SAME(T, 3, 0), SAME(T, 4, 0), \
        SAME(T, 0, 1), SAME(T, 1, 1), SAME(T, 2, 1), SAME(T, 3, 1), SAME(T, 0, 2), SAME(T, 1, 2),            \
        SAME(T, 2, 2), SAME(T, 0, 3), SAME(T, 1, 3), SAME(T, 0, 4)                                           \
    }

cs_loop_table TABLE = {ROWS(0), ROWS(1), ROWS(2)};
