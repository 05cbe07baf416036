/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Walks a search tree of 64 MB on small pages from its root to a leaf. The next node is chosen without a branch.
 * Variant: a tree of 16 KB. */
#include "../kernels/kernel.h"

struct node {
    uint64_t key;
    struct node *child[2];
    uint64_t value;
};

struct tree {
    struct node *root;
    unsigned levels;
    uint64_t seed, sum;
};

static HOT uint64_t find_leaf(void *argument)
{
    struct tree *t = argument;
    uint64_t x = t->seed, sum = 0, visits = 0, mask = ((uint64_t)1 << t->levels) - 1;
    while (visits < ITERATIONS_A_CALL) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        uint64_t key = x >> 33 & mask;
        const struct node *at = t->root;
        for (unsigned level = 1; level < t->levels; level++)
            at = at->child[key > at->key];
        sum += at->value;
        visits += t->levels;
    }
    t->seed = x, t->sum += sum;
    return visits;
}

static struct node *plant(struct node *nodes, const uint32_t *order, uint64_t from, uint64_t to)
{
    if (from >= to)
        return NULL;
    uint64_t middle = (from + to) / 2;
    struct node *at = &nodes[order[middle]];
    *at = (struct node){
        middle, {plant(nodes, order, from, middle), plant(nodes, order, middle + 1, to)}, middle};
    return at;
}

int main(int argc, char **argv)
{
    struct tree t = {.levels = variant(argc, argv) ? 9 : 21, .seed = 1};
    uint64_t n = ((uint64_t)1 << t.levels) - 1, seed = 88172645463325252;
    struct node *nodes = memory(n * sizeof *nodes, 0);
    uint32_t *order = malloc(n * sizeof *order);
    for (uint64_t i = 0; i < n; i++)
        order[i] = (uint32_t)i;
    for (uint64_t i = n - 1; i > 0; i--) {
        uint64_t j = next_random(&seed) % (i + 1);
        uint32_t o = order[i];
        order[i] = order[j];
        order[j] = o;
    }
    t.root = plant(nodes, order, 0, n);
    return run_kernel("tree_walk", argc, argv, find_leaf, &t);
}
