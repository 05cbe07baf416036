/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two threads make a half of each part. The first one asks after a pause whether the other half is there. The head's pause is longer
 * than it has to be. */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

enum { PARTS = 40, STEPS = 1200000, PAUSE_NS = 1000000 };
#ifndef MORE_NS
#define MORE_NS 120000
#endif
static atomic_uint asked, ready;
static uint64_t halves[2];

__attribute__((noinline)) static uint64_t make_half(uint64_t x, unsigned steps)
{
    for (unsigned i = 0; i < steps; i++)
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    return x;
}

__attribute__((noinline)) static void wait_for_half(unsigned part)
{
    const struct timespec pause = {0, PAUSE_NS + (HEAD ? MORE_NS : 0)};
    do
        ppoll(NULL, 0, &pause, NULL);
    while (atomic_load(&ready) <= part);
}

static void *make_halves(void *none)
{
    uint64_t x = 362436069362436069;
    for (unsigned part = 0; part < PARTS; part++) {
        while (atomic_load(&asked) <= part)
            ppoll(NULL, 0, &(struct timespec){0, 20000}, NULL);
        x = make_half(x, STEPS);
        halves[1] = x;
        atomic_store(&ready, part + 1);
    }
    return none;
}

int main(void)
{
    pthread_t thread;
    uint64_t x = 88172645463325252, sum = 0;
    pthread_create(&thread, NULL, make_halves, NULL);
    for (unsigned part = 0; part < PARTS; part++) {
        atomic_store(&asked, part + 1);
        x = make_half(x, STEPS);
        wait_for_half(part);
        sum += x ^ halves[1];
    }
    pthread_join(thread, NULL);
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}
