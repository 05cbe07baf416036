/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A server of one thread counts hits and bytes in atomic counters, as its library does. Variant: plain counters. */
#include "../kernels/kernel.h"

struct server {
    uint64_t hits, bytes, errors, request[1024];
    int plain;
};

static HOT uint64_t serve(void *argument)
{
    struct server *s = argument;
    for (unsigned i = 0; i < ITERATIONS_A_CALL; i++) {
        uint64_t request = s->request[i & 1023], size = (request >> 7) * 0x9e37 >> 20;
        if (s->plain) {
            s->hits++;
            s->bytes += size;
            __asm__ volatile("" ::: "memory");
        } else {
            __atomic_fetch_add(&s->hits, 1, __ATOMIC_SEQ_CST);
            __atomic_fetch_add(&s->bytes, size, __ATOMIC_SEQ_CST);
        }
    }
    return ITERATIONS_A_CALL;
}

int main(int argc, char **argv)
{
    static struct server s;
    uint64_t seed = 66;
    s.plain = variant(argc, argv);
    for (unsigned i = 0; i < 1024; i++)
        s.request[i] = next_random(&seed);
    return run_kernel("hit_counter", argc, argv, serve, &s);
}
