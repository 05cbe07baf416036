/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Mixes keys for a table by four multiplications each, which don't depend on one another; a core starts one a cycle.
 * Variant: additions instead. */
#include "../kernels/kernel.h"

enum { KEYS = 1024 };

struct keys {
    uint64_t key[KEYS], mixed[KEYS], factor[4];
};

#define MIX(name, operator)                                                                                  \
    static HOT uint64_t name(void *argument)                                                                 \
    {                                                                                                        \
        struct keys *k = argument;                                                                           \
        uint64_t p = k->factor[0], q = k->factor[1], r = k->factor[2], s = k->factor[3];                     \
        for (unsigned turn = 0; turn < 32; turn++)                                                           \
            for (unsigned i = 0; i < KEYS; i++) {                                                            \
                uint64_t key = k->key[i], a = key operator p, b = key operator q, c = key operator r,        \
                         d = key operator s;                                                                 \
                __asm__("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d));                                            \
                k->mixed[i] = a ^ b ^ c ^ d;                                                                 \
            }                                                                                                \
        return 32 * KEYS;                                                                                    \
    }
MIX(mix_keys, *)
MIX(mix_added, +)

int main(int argc, char **argv)
{
    static struct keys k = {
        .factor = {0x9e3779b97f4a7c15, 0xc2b2ae3d27d4eb4f, 0x165667b19e3779f9, 0x85ebca77c2b2ae63}};
    for (unsigned i = 0; i < KEYS; i++)
        k.key[i] = i * 0x2545f4914f6cdd1du;
    return run_kernel("mix_keys", argc, argv, variant(argc, argv) ? mix_added : mix_keys, &k);
}
