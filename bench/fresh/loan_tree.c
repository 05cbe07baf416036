/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A bank walks a decision tree, eight questions deep, for each application. Nodes and applications are in the nearest caches,
 * but the answers are in no order. Variant 1: the applications come sorted by the leaf that they end in. */
#define DEFAULT_SECONDS 6
#include "../kernels/kernel.h"

enum { DEPTH = 8, NODES = 1 << DEPTH, FEATURES = 8, APPLICATIONS = 16384 };

struct node {
    const struct node *low, *high;
    uint32_t gain, loss;
    uint16_t feature, limit;
};

struct application {
    uint16_t features[FEATURES];
};

struct bank {
    struct node nodes[2 * NODES];
    struct application applications[APPLICATIONS], sorted[APPLICATIONS];
    uint64_t score;
};

HOT static uint64_t decide(const struct node *root, const struct application *applications)
{
    uint64_t gains = 0, losses = 0;
    for (int i = 0; i < APPLICATIONS; i++) {
        const uint16_t *features = applications[i].features;
        const struct node *n = root;
        while (n->low)
            if (features[n->feature] < n->limit) {
                losses += n->loss;
                n = n->low;
            } else {
                gains += n->gain;
                n = n->high;
            }
    }
    return gains ^ losses;
}

static int leaf(const struct node *nodes, const struct application *a)
{
    int n = 1;
    while (n < NODES)
        n = 2 * n + (a->features[nodes[n].feature] >= nodes[n].limit);
    return n - NODES;
}

static uint64_t turn(void *argument)
{
    struct bank *b = argument;
    b->score += decide(b->nodes + 1, b->applications);
    return APPLICATIONS * DEPTH;
}

int main(int argc, char **argv)
{
    static struct bank b;
    uint64_t seed = 3202034522624059733u;
    for (int n = 1; n < NODES; n++) {
        struct node *node = &b.nodes[n];
        node->low = b.nodes + 2 * n;
        node->high = b.nodes + 2 * n + 1;
        node->gain = (uint32_t)(next_random(&seed) >> 40);
        node->loss = (uint32_t)(next_random(&seed) >> 40);
        /* A question an attribute, so that each is answered either way half of the time. */
        node->feature = (uint16_t)((31 - __builtin_clz((unsigned)n)) % FEATURES);
        node->limit = (uint16_t)(30000 + n * 20);
    }
    for (int i = 0; i < APPLICATIONS; i++)
        for (int k = 0; k < FEATURES; k++)
            b.applications[i].features[k] = (uint16_t)(next_random(&seed) >> 48);
    if (variant(argc, argv)) {
        int at = 0;
        for (int n = 0; n < NODES; n++)
            for (int i = 0; i < APPLICATIONS; i++)
                if (leaf(b.nodes, &b.applications[i]) == n)
                    b.sorted[at++] = b.applications[i];
        memcpy(b.applications, b.sorted, sizeof b.sorted);
    }
    int status = run_kernel("loan_tree", argc, argv, turn, &b);
    printf("result=%llu\n", (unsigned long long)b.score);
    return status;
}
