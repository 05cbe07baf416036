/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Expands the loop's body into one function a shape and a table of them, for the file that defines FOLLOW,
 * KIND and TABLE. 3 numbers of tags x 15 pairs of software and hardware counters x throttled or not. */
#include "observer/loop/body.h"

#define BODY(T, S, P, R)                                                                                     \
    static void loop_##T##S##P##R(struct cs_loop *l)                                                         \
    {                                                                                                        \
        cs_loop_body(l, T, S, P, FOLLOW, R, KIND);                                                           \
    }
#define THROTTLES(T, S, P) BODY(T, S, P, 0) BODY(T, S, P, 1)
#define COUNTERS(T)                                                                                          \
    THROTTLES(T, 0, 0)                                                                                       \
    THROTTLES(T, 1, 0)                                                                                       \
    THROTTLES(T, 2, 0)                                                                                       \
    THROTTLES(T, 3, 0)                                                                                       \
    THROTTLES(T, 4, 0)                                                                                       \
    THROTTLES(T, 0, 1)                                                                                       \
    THROTTLES(T, 1, 1)                                                                                       \
    THROTTLES(T, 2, 1)                                                                                       \
    THROTTLES(T, 3, 1)                                                                                       \
    THROTTLES(T, 0, 2)                                                                                       \
    THROTTLES(T, 1, 2) THROTTLES(T, 2, 2) THROTTLES(T, 0, 3) THROTTLES(T, 1, 3) THROTTLES(T, 0, 4)
COUNTERS(0)
COUNTERS(1)
COUNTERS(2)

#define PAIR(T, S, P) [S][P] = {loop_##T##S##P##0, loop_##T##S##P##1}
#define ROWS(T)                                                                                              \
    {                                                                                                        \
        PAIR(T, 0, 0), PAIR(T, 1, 0), PAIR(T, 2, 0), PAIR(T, 3, 0), PAIR(T, 4, 0), PAIR(T, 0, 1),            \
            PAIR(T, 1, 1), PAIR(T, 2, 1), PAIR(T, 3, 1), PAIR(T, 0, 2), PAIR(T, 1, 2), PAIR(T, 2, 2),        \
            PAIR(T, 0, 3), PAIR(T, 1, 3), PAIR(T, 0, 4)                                                      \
    }

cs_loop_table TABLE = {ROWS(0), ROWS(1), ROWS(2)};
