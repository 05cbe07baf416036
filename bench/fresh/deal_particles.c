/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A simulation stores each of its four million particles where its cell begins; they come in any order.
 * Variant 1: they come in the order of their cells. */
#include "../kernels/kernel.h"

enum { PARTICLES = 1 << 22, BATCH = 1 << 18 };

struct particles {
    uint64_t *from, *to;
    uint32_t *slot, next;
};

HOT static void deal(uint64_t *restrict to, const uint64_t *restrict from, const uint32_t *restrict slot)
{
    for (int i = 0; i < BATCH; i++)
        to[slot[i]] = from[i];
}

static uint64_t turn(void *argument)
{
    struct particles *p = argument;
    deal(p->to, p->from + p->next, p->slot + p->next);
    p->next = (p->next + BATCH) % PARTICLES;
    return BATCH;
}

int main(int argc, char **argv)
{
    static struct particles p;
    uint64_t seed = 3037000493u * 977ull, sum = 0;
    int in_order = variant(argc, argv);
    p.from = memory(PARTICLES * sizeof *p.from, 1);
    p.to = memory(PARTICLES * sizeof *p.to, 1);
    p.slot = memory(PARTICLES * sizeof *p.slot, 1);
    for (uint32_t i = 0; i < PARTICLES; i++) {
        uint32_t at = in_order ? i : (uint32_t)(next_random(&seed) >> 20) % (i + 1);
        p.slot[i] = p.slot[at];
        p.slot[at] = i;
    }
    for (uint32_t i = 0; i < PARTICLES; i++)
        p.from[i] = p.slot[i] * 0x9E3779B97F4A7C15u;
    int status = run_kernel("deal_particles", argc, argv, turn, &p);
    for (uint32_t i = 0; i < PARTICLES; i++)
        sum = sum * 31 + p.to[i];
    printf("result=%llu\n", (unsigned long long)sum);
    return status;
}
