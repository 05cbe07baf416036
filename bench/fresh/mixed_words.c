/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An index of words: hashes letters in a chain, chooses by unpredictable lengths and counts atomically. No cause
 * has more than half of the time. Variants 1 to 3 remove the chain, the mispredictions and the atomics. */
#include "../kernels/kernel.h"

enum { LETTERS = 6000, WORDS = 2500, COUNTS = 1300 };

struct words {
    uint8_t letters[LETTERS], length[WORDS];
    uint32_t begin[WORDS], random[WORDS];
    uint64_t counts[64], hash;
    int side_by_side, plain;
};

static HOT uint64_t index_words(void *argument)
{
    struct words *w = argument;
    uint64_t h = w->hash, g = 1, f = 2, e = 3, n = 0;
    if (w->side_by_side)
        for (unsigned i = 0; i < LETTERS; i += 4) {
            h = (h ^ w->letters[i]) * 0x100000001b3, g = (g ^ w->letters[i + 1]) * 0x100000001b3;
            f = (f ^ w->letters[i + 2]) * 0x100000001b3, e = (e ^ w->letters[i + 3]) * 0x100000001b3;
        }
    else
        for (unsigned i = 0; i < LETTERS; i++)
            h = (h ^ w->letters[i]) * 0x100000001b3;
    for (unsigned i = 0; i < WORDS; i++) {
        if (w->random[i] & 1) {
            w->begin[n++] = i;
            __asm__ volatile("" : "+r"(n));
        }
        w->random[i] = w->random[i] >> 1 | w->random[i] << 31;
    }
    if (w->plain)
        for (unsigned i = 0; i < COUNTS; i++)
            *(volatile uint64_t *)&w->counts[i & 63] += 1;
    else
        for (unsigned i = 0; i < COUNTS; i++)
            __atomic_fetch_add(&w->counts[i & 63], 1, __ATOMIC_RELAXED);
    w->hash = h ^ g ^ f ^ e ^ n;
    return WORDS;
}

int main(int argc, char **argv)
{
    static struct words w;
    uint64_t seed = 88172645463325252;
    int without = variant(argc, argv);
    w.side_by_side = without == 1, w.plain = without == 3;
    for (unsigned i = 0; i < WORDS; i++)
        w.random[i] = without == 2 ? (i & 1) * UINT32_MAX : (uint32_t)(next_random(&seed) >> 20);
    return run_kernel("mixed_words", argc, argv, index_words, &w);
}
