/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The last step of a decompressor: follows the permutation of a block of 16 million bytes (Burrows and Wheeler), 64
 * MB of links. Variant: a block of 4,096 bytes. */
#include "../kernels/kernel.h"

#define A_CALL 100000u

struct block {
    uint32_t *link, at;
    uint8_t to[A_CALL];
};

static HOT uint64_t follow_links(void *argument)
{
    struct block *b = argument;
    uint32_t at = b->at;
    for (unsigned i = 0; i < A_CALL; i++) {
        uint32_t entry = b->link[at];
        b->to[i] = (uint8_t)entry;
        at = entry >> 8;
    }
    b->at = at;
    return A_CALL;
}

int main(int argc, char **argv)
{
    static struct block b;
    uint32_t n = variant(argc, argv) ? 4096 : 16 << 20;
    uint32_t *order = malloc(n * sizeof *order);
    uint64_t seed = 4125;
    b.link = memory(n * 4, 0);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t j = (uint32_t)(next_random(&seed) % (i + 1));
        order[i] = order[j], order[j] = i;
    }
    for (uint32_t i = 0; i < n; i++)
        b.link[order[i]] = order[(i + 1) % n] << 8 | (i & 255);
    free(order);
    return run_kernel("unbwt", argc, argv, follow_links, &b);
}
