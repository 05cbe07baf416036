/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Objects with counts of their users, as in an interpreter's loop over an array of values: each step takes a
 * share atomically and gives it back. One thread runs. Fixed: plain counts. */
#include "../kernels/kernel.h"

struct object {
    uint64_t users, value;
};

struct heap {
    struct object objects[128];
    uint64_t sum;
};

static HOT uint64_t sum_shared(void *argument)
{
    struct heap *h = argument;
    uint64_t sum = 0;
    for (unsigned turn = 0; turn < 100; turn++)
        for (unsigned i = 0; i < 128; i++) {
            struct object *o = &h->objects[i];
            __atomic_fetch_add(&o->users, 1, __ATOMIC_RELAXED);
            sum += o->value * turn;
            if (__atomic_sub_fetch(&o->users, 1, __ATOMIC_ACQ_REL) == 0)
                o->value = 0;
        }
    h->sum += sum;
    return 100 * 128;
}

static HOT uint64_t sum_owned(void *argument)
{
    struct heap *h = argument;
    uint64_t sum = 0;
    for (unsigned turn = 0; turn < 100; turn++)
        for (unsigned i = 0; i < 128; i++) {
            volatile struct object *o = &h->objects[i];
            o->users++;
            sum += o->value * turn;
            if (--o->users == 0)
                o->value = 0;
        }
    h->sum += sum;
    return 100 * 128;
}

int main(int argc, char **argv)
{
    static struct heap h;
    for (unsigned i = 0; i < 128; i++)
        h.objects[i] = (struct object){1, i};
    return run_kernel("shares", argc, argv, variant(argc, argv) ? sum_owned : sum_shared, &h);
}
