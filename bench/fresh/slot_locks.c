/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Each slot of a cache has a spinning lock, which the only thread takes and gives back for every update. Variant:
 * without locks. */
#include "../kernels/kernel.h"

struct cache {
    struct slot {
        uint32_t held, hits;
        uint64_t bytes;
    } slots[256];
    int locks;
};

static HOT uint64_t update(void *argument)
{
    struct cache *c = argument;
    for (unsigned i = 0; i < ITERATIONS_A_CALL; i++) {
        struct slot *s = c->slots + (i * 2654435761u >> 24);
        while (__atomic_exchange_n(&s->held, 1, __ATOMIC_ACQUIRE))
            __builtin_ia32_pause();
        s->hits++;
        s->bytes += i;
        __atomic_store_n(&s->held, 0, __ATOMIC_RELEASE);
    }
    return ITERATIONS_A_CALL;
}

static HOT uint64_t update_alone(void *argument)
{
    struct cache *c = argument;
    for (unsigned i = 0; i < ITERATIONS_A_CALL; i++) {
        struct slot *s = c->slots + (i * 2654435761u >> 24);
        *(volatile uint32_t *)&s->held = 1;
        s->hits++;
        s->bytes += i;
        *(volatile uint32_t *)&s->held = 0;
    }
    return ITERATIONS_A_CALL;
}

int main(int argc, char **argv)
{
    static struct cache c;
    return run_kernel("slot_locks", argc, argv, variant(argc, argv) ? update_alone : update, &c);
}
