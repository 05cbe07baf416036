/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Three named threads with code of their own: one is busy all the time, one half of it, one hardly: hot_thread [SECONDS] */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

static double until;
static volatile uint64_t sink;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

__attribute__((noinline)) static uint64_t checksum(const unsigned char *bytes, size_t n)
{
    uint64_t sum = 1;
    for (size_t i = 0; i < n; i++)
        sum = sum * 31 + bytes[i];
    return sum;
}

__attribute__((noinline)) static void sort_rows(uint32_t *rows, int n)
{
    for (int i = 1; i < n; i++)
        for (int k = i; k > 0 && rows[k - 1] > rows[k]; k--) {
            uint32_t kept = rows[k];
            rows[k] = rows[k - 1];
            rows[k - 1] = kept;
        }
}

static void rest(double seconds)
{
    nanosleep(&(struct timespec){.tv_nsec = (long)(1e9 * seconds)}, NULL);
}

static void *index_all(void *unused)
{
    unsigned char *bytes = calloc(1, 1 << 16);
    while (bytes && now() < until)
        sink += checksum(bytes, 1 << 16);
    free(bytes);
    return unused;
}

static void *sort_some(void *unused)
{
    static uint32_t rows[2000];
    while (now() < until) {
        for (int i = 0; i < 2000; i++)
            rows[i] = (uint32_t)i * 2654435761u;
        sort_rows(rows, 2000);
        rest(0.001);
    }
    return unused;
}

static void *wait_mostly(void *unused)
{
    while (now() < until)
        rest(0.002);
    return unused;
}

int main(int argc, char **argv)
{
    static void *(*const work[])(void *) = {index_all, sort_some, wait_mostly};
    static const char *const names[] = {"indexer", "sorter", "reader"};
    pthread_t threads[3];
    until = now() + (argc > 1 ? atof(argv[1]) : 2);
    for (int i = 0; i < 3; i++) {
        if (pthread_create(&threads[i], NULL, work[i], NULL) != 0)
            return 1;
        pthread_setname_np(threads[i], names[i]);
    }
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
