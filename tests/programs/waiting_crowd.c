/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Usage: waiting_crowd SECONDS THREADS, with THREADS threads at any time, each of which lives for 2 to 8 s and is
 * followed by another. They sleep for 0.2 to 1 s, take one of 16 locks whose holders sleep for 1 ms, and compute a
 * little. Logs by its own clocks "slept SECONDS", "locked SECONDS" (waited for locks), "threads N". */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t locks[16];
static _Atomic uint64_t slept_ns, locked_ns, ended;
static uint64_t until_ns;

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void sleep_ns(uint64_t ns)
{
    const uint64_t before = now_ns();
    nanosleep(&(struct timespec){(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)}, NULL);
    slept_ns += now_ns() - before;
}

static void *live(void *number)
{
    unsigned seed = (unsigned)(size_t)number * 2654435761u;
    const uint64_t end = now_ns() + 2000000000u + (uint64_t)rand_r(&seed) % 6000000000u;
    while (now_ns() < end && now_ns() < until_ns) {
        sleep_ns(200000000u + (uint64_t)rand_r(&seed) % 800000000u);
        pthread_mutex_t *lock = &locks[rand_r(&seed) % 16];
        const uint64_t before = now_ns();
        pthread_mutex_lock(lock);
        locked_ns += now_ns() - before;
        sleep_ns(1000000);
        pthread_mutex_unlock(lock);
        for (volatile unsigned i = 0; i < 20000; i++)
            ;
    }
    ended++;
    return NULL;
}

int main(int argc, char **argv)
{
    const unsigned long wanted = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
    pthread_attr_t small;
    uint64_t started = 0;
    if (wanted == 0)
        return 2;
    until_ns = now_ns() + (uint64_t)(atof(argv[1]) * 1e9);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    pthread_attr_setdetachstate(&small, PTHREAD_CREATE_DETACHED);
    for (unsigned i = 0; i < 16; i++)
        pthread_mutex_init(&locks[i], NULL);
    while (now_ns() < until_ns) {
        pthread_t thread;
        while (started - ended < wanted &&
               pthread_create(&thread, &small, live, (void *)(size_t)(started + 1)) == 0)
            started++;
        usleep(20000);
    }
    while (ended < started)
        usleep(20000);
    printf("slept %.3f\nlocked %.3f\nthreads %llu\n", (double)slept_ns / 1e9, (double)locked_ns / 1e9,
           (unsigned long long)started);
    return 0;
}
