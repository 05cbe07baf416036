/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A target that knows exactly what an observer should see. It notes the clock at each step of its counter and
 * at each change of its tag. Each thread has its own line, tags and file.
 *
 *      steps SECONDS FILE [THREADS [SPAN_CYCLES]]
 *
 * FILE (FILE.1, FILE.2 and so on for further threads) has 8-byte little-endian words, TSC << 8 | tag. There
 * is one for each step, in order. At that clock the counter "steps" went up by one and from then on the tag
 * "phase" had that value. With several threads the tag's values are 16 * thread + 1 ..., so that a value
 * tells the thread. Steps of the tags take 200, 400, 800 and 1600 cycles, by half more or less at random. A
 * tag lasts SPAN_CYCLES (50000) by half more or less. */
#include "signals/cyclescope.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#define STEPS_MAX (16u << 20)

static cs_signal phase, steps;
static double seconds;
static uint64_t span = 50000;

struct worker {
    pthread_t thread;
    unsigned number;
    uint64_t *log;
    size_t n;
};

static inline uint64_t tsc(void)
{
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high)::"memory");
    return (uint64_t)high << 32 | low;
}

static uint64_t monotonic_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t random_around(uint64_t *state, uint64_t mean)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return mean / 2 + (uint64_t)((unsigned __int128)*state * mean >> 64);
}

static void *work(void *argument)
{
    struct worker *w = argument;
    uint64_t random = 88172645463325252ull + w->number, end_ns = monotonic_ns() + (uint64_t)(seconds * 1e9);
    unsigned kind = 0;
    cs_attach();
    uint64_t now = tsc(), change = now + random_around(&random, span);
    cs_set(phase, 16 * w->number + 1);
    while (w->n < STEPS_MAX) {
        uint64_t due = now + random_around(&random, 200u << kind), tag;
        if (now >= change) {
            kind = (kind + 1) % 4;
            change = now + random_around(&random, span);
            if (monotonic_ns() >= end_ns)
                break;
        }
        tag = 16 * w->number + kind + 1;
        while ((now = tsc()) < due)
            ;
        w->log[w->n++] = now << 8 | tag;
        __builtin_prefetch(&w->log[w->n + 64], 1); /* or what follows waits behind the log's next line */
        cs_add(steps, 1);
        cs_set(phase, tag);
    }
    cs_set(phase, 0); /* what comes now is no step's time */
    return NULL;
}

static int write_log(const char *name, const struct worker *w)
{
    FILE *file = fopen(name, "wb");
    if (!file || fwrite(w->log, sizeof *w->log, w->n, file) != w->n || fclose(file) != 0) {
        perror(name);
        return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: steps SECONDS FILE [THREADS [SPAN_CYCLES]]\n");
        return 2;
    }
    seconds = atof(argv[1]);
    unsigned n = argc > 3 ? (unsigned)atoi(argv[3]) : 1, rc = 0;
    if (argc > 4)
        span = strtoull(argv[4], NULL, 10);
    struct worker workers[8] = {0};
    if (n < 1 || n > 8)
        return 2;
    for (unsigned i = 0; i < n; i++) {
        workers[i].number = i;
        workers[i].log = mmap(NULL, STEPS_MAX * sizeof(uint64_t), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | (n == 1 ? MAP_POPULATE : 0), -1, 0);
        if (workers[i].log == MAP_FAILED)
            return 1;
    }
    phase = cs_define(4, "phase", CS_TAG);
    steps = cs_define(5, "steps", CS_COUNTER);
    for (unsigned i = 1; i < n; i++)
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            return 1;
    work(&workers[0]);
    for (unsigned i = 1; i < n; i++)
        pthread_join(workers[i].thread, NULL);
    for (unsigned i = 0; i < n; i++) {
        char name[512];
        snprintf(name, sizeof name, i ? "%s.%u" : "%s", argv[2], i);
        rc |= (unsigned)write_log(name, &workers[i]);
    }
    return (int)rc;
}
