/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two threads count the items above a limit. The limit and the counter of each lie in one line with those of the
 * other. Variant: on lines of their own. */
#include "pair.h"

struct worker {
    uint64_t limit, above;
};

static HOT uint64_t count_above(void *argument)
{
    volatile struct worker *w = argument;
    for (uint64_t i = 0; i < ITERATIONS_A_CALL; i++)
        if (i * 16 >= w->limit)
            w->above = i;
    return ITERATIONS_A_CALL;
}

int main(int argc, char **argv)
{
    static _Alignas(256) struct worker workers[32];
    return run_pair("false_share", argc, argv, count_above, workers,
                    workers + (variant(argc, argv) ? 16 : 1));
}
