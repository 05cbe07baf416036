/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two threads work in rounds. One audits accounts under a lock, the other one posts to them in each round. The head's lock is held
 * over a part of the audit that needs none. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

enum { ROUNDS = 60, BEFORE = 60000, AFTER = 1000000, LOCKED = 150000 };
#ifndef LONGER
#define LONGER 50000 /* steps */
#endif
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t round_begins;
static uint64_t account, audited;

__attribute__((noinline)) static uint64_t steps(uint64_t x, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    return x;
}

__attribute__((noinline)) static void audit(void)
{
    const unsigned more = HEAD ? LONGER : 0;
    pthread_mutex_lock(&lock);
    audited = steps(audited + account + 1, LOCKED + more);
    pthread_mutex_unlock(&lock);
    audited = steps(audited, AFTER / 2 - more);
}

__attribute__((noinline)) static void post(uint64_t x)
{
    pthread_mutex_lock(&lock);
    account += x;
    pthread_mutex_unlock(&lock);
}

static void *audit_rounds(void *none)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        pthread_barrier_wait(&round_begins);
        audit();
    }
    return none;
}

int main(void)
{
    pthread_t thread;
    uint64_t x = 88172645463325252;
    pthread_barrier_init(&round_begins, NULL, 2);
    pthread_create(&thread, NULL, audit_rounds, NULL);
    for (unsigned i = 0; i < ROUNDS; i++) {
        pthread_barrier_wait(&round_begins);
        x = steps(x, BEFORE);
        post(x);
        x = steps(x, AFTER);
    }
    pthread_join(thread, NULL);
    printf("%llu %llu\n", (unsigned long long)account, (unsigned long long)x);
    return 0;
}
