/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Puts values into a ring and publishes the head after each by a store in total order. Variant: by a store with
 * release order, which a single producer needs. */
#include "../kernels/kernel.h"

struct ring {
    uint64_t head;
    uint64_t slots[1024];
};

static HOT uint64_t publish(void *argument)
{
    struct ring *r = argument;
    uint64_t head = r->head;
    for (unsigned i = 0; i < ITERATIONS_A_CALL; i++) {
        r->slots[head & 1023] = i;
        __atomic_store_n(&r->head, ++head, __ATOMIC_SEQ_CST);
    }
    return ITERATIONS_A_CALL;
}

static HOT uint64_t publish_release(void *argument)
{
    struct ring *r = argument;
    uint64_t head = r->head;
    for (unsigned i = 0; i < ITERATIONS_A_CALL; i++) {
        r->slots[head & 1023] = i;
        __atomic_store_n(&r->head, ++head, __ATOMIC_RELEASE);
    }
    return ITERATIONS_A_CALL;
}

int main(int argc, char **argv)
{
    static struct ring r;
    return run_kernel("publish", argc, argv, variant(argc, argv) ? publish_release : publish, &r);
}
