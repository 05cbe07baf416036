/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A pool of workers: two wait for work, one indexes all the time: workers SECONDS (of CPU time) */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double end;
static unsigned char page[1 << 16];
static uint64_t words[4096];

__attribute__((noinline)) static uint64_t hash_of(const unsigned char *bytes, size_t n)
{
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ bytes[i]) * 1099511628211u; /* GUILTY */
    return hash;
}

static int done(void)
{
    return (double)clock() / CLOCKS_PER_SEC >= end;
}

static void *index_pages(void *unused)
{
    while (!done()) {
        page[0]++;
        words[hash_of(page, sizeof page) % 4096]++;
    }
    return unused;
}

static void *wait_for_work(void *unused)
{
    while (!done()) {
        memset(page + 100, 7, 1000);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return unused;
}

int main(int argc, char **argv)
{
    static void *(*const work[])(void *) = {wait_for_work, index_pages, wait_for_work};
    static const char *const names[] = {"accept", "indexer", "cleaner"};
    pthread_t threads[3];
    end = argc > 1 ? atof(argv[1]) : 2;
    for (int i = 0; i < 3; i++) {
        pthread_create(&threads[i], NULL, work[i], NULL);
        pthread_setname_np(threads[i], names[i]);
    }
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
