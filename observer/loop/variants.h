/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Expands the loop's body into one function a shape and a table of them, for the file that defines FOLLOW,
 * KIND and TABLE. 3 numbers of tags x 15 pairs of software and hardware counters. */
#include "observer/loop/body.h"

#define BODY(T, S, P)                                                                                        \
    static void loop_##T##S##P(struct cs_loop *l)                                                            \
    {                                                                                                        \
        cs_loop_body(l, T, S, P, FOLLOW, KIND);                                                              \
    }
#define COUNTERS(T)                                                                                          \
    BODY(T, 0, 0)                                                                                            \
    BODY(T, 1, 0)                                                                                            \
    BODY(T, 2, 0)                                                                                            \
    BODY(T, 3, 0)                                                                                            \
    BODY(T, 4, 0)                                                                                            \
    BODY(T, 0, 1)                                                                                            \
    BODY(T, 1, 1)                                                                                            \
    BODY(T, 2, 1)                                                                                            \
    BODY(T, 3, 1)                                                                                            \
    BODY(T, 0, 2) BODY(T, 1, 2) BODY(T, 2, 2) BODY(T, 0, 3) BODY(T, 1, 3) BODY(T, 0, 4)
COUNTERS(0)
COUNTERS(1)
COUNTERS(2)

#define ENTRY(T, S, P) [S][P] = loop_##T##S##P
#define ROWS(T)                                                                                              \
    {                                                                                                        \
        ENTRY(T, 0, 0), ENTRY(T, 1, 0), ENTRY(T, 2, 0), ENTRY(T, 3, 0), ENTRY(T, 4, 0), ENTRY(T, 0, 1),      \
            ENTRY(T, 1, 1), ENTRY(T, 2, 1), ENTRY(T, 3, 1), ENTRY(T, 0, 2), ENTRY(T, 1, 2), ENTRY(T, 2, 2),  \
            ENTRY(T, 0, 3), ENTRY(T, 1, 3), ENTRY(T, 0, 4)                                                   \
    }

cs_loop_table TABLE = {ROWS(0), ROWS(1), ROWS(2)};
