/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts the bits of the intersection of bitmaps by the instruction for it, of which a core may start one a cycle.
 * Variant: an addition instead. */
#include "../kernels/kernel.h"

enum { WORDS = 512 };

struct bitmaps {
    uint64_t a[WORDS], b[WORDS], count;
};

#define COUNT(name, bits)                                                                                    \
    static HOT __attribute__((target("popcnt"))) uint64_t name(void *argument)                               \
    {                                                                                                        \
        struct bitmaps *m = argument;                                                                        \
        uint64_t p = 0, q = 0, r = 0, s = 0;                                                                 \
        for (unsigned turn = 0; turn < 200; turn++)                                                          \
            for (unsigned i = 0; i < WORDS; i += 4) {                                                        \
                p += (uint64_t)bits(m->a[i]), q += (uint64_t)bits(m->a[i + 1]);                              \
                r += (uint64_t)bits(m->a[i + 2]), s += (uint64_t)bits(m->a[i + 3]);                          \
                __asm__ volatile("" : "+r"(p), "+r"(q), "+r"(r), "+r"(s));                                   \
            }                                                                                                \
        m->count += p + q + r + s;                                                                           \
        return 200 * WORDS;                                                                                  \
    }
COUNT(count_bits, __builtin_popcountll)
COUNT(count_words, )

int main(int argc, char **argv)
{
    static struct bitmaps m;
    for (unsigned i = 0; i < WORDS; i++)
        m.a[i] = i * 0x9e3779b97f4a7c15;
    return run_kernel("count_bits", argc, argv, variant(argc, argv) ? count_words : count_bits, &m);
}
