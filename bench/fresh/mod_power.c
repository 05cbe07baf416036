/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A key exchange raises the public number of each peer to our secret, modulo a prime of 61 bits (Montgomery,
 * a square and a product for every bit of the secret, so that it doesn't show). Each product waits for the
 * last. Variant 1: four peers in step. */
#include "../kernels/kernel.h"

enum { PEERS = 64, BITS = 60 };

static const uint64_t PRIME = (1ull << 61) - 1;

struct exchange {
    uint64_t number[PEERS], key[PEERS], secret;
    int four;
};

static inline uint64_t product(uint64_t a, uint64_t b, uint64_t prime, uint64_t inverse)
{
    unsigned __int128 t = (unsigned __int128)a * b;
    uint64_t m = (uint64_t)t * inverse;
    uint64_t u = (uint64_t)((t + (unsigned __int128)m * prime) >> 64), v = u - prime;
    return v + (prime & -(v >> 63));
}

#define BIT(k)                                                                                               \
    do {                                                                                                     \
        uint64_t square = product(r##k, r##k, prime, inverse), more = product(square, b##k, prime, inverse); \
        r##k = square ^ ((square ^ more) & mask);                                                            \
    } while (0)

HOT static void raise_numbers(struct exchange *x, uint64_t prime, uint64_t inverse)
{
    if (!x->four) {
        for (int p = 0; p < PEERS; p++) {
            uint64_t b0 = x->number[p], r0 = b0;
            for (int bit = BITS; bit-- > 0;) {
                uint64_t mask = -(x->secret >> bit & 1);
                BIT(0);
            }
            x->key[p] = r0;
        }
        return;
    }
    for (int p = 0; p < PEERS; p += 4) {
        uint64_t b0 = x->number[p], b1 = x->number[p + 1], b2 = x->number[p + 2], b3 = x->number[p + 3];
        uint64_t r0 = b0, r1 = b1, r2 = b2, r3 = b3;
        for (int bit = BITS; bit-- > 0;) {
            uint64_t mask = -(x->secret >> bit & 1);
            BIT(0);
            BIT(1);
            BIT(2);
            BIT(3);
        }
        x->key[p] = r0, x->key[p + 1] = r1, x->key[p + 2] = r2, x->key[p + 3] = r3;
    }
}

static uint64_t turn(void *argument)
{
    uint64_t inverse = 1;
    for (int i = 0; i < 6; i++)
        inverse *= 2 - PRIME * inverse;
    raise_numbers(argument, PRIME, -inverse);
    return PEERS;
}

int main(int argc, char **argv)
{
    static struct exchange x;
    uint64_t seed = 1865811235122147685u, sum = 0;
    x.four = variant(argc, argv);
    x.secret = next_random(&seed);
    for (int p = 0; p < PEERS; p++)
        x.number[p] = next_random(&seed) % PRIME;
    int status = run_kernel("mod_power", argc, argv, turn, &x);
    for (int p = 0; p < PEERS; p++)
        sum = sum * 31 + x.key[p];
    printf("result=%llu\n", (unsigned long long)sum);
    return status;
}
