/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One thread reads records and sums them, another one packs each; a lock and a condition variable lie between. The head signals a
 * record after a part of its sum is made, the base before. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { JOBS = 600, BYTES = 32768, ROOM = 1 };
#ifndef LATE
#define LATE 6 /* percent of the record that is summed before the signal */
#endif
static unsigned char record[ROOM][BYTES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER, taken = PTHREAD_COND_INITIALIZER;
static unsigned n_filled, n_taken;
static uint64_t sums, runs;

static uint64_t next(uint64_t *x)
{
    *x ^= *x << 13, *x ^= *x >> 7, *x ^= *x << 17;
    return *x;
}

__attribute__((noinline)) static void read_record(unsigned char *to, uint64_t *x)
{
    for (unsigned i = 0; i < BYTES; i++)
        to[i] = (unsigned char)(next(x) % 3);
}

struct sum {
    uint64_t a, b;
};

__attribute__((noinline)) static void sum_up(struct sum *s, const unsigned char *from, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        s->a = (s->a + from[i]) % 65521;
        s->b = (s->b + s->a) % 65521;
    }
}

__attribute__((noinline)) static uint64_t pack(const unsigned char *from)
{
    uint64_t n = 0;
    for (unsigned i = 1, length = 1; i < BYTES; i++, length++)
        if (from[i] != from[i - 1] || length == 4) {
            n = n * 31 + length;
            length = 0;
        }
    return n;
}

static void *pack_records(void *none)
{
    for (unsigned job = 0; job < JOBS; job++) {
        pthread_mutex_lock(&lock);
        while (n_filled == job)
            pthread_cond_wait(&filled, &lock);
        pthread_mutex_unlock(&lock);
        runs += pack(record[job % ROOM]);
        pthread_mutex_lock(&lock);
        n_taken++;
        pthread_cond_signal(&taken);
        pthread_mutex_unlock(&lock);
    }
    return none;
}

static void hand_over(void)
{
    pthread_mutex_lock(&lock);
    n_filled++;
    pthread_cond_signal(&filled);
    pthread_mutex_unlock(&lock);
}

static void read_records(void)
{
    uint64_t x = 88172645463325252;
    for (unsigned job = 0; job < JOBS; job++) {
        unsigned char *to = record[job % ROOM];
        pthread_mutex_lock(&lock);
        while (n_filled - n_taken == ROOM)
            pthread_cond_wait(&taken, &lock);
        pthread_mutex_unlock(&lock);
        read_record(to, &x);
        const unsigned early =
            HEAD ? BYTES / 100 * LATE : 0; /* summed before the packer knows of the record */
        struct sum sum = {1, 0};
        sum_up(&sum, to, early);
        hand_over();
        sum_up(&sum, to + early, BYTES - early);
        sums += sum.b << 16 | sum.a;
    }
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, pack_records, NULL);
    read_records();
    pthread_join(thread, NULL);
    printf("%llu %llu\n", (unsigned long long)sums, (unsigned long long)runs);
    return 0;
}
