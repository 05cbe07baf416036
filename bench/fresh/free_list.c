/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Takes objects from a free list and puts them on another, as an allocator after a long run: 32 MB on small pages
 * in random order. Variant: 256 objects. */
#include "../kernels/kernel.h"

struct object {
    struct object *next;
    uint64_t owner, rest[6];
};

struct heap {
    struct object *free, *used;
};

static HOT uint64_t allocate(void *argument)
{
    struct heap *h = argument;
    struct object *at = h->free, *used = h->used;
    for (unsigned i = 0; i < ITERATIONS_A_CALL; i++) {
        if (!at) {
            at = used;
            used = NULL;
        }
        struct object *next = at->next;
        at->owner = i;
        at->next = used;
        used = at;
        at = next;
    }
    h->free = at, h->used = used;
    return ITERATIONS_A_CALL;
}

int main(int argc, char **argv)
{
    unsigned n = variant(argc, argv) ? 256 : 512 << 10;
    struct object *objects = memory((size_t)n * sizeof *objects, 0);
    struct object **order = malloc(n * sizeof *order);
    uint64_t seed = 88172645463325252;
    for (unsigned i = 0; i < n; i++)
        order[i] = &objects[i];
    struct heap h = {NULL, NULL};
    for (unsigned i = n; i > 0; i--) {
        unsigned j = (unsigned)(next_random(&seed) % i);
        order[j]->next = h.free;
        h.free = order[j];
        order[j] = order[i - 1];
    }
    return run_kernel("free_list", argc, argv, allocate, &h);
}
