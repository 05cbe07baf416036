/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two threads classify packets of their own and count them; the counters of both lie in one array. Variant: 256
 * bytes apart. */
#include "pair.h"

struct worker {
    volatile uint64_t *counter;
    const uint8_t *packet;
};

static HOT uint64_t classify(void *argument)
{
    struct worker *w = argument;
    for (unsigned i = 0; i < ITERATIONS_A_CALL; i++)
        w->counter[w->packet[i & 1023] & 3]++;
    return ITERATIONS_A_CALL;
}

int main(int argc, char **argv)
{
    static _Alignas(256) uint64_t counters[128];
    static _Alignas(256) uint8_t packets[2][1024];
    static _Alignas(256) struct worker first;
    static _Alignas(256) struct worker second;
    for (unsigned i = 0; i < 2048; i++)
        packets[i & 1][i >> 1] = (uint8_t)(i * 7 >> 2);
    first = (struct worker){counters, packets[0]};
    second = (struct worker){counters + (variant(argc, argv) ? 64 : 4), packets[1]};
    return run_pair("worker_stats", argc, argv, classify, &first, &second);
}
