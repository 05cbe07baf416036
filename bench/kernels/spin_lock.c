/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A ring buffer guarded by a spin lock that nobody contends for: an atomic exchange for each element put in.
 * Variant: without the lock. */
#include "kernel.h"

struct ring {
    int lock;
    unsigned head;
    uint64_t slots[256];
};

static HOT uint64_t put_locked(void *argument)
{
    struct ring *r = argument;
    for (unsigned i = 0; i < ITERATIONS_A_CALL; i++) {
        while (__atomic_exchange_n(&r->lock, 1, __ATOMIC_ACQUIRE))
            ;
        r->slots[r->head++ & 255] = i;
        __atomic_store_n(&r->lock, 0, __ATOMIC_RELEASE);
    }
    return ITERATIONS_A_CALL;
}

static HOT uint64_t put_alone(void *argument)
{
    volatile struct ring *r = argument;
    for (unsigned i = 0; i < ITERATIONS_A_CALL; i++)
        r->slots[r->head++ & 255] = i;
    return ITERATIONS_A_CALL;
}

int main(int argc, char **argv)
{
    static struct ring r;
    return run_kernel("spin_lock", argc, argv, variant(argc, argv) ? put_alone : put_locked, &r);
}
