/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hashes names by FNV-1a, byte after byte. Variant: four names side by side. */
#include "../kernels/kernel.h"

enum { NAMES = 512, LENGTH = 16 };
#define PRIME UINT64_C(1099511628211)

struct names {
    uint64_t sum;
    unsigned char at[NAMES][LENGTH];
};

static HOT uint64_t hash_names(void *argument)
{
    struct names *n = argument;
    uint64_t h = UINT64_C(14695981039346656037);
    for (unsigned turn = 0; turn < 20; turn++)
        for (unsigned i = 0; i < NAMES; i++)
            for (unsigned k = 0; k < LENGTH; k++)
                h = (h ^ n->at[i][k]) * PRIME;
    n->sum += h;
    return 20 * NAMES * LENGTH;
}

static HOT uint64_t hash_four(void *argument)
{
    struct names *n = argument;
    uint64_t a = 1, b = 2, c = 3, d = 4;
    for (unsigned turn = 0; turn < 20; turn++)
        for (unsigned i = 0; i < NAMES; i += 4)
            for (unsigned k = 0; k < LENGTH; k++) {
                a = (a ^ n->at[i][k]) * PRIME;
                b = (b ^ n->at[i + 1][k]) * PRIME;
                c = (c ^ n->at[i + 2][k]) * PRIME;
                d = (d ^ n->at[i + 3][k]) * PRIME;
            }
    n->sum += a ^ b ^ c ^ d;
    return 20 * NAMES * LENGTH;
}

int main(int argc, char **argv)
{
    static struct names n;
    for (unsigned i = 0; i < NAMES * LENGTH; i++)
        n.at[i / LENGTH][i % LENGTH] = (unsigned char)(i * 37);
    return run_kernel("hash_names", argc, argv, variant(argc, argv) ? hash_four : hash_names, &n);
}
