/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A thread reads the newest price of a feed that another thread writes all the time. Variant: the other one writes
 * to a draft of its own. */
#include "pair.h"

struct side {
    volatile uint64_t *price;
    int writes;
    uint64_t sum;
};

static HOT uint64_t follow(void *argument)
{
    struct side *s = argument;
    if (s->writes) {
        for (uint64_t i = 0; i < ITERATIONS_A_CALL; i++)
            *s->price = i;
        return ITERATIONS_A_CALL;
    }
    uint64_t sum = 0;
    for (unsigned i = 0; i < ITERATIONS_A_CALL; i++)
        sum = (sum >> 1) + *s->price;
    s->sum += sum;
    return ITERATIONS_A_CALL;
}

int main(int argc, char **argv)
{
    static _Alignas(256) uint64_t prices[64];
    static _Alignas(256) struct side reader;
    static _Alignas(256) struct side writer;
    reader.price = prices;
    writer.price = prices + (variant(argc, argv) ? 32 : 0), writer.writes = 1;
    return run_pair("price_feed", argc, argv, follow, &reader, &writer);
}
