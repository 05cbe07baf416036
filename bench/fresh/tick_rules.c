/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Signals for a stock exchange, in code that a generator wrote: twelve models of 512 terms, 100 KB of straight code. Each
 * price runs through all of them. Variant 1: each model runs for 64 prices, then the next one does. */
#include "../kernels/kernel.h"

enum { PRICES = 64, WORDS = 16, MODELS = 12, ROUNDS = 4 };

struct market {
    uint64_t prices[PRICES][WORDS];
    uint64_t signals[PRICES];
    int batches;
};

#define ONE(N, S) S += p[(N)*5 % WORDS] ^ (0x123456789abcdefu * (2 * (N) + 1));
#define FOUR(N) ONE(N, a) ONE(N + 1, b) ONE(N + 2, c) ONE(N + 3, d)
#define R16(N) FOUR(N) FOUR(N + 4) FOUR(N + 8) FOUR(N + 12)
#define R64(N) R16(N) R16(N + 16) R16(N + 32) R16(N + 48)
#define R512(N)                                                                                              \
    R64(N) R64(N + 64) R64(N + 128) R64(N + 192) R64(N + 256) R64(N + 320) R64(N + 384) R64(N + 448)
#define MODEL(M)                                                                                             \
    case M:                                                                                                  \
        R512(M * 512)                                                                                        \
        break;

HOT static uint64_t run_model(const volatile uint64_t *p, int model)
{
    uint64_t a = 0, b = 0, c = 0, d = 0;
    switch (model) {
        MODEL(0)
        MODEL(1)
        MODEL(2)
        MODEL(3)
        MODEL(4)
        MODEL(5)
        MODEL(6)
        MODEL(7)
        MODEL(8)
        MODEL(9)
        MODEL(10)
        MODEL(11)
    }
    return a ^ b ^ c ^ d;
}

static uint64_t turn(void *argument)
{
    struct market *m = argument;
    for (int round = 0; round < ROUNDS; round++)
        if (m->batches) {
            for (int k = 0; k < MODELS; k++)
                for (int i = 0; i < PRICES; i++)
                    m->signals[i] += run_model(m->prices[i], k);
        } else {
            for (int i = 0; i < PRICES; i++)
                for (int k = 0; k < MODELS; k++)
                    m->signals[i] += run_model(m->prices[i], k);
        }
    return PRICES * ROUNDS;
}

int main(int argc, char **argv)
{
    static struct market m;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < PRICES * WORDS; i++)
        m.prices[i / WORDS][i % WORDS] = i * 2654435761u;
    m.batches = variant(argc, argv);
    int status = run_kernel("tick_rules", argc, argv, turn, &m);
    for (int i = 0; i < PRICES; i++)
        sum += m.signals[i];
    printf("result=%llu\n", (unsigned long long)sum);
    return status;
}
