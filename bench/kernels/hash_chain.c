/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looks keys up in a chained hash table whose nodes fill 128 MB in random order. Variant: 16 KB of nodes. */
#include "kernel.h"

struct entry {
    struct entry *next;
    uint64_t key, value;
};

struct dictionary {
    struct entry **heads;
    uint64_t mask, keys, found, seed;
};

static HOT uint64_t look_up(void *argument)
{
    struct dictionary *d = argument;
    uint64_t x = d->seed, found = d->found, visits = 0;
    for (unsigned i = 0; i < 20000; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        uint64_t key = (x >> 33) & (d->keys - 1);
        for (const struct entry *e = d->heads[key & d->mask]; e; e = e->next) {
            visits++;
            if (e->key == key) {
                found += e->value;
                break;
            }
        }
    }
    d->seed = x, d->found = found;
    return visits;
}

int main(int argc, char **argv)
{
    static struct dictionary d;
    size_t n = variant(argc, argv) ? 512 : 4 << 20;
    struct entry *nodes = memory(n * sizeof *nodes, 1);
    d.keys = n, d.mask = n / 4 - 1;
    d.heads = memory(n / 4 * sizeof *d.heads, 1);
    for (size_t i = 0; i < n / 4; i++)
        d.heads[i] = NULL;
    /* An odd multiplier permutes the keys over the nodes. */
    for (size_t i = 0; i < n; i++) {
        uint64_t key = (i * 0x9e3779b97f4a7c15u) & (n - 1);
        nodes[i] = (struct entry){d.heads[key & d.mask], key, i};
        d.heads[key & d.mask] = &nodes[i];
    }
    return run_kernel("hash_chain", argc, argv, look_up, &d);
}
