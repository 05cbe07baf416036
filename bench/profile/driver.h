/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs turn() until the time is over: PROGRAM SECONDS. Prints "visits=<turns of its loop> seconds=<CPU seconds>". */
#include "../kernels/kernel.h"

enum { TURNS = 4000, SMALL = 64, MIDDLE = 4096, LARGE = 65536 };

/* What %rdi points to: 0 zero, 1 a number, 2 to 4 places in lists of 4 KB, 256 KB and 4 MB, 5 bytes. */
struct state {
    uint64_t zero, number;
    void **place[3];
    uint8_t *bytes;
};

struct node {
    void *next;
    char rest[56];
};

void turn(struct state *s);

/* A cycle through all nodes in random order. */
static void **list(size_t n, uint64_t *seed)
{
    struct node *nodes = memory(n * sizeof *nodes, 1);
    uint32_t *order = malloc(n * sizeof *order);
    for (size_t i = 0; i < n; i++)
        order[i] = (uint32_t)i;
    for (size_t i = n - 1; i > 0; i--) {
        size_t k = next_random(seed) % (i + 1);
        uint32_t other = order[i];
        order[i] = order[k];
        order[k] = other;
    }
    for (size_t i = 0; i < n; i++)
        nodes[order[i]].next = &nodes[order[(i + 1) % n]];
    void **first = &nodes[order[0]].next;
    free(order);
    return first;
}

static uint64_t one_call(void *argument)
{
    turn(argument);
    return TURNS;
}

int main(int argc, char **argv)
{
    uint64_t seed = 88172645463325252u;
    struct state s = {.zero = 0, .number = seed};
    s.place[0] = list(SMALL, &seed);
    s.place[1] = list(MIDDLE, &seed);
    s.place[2] = list(LARGE, &seed);
    s.bytes = malloc(TURNS);
    for (size_t i = 0; i < TURNS; i++)
        s.bytes[i] = (uint8_t)next_random(&seed);
    return run_kernel("profile", argc, argv, one_call, &s);
}
