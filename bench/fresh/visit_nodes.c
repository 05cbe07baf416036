/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A search in a graph asks a bitmap of 1 MB which nodes it has seen. Each query gets a bitmap of zeros from the system.
 * Variant 1: the bitmap, which stays empty here, is kept for the next query. */
#include "../kernels/kernel.h"

enum { BITMAP = 1 << 20, NODES = 1024 };

struct search {
    uint8_t *seen;
    uint64_t seed;
    volatile uint64_t new;
    int keep;
};

HOT static uint64_t count_new(const volatile uint8_t *seen, uint64_t node)
{
    uint64_t new = 0;
    for (int i = 0; i < NODES; i++) {
        node = node * 6364136223846793005u + 1442695040888963407u;
        uint64_t bit = node >> 41;
        new += !(seen[bit / 8] >> bit % 8 & 1);
    }
    return new;
}

static uint64_t turn(void *argument)
{
    struct search *s = argument;
    if (!s->seen || !s->keep) {
        s->seen = mmap(NULL, BITMAP, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (s->seen == MAP_FAILED)
            exit(1);
    }
    s->new += count_new(s->seen, s->seed++);
    if (!s->keep)
        munmap(s->seen, BITMAP);
    return NODES;
}

int main(int argc, char **argv)
{
    static struct search s = {.seed = 1};
    s.keep = variant(argc, argv);
    return run_kernel("visit_nodes", argc, argv, turn, &s);
}
