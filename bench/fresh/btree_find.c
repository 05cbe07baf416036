/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looks up keys in a search tree of nodes of sixteen keys, a line each, without branches: 24 million keys, 96 MB on huge
 * pages. Variant 1: the same keys are looked up in order. */
#include "../kernels/kernel.h"

enum { FAN = 17, NODES = 1 + 17 + 289 + 4913 + 83521 + 1419857, INNER = 1 + 17 + 289 + 4913 + 83521 };
enum { LOOKUPS = 1 << 20 };

struct node {
    uint32_t key[FAN - 1];
};

struct index {
    struct node *nodes;
    uint32_t *wanted;
    uint64_t sum;
};

static uint32_t fill(struct node *nodes, uint32_t n, uint32_t next)
{
    for (uint32_t k = 0; k < FAN; k++) {
        if (n < INNER)
            next = fill(nodes, n * FAN + 1 + k, next);
        if (k < FAN - 1) {
            nodes[n].key[k] = next;
            next += 170;
        }
    }
    return next;
}

HOT static uint32_t rank(const struct node *node, uint32_t key)
{
    uint32_t below = 0;
    for (int k = 0; k < FAN - 1; k++)
        below += node->key[k] < key;
    return below;
}

static uint64_t find(const struct node *nodes, const uint32_t *wanted)
{
    uint64_t sum = 0;
    for (int i = 0; i < LOOKUPS; i++) {
        uint32_t n = 0;
        while (n < NODES)
            n = n * FAN + 1 + rank(&nodes[n], wanted[i]);
        sum += n;
    }
    return sum;
}

static int by_key(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static uint64_t turn(void *argument)
{
    struct index *x = argument;
    x->sum += find(x->nodes, x->wanted);
    return LOOKUPS;
}

int main(int argc, char **argv)
{
    static struct index x;
    uint64_t seed = 1103515245u * 12345u + 7u;
    x.nodes = memory(NODES * sizeof *x.nodes, 1);
    x.wanted = memory(LOOKUPS * sizeof *x.wanted, 1);
    fill(x.nodes, 0, 0);
    for (int i = 0; i < LOOKUPS; i++)
        x.wanted[i] = (uint32_t)(next_random(&seed) >> 24) % 4000000000u;
    if (variant(argc, argv))
        qsort(x.wanted, LOOKUPS, sizeof *x.wanted, by_key);
    int status = run_kernel("btree_find", argc, argv, turn, &x);
    printf("result=%llu\n", (unsigned long long)x.sum);
    return status;
}
