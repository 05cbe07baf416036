/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Identifiers of a game's assets: the FNV-1a hash of each asset of 1 KB. Variant 1: four assets at a time. */
#include "../kernels/kernel.h"

enum { ASSETS = 8, BYTES = 1024 };

struct store {
    uint8_t asset[ASSETS][BYTES];
    volatile uint64_t ids;
    int together;
};

static const uint64_t START = 0xCBF29CE484222325u, PRIME = 0x100000001B3u;

HOT static uint64_t identify(const uint8_t *asset)
{
    uint64_t id = START;
    for (int i = 0; i < BYTES; i++)
        id = (id ^ asset[i]) * PRIME;
    return id;
}

HOT static uint64_t identify_four(const uint8_t *asset)
{
    uint64_t a = START, b = START, c = START, d = START;
    for (int i = 0; i < BYTES; i++) {
        a = (a ^ asset[i]) * PRIME;
        b = (b ^ asset[i + BYTES]) * PRIME;
        c = (c ^ asset[i + 2 * BYTES]) * PRIME;
        d = (d ^ asset[i + 3 * BYTES]) * PRIME;
    }
    return a ^ b ^ c ^ d;
}

static uint64_t turn(void *argument)
{
    struct store *s = argument;
    for (int a = 0; a < ASSETS; a += s->together ? 4 : 1)
        s->ids ^= (s->together ? identify_four : identify)(s->asset[a]);
    return ASSETS * BYTES;
}

int main(int argc, char **argv)
{
    static struct store s;
    for (int i = 0; i < ASSETS * BYTES; i++)
        s.asset[i / BYTES][i % BYTES] = (uint8_t)(i * 31);
    s.together = variant(argc, argv);
    return run_kernel("asset_ids", argc, argv, turn, &s);
}
