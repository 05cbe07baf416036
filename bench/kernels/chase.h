/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A list whose nodes, one a line, lie in random order; the loop visits it and sums a field of each. */
#include "kernel.h"

struct node {
    struct node *next;
    uint64_t value;
    char rest[48];
};

struct list {
    struct node *at;
    uint64_t sum;
};

static HOT uint64_t walk_list(void *argument)
{
    struct list *list = argument;
    struct node *at = list->at;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < ITERATIONS_A_CALL; i++) {
        sum += at->value;
        at = at->next;
    }
    list->at = at;
    list->sum += sum;
    return ITERATIONS_A_CALL;
}

static inline struct node *make_list(size_t bytes, int huge)
{
    size_t n = bytes / sizeof(struct node);
    struct node *nodes = memory(bytes, huge);
    uint32_t *order = malloc(n * sizeof *order);
    uint64_t seed = 88172645463325252;
    for (size_t i = 0; i < n; i++)
        order[i] = (uint32_t)i;
    for (size_t i = n - 1; i > 0; i--) { /* one cycle */
        size_t j = next_random(&seed) % i;
        uint32_t t = order[i];
        order[i] = order[j];
        order[j] = t;
    }
    for (size_t i = 0; i < n; i++)
        nodes[i] = (struct node){.next = &nodes[order[i]], .value = i};
    free(order);
    return nodes;
}

#define CHASE_KERNEL(NAME, BYTES)                                                                            \
    int main(int argc, char **argv)                                                                          \
    {                                                                                                        \
        struct list list = {make_list(variant(argc, argv) ? 16 << 10 : (BYTES), 1), 0};                      \
        return run_kernel(NAME, argc, argv, walk_list, &list) + (list.sum == 1);                             \
    }
