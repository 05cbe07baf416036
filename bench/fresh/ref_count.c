/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Takes and drops a reference to objects of a table, atomically, though there is one thread. Variant: plain
 * counts. */
#include "../kernels/kernel.h"

enum { OBJECTS = 64 };

struct object {
    uint32_t references, size;
};

struct pool {
    struct object objects[OBJECTS];
    uint64_t bytes;
};

static HOT uint64_t measure(void *argument)
{
    struct pool *p = argument;
    uint64_t bytes = 0;
    for (unsigned i = 0; i < ITERATIONS_A_CALL; i++) {
        struct object *o = &p->objects[i % OBJECTS];
        __atomic_fetch_add(&o->references, 1, __ATOMIC_RELAXED);
        bytes += o->size;
        if (__atomic_fetch_sub(&o->references, 1, __ATOMIC_ACQ_REL) == 1)
            return 0;
    }
    p->bytes += bytes;
    return ITERATIONS_A_CALL;
}

static HOT uint64_t measure_plain(void *argument)
{
    struct pool *p = argument;
    uint64_t bytes = 0;
    for (unsigned i = 0; i < ITERATIONS_A_CALL; i++) {
        struct object *o = &p->objects[i % OBJECTS];
        *(volatile uint32_t *)&o->references += 1;
        bytes += o->size;
        if ((*(volatile uint32_t *)&o->references -= 1) == 0)
            return 0;
    }
    p->bytes += bytes;
    return ITERATIONS_A_CALL;
}

int main(int argc, char **argv)
{
    static struct pool p;
    for (unsigned i = 0; i < OBJECTS; i++)
        p.objects[i] = (struct object){1, i};
    return run_kernel("ref_count", argc, argv, variant(argc, argv) ? measure_plain : measure, &p);
}
