/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A router in software: each packet goes through eight stages of generated rules, some 10 KB of code each, before the
 * next packet comes. No rule applies. Variant 1: each stage has its turn for 32 packets. */
#include "../kernels/kernel.h"

enum { PACKETS = 32, WORDS = 16, STAGES = 8, ROUNDS = 8 };

struct packet {
    uint64_t word[WORDS];
};

struct router {
    struct packet packets[PACKETS];
    volatile uint64_t applied;
    int batches;
};

__attribute__((noinline, cold)) static uint64_t apply(const volatile struct packet *p, int rule)
{
    return p->word[rule % WORDS] + 1;
}

#define RULE(N)                                                                                              \
    if (__builtin_expect(p->word[(N)*7 % WORDS] == 0x9E3779B97F4A7C15u * (uint64_t)((N) + 77), 0))           \
        applied += apply(p, N);
#define R4(N) RULE(N) RULE(N + 1) RULE(N + 2) RULE(N + 3)
#define R16(N) R4(N) R4(N + 4) R4(N + 8) R4(N + 12)
#define R64(N) R16(N) R16(N + 16) R16(N + 32) R16(N + 48)
#define R512(N)                                                                                              \
    R64(N) R64(N + 64) R64(N + 128) R64(N + 192) R64(N + 256) R64(N + 320) R64(N + 384) R64(N + 448)
#define STAGE(S)                                                                                             \
    case S:                                                                                                  \
        R512(S * 512)                                                                                        \
        break;

HOT static uint64_t run_stage(const volatile struct packet *p, int stage)
{
    uint64_t applied = 0;
    switch (stage) {
        STAGE(0)
        STAGE(1)
        STAGE(2)
        STAGE(3)
        STAGE(4)
        STAGE(5)
        STAGE(6)
        STAGE(7)
    }
    return applied;
}

static uint64_t turn(void *argument)
{
    struct router *r = argument;
    for (int round = 0; round < ROUNDS; round++)
        if (r->batches) {
            for (int s = 0; s < STAGES; s++)
                for (int i = 0; i < PACKETS; i++)
                    r->applied += run_stage(&r->packets[i], s);
        } else {
            for (int i = 0; i < PACKETS; i++)
                for (int s = 0; s < STAGES; s++)
                    r->applied += run_stage(&r->packets[i], s);
        }
    return PACKETS * ROUNDS;
}

int main(int argc, char **argv)
{
    static struct router r;
    for (uint64_t i = 0; i < PACKETS * WORDS; i++)
        r.packets[i / WORDS].word[i % WORDS] = i << 40;
    r.batches = variant(argc, argv);
    return run_kernel("packet_stages", argc, argv, turn, &r);
}
