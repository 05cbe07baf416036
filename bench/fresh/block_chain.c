/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file in a block cache is a chain of blocks of 4 KB; the place of the next block is in the block's trailer, behind
 * its content. 6,000 blocks. Variant 1: the trailers lie in a table, a line each. */
#include "../kernels/kernel.h"

enum { BLOCKS = 6000, BLOCK = 4096, LINE = 64 };

struct trailer {
    uint32_t next, length;
};

struct file {
    uint8_t *blocks;
    volatile uint64_t length;
};

HOT static uint64_t file_length(const uint8_t *blocks)
{
    uint64_t length = 0;
    size_t at = 0;
    for (int i = 0; i < BLOCKS; i++) {
        const struct trailer *t = (const struct trailer *)(blocks + at);
        length += t->length;
        at = t->next;
    }
    return length;
}

static uint64_t turn(void *argument)
{
    struct file *f = argument;
    f->length += file_length(f->blocks);
    return BLOCKS;
}

int main(int argc, char **argv)
{
    static uint32_t order[BLOCKS];
    static struct file f;
    uint64_t seed = 7046029254386353087u;
    uint32_t distance = variant(argc, argv) ? LINE : BLOCK;
    f.blocks = memory(BLOCKS * (size_t)distance, 0);
    for (uint32_t i = 0; i < BLOCKS; i++)
        order[i] = i * distance + (distance == BLOCK ? (i * 29 + i / 64) % 64 * LINE : 0);
    for (uint32_t i = BLOCKS - 1; i > 1; i--) {
        uint32_t k = 1 + (uint32_t)(next_random(&seed) >> 20) % i, other = order[k];
        order[k] = order[i], order[i] = other;
    }
    for (uint32_t i = 0; i < BLOCKS; i++)
        *(struct trailer *)(f.blocks + order[i]) = (struct trailer){order[(i + 1) % BLOCKS], 4000 + i % 64};
    return run_kernel("block_chain", argc, argv, turn, &f);
}
