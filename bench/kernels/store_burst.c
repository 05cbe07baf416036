/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Scatters bytes over a table far larger than the caches: stores retire long before their lines arrive, the
 * store buffer fills. No load of the loop misses. Variant: a table of 16 KB. */
#include "kernel.h"

struct table {
    uint8_t *bytes;
    uint64_t mask, seed;
};

static HOT uint64_t scatter(void *argument)
{
    struct table *table = argument;
    uint8_t *bytes = table->bytes;
    uint64_t mask = table->mask, x = table->seed;
    for (unsigned i = 0; i < ITERATIONS_A_CALL; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        bytes[x >> 20 & mask] = (uint8_t)i;
    }
    table->seed = x;
    return ITERATIONS_A_CALL;
}

int main(int argc, char **argv)
{
    size_t bytes = variant(argc, argv) ? 16 << 10 : 256 << 20;
    struct table table = {memory(bytes, 1), bytes - 1, 1};
    return run_kernel("store_burst", argc, argv, scatter, &table);
}
