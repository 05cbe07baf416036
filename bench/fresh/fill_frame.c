/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fills frames of 256 MB with a ramp, in address order. Variant: the same 16 KB again and again. */
#include "../kernels/kernel.h"

enum { WORDS = 32 << 20 };

struct frame {
    uint64_t *words, mask, first;
};

static HOT uint64_t fill(void *argument)
{
    struct frame *f = argument;
    uint64_t value = f->first++, mask = f->mask;
    for (uint64_t i = 0; i < WORDS; i += 4) {
        uint64_t *at = f->words + (i & mask);
        at[0] = value, at[1] = value + 1, at[2] = value + 2, at[3] = value + 3;
        value += 4;
    }
    return WORDS;
}

int main(int argc, char **argv)
{
    struct frame f = {memory((size_t)WORDS * 8, 1), variant(argc, argv) ? 2047 : WORDS - 1, 0};
    return run_kernel("fill_frame", argc, argv, fill, &f);
}
