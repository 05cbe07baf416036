/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Each of two threads has a spinning lock and a queue of its own, which another one would take work from if it had none. The
 * locks of all lie in one array of integers. Variant 1: 128 bytes apart. */
#include "pair.h"

enum { JOBS = 5000, QUEUE = 256 };

struct worker {
    _Alignas(128) int *lock;
    uint32_t head, tail;
    uint64_t queue[QUEUE], done;
};

HOT static void work(struct worker *w)
{
    for (uint32_t i = 0; i < JOBS; i++) {
        while (__atomic_exchange_n(w->lock, 1, __ATOMIC_ACQUIRE))
            ;
        w->queue[w->head++ % QUEUE] = i;
        w->done += w->queue[w->tail++ % QUEUE];
        __atomic_store_n(w->lock, 0, __ATOMIC_RELEASE);
    }
}

static uint64_t turn(void *argument)
{
    work(argument);
    return JOBS;
}

int main(int argc, char **argv)
{
    static _Alignas(128) int locks[64];
    static struct worker workers[2];
    workers[0].lock = &locks[0];
    workers[1].lock = &locks[variant(argc, argv) ? 32 : 1];
    return run_pair("own_locks", argc, argv, turn, &workers[0], &workers[1]);
}
