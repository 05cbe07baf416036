/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blends two layers of 96 MB into a third. Variant: 8 KB of each, again and again. */
#include "../kernels/kernel.h"

#define WORDS (12u << 20) /* of eight pixels of a byte */
#define A_CALL (1u << 18)

struct layers {
    uint64_t *low, *high, *out;
    uint64_t at, words;
};

static HOT uint64_t blend(void *argument)
{
    struct layers *l = argument;
    const uint64_t half = 0x7f7f7f7f7f7f7f7f;
    uint64_t part = l->words < A_CALL ? l->words : A_CALL;
    for (uint64_t done = 0; done < A_CALL; done += part) {
        uint64_t *low = l->low + l->at, *high = l->high + l->at, *out = l->out + l->at;
        for (uint64_t i = 0; i < part; i++)
            out[i] = (low[i] >> 1 & half) + (high[i] >> 1 & half);
        l->at = (l->at + part) % l->words;
    }
    return A_CALL;
}

int main(int argc, char **argv)
{
    struct layers l = {.words = variant(argc, argv) ? 1024 : WORDS};
    l.low = memory(WORDS * sizeof(uint64_t), 1);
    l.high = memory(WORDS * sizeof(uint64_t), 1);
    l.out = memory(WORDS * sizeof(uint64_t), 1);
    memset(l.low, 0, WORDS * sizeof(uint64_t));
    memset(l.high, 0, WORDS * sizeof(uint64_t));
    return run_kernel("blend_layers", argc, argv, blend, &l);
}
