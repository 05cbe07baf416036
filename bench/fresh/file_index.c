/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looks up keys in an index file of two levels, whose nodes of 4 KB are read by a call each. Variant 1: the program keeps the
 * nodes in memory. */
#define _GNU_SOURCE
#include "../kernels/kernel.h"

#include <unistd.h>

enum { KEYS = 512, NODE = 4096, LOOKUPS = 1000 };

struct node {
    uint64_t keys[KEYS];
};

struct index {
    int fd;
    struct node *kept, buffer;
    uint64_t sum;
};

HOT static const struct node *read_node(struct index *x, uint64_t number)
{
    if (x->kept)
        return &x->kept[number];
    if (pread(x->fd, &x->buffer, NODE, (off_t)(number * NODE)) != NODE)
        exit(1);
    return &x->buffer;
}

HOT static uint64_t rank(const struct node *n, uint64_t key)
{
    uint64_t first = 0;
    for (uint64_t half = KEYS / 2; half; half /= 2)
        first += n->keys[first + half - 1] < key ? half : 0;
    return first;
}

static uint64_t find_key(struct index *x, uint64_t key)
{
    uint64_t child = rank(read_node(x, 0), key);
    return child * KEYS + rank(read_node(x, child + 1), key);
}

static uint64_t turn(void *argument)
{
    struct index *x = argument;
    for (uint64_t i = 0; i < LOOKUPS; i++)
        x->sum += find_key(x, i * 2654435761u % (KEYS * KEYS * 3));
    return LOOKUPS;
}

int main(int argc, char **argv)
{
    static struct index x;
    struct node *nodes = memory((KEYS + 1) * sizeof *nodes, 0);
    for (uint64_t n = 0; n <= KEYS; n++)
        for (uint64_t k = 0; k < KEYS; k++)
            nodes[n].keys[k] = n ? ((n - 1) * KEYS + k) * 3 : ((k + 1) * KEYS - 1) * 3;
    x.fd = memfd_create("index", 0);
    if (write(x.fd, nodes, (KEYS + 1) * sizeof *nodes) < 0)
        return 1;
    x.kept = variant(argc, argv) ? nodes : NULL;
    int status = run_kernel("file_index", argc, argv, turn, &x);
    printf("result=%llu\n", (unsigned long long)x.sum);
    return status;
}
