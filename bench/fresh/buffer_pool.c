/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A pool of buffers is a stack that several threads could share: head and tag in one word, exchanged by comparison.
 * One thread takes a buffer and gives it back. Variant 1: with plain loads and stores. */
#include "../kernels/kernel.h"

enum { BUFFERS = 64, USES = 1 << 14 };

struct pool {
    uint64_t head; /* the tag, and the number of the first buffer */
    uint32_t next[BUFFERS];
    uint32_t used[BUFFERS];
    int plain;
};

static inline int exchange(uint64_t *head, uint64_t old, uint64_t new, int plain)
{
    if (!plain)
        return __atomic_compare_exchange_n(head, &old, new, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
    if (*(volatile uint64_t *)head != old)
        return 0;
    *(volatile uint64_t *)head = new;
    return 1;
}

static inline void use_all(struct pool *p, int plain)
{
    for (int i = 0; i < USES; i++) {
        uint64_t old, new;
        do {
            old = __atomic_load_n(&p->head, __ATOMIC_ACQUIRE);
            new = ((old >> 32) + 1) << 32 | p->next[(uint32_t)old];
        } while (!exchange(&p->head, old, new, plain));
        uint32_t buffer = (uint32_t)old;
        p->used[buffer]++;
        do {
            old = __atomic_load_n(&p->head, __ATOMIC_ACQUIRE);
            p->next[buffer] = (uint32_t)old;
            new = ((old >> 32) + 1) << 32 | buffer;
        } while (!exchange(&p->head, old, new, plain));
    }
}

HOT static void use_buffers(struct pool *p)
{
    use_all(p, 0);
}

HOT static void use_plainly(struct pool *p)
{
    use_all(p, 1);
}

static uint64_t turn(void *argument)
{
    struct pool *p = argument;
    (p->plain ? use_plainly : use_buffers)(p);
    return USES;
}

int main(int argc, char **argv)
{
    static _Alignas(64) struct pool p;
    for (uint32_t i = 0; i < BUFFERS; i++)
        p.next[i] = (i + 1) % BUFFERS;
    p.plain = variant(argc, argv);
    return run_kernel("buffer_pool", argc, argv, turn, &p);
}
