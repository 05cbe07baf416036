/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the group of people in a forest of parents (union-find without path compression), 4 MB: more than the
 * second cache holds. Variant: 16 KB. */
#include "../kernels/kernel.h"

struct forest {
    uint32_t *parent, people, at;
    uint64_t sum;
};

static HOT uint64_t find_groups(void *argument)
{
    struct forest *f = argument;
    const uint32_t *parent = f->parent;
    uint64_t sum = 0;
    uint32_t person = f->at;
    for (unsigned n = 0; n < ITERATIONS_A_CALL; n++) {
        person = parent[person];
        sum += person & 15;
    }
    f->at = person, f->sum += sum;
    return ITERATIONS_A_CALL;
}

int main(int argc, char **argv)
{
    struct forest f = {.people = variant(argc, argv) ? 1 << 12 : 1 << 20};
    f.parent = memory(f.people * sizeof *f.parent, 1);
    uint64_t seed = 31;
    /* One ring through all: a random cyclic permutation. */
    for (uint32_t i = 0; i < f.people; i++)
        f.parent[i] = i;
    for (uint32_t i = f.people - 1; i > 0; i--) {
        uint32_t j = (uint32_t)(next_random(&seed) % i), p = f.parent[i];
        f.parent[i] = f.parent[j], f.parent[j] = p;
    }
    return run_kernel("friend_groups", argc, argv, find_groups, &f);
}
