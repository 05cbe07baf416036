/* SPDX-License-Identifier: MIT */
/* A program that says which phase it is in and how much it did. It has a tag "phase" with four named values, and
 * counters "work" (iterations) and "changes" (phase changes). Each phase does another kind of work, so that
 * cycles per iteration differ. With --truth FILE it also notes each change with rdtscp, what an observer
 * should have seen.
 *
 *      phases [--seconds S] [--span-us U] [--threads N] [--truth FILE]
 *
 * A phase lasts U microseconds on average (default 20), uniform in U/2 to 3U/2, by a fixed pseudo-random
 * sequence. FILE is text: "tsc_per_us X", then a line for each change "thread tid tsc phase work". At `tsc`
 * that thread had done `work` iterations and entered `phase`. The last one of a thread enters "none". */
#include "signals/cyclescope.h"
#include "signals/cyclescope_measure.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum phase { NONE, HASH, DIVIDE, CHASE, STREAM, N_PHASES };
static const char *const phase_names[N_PHASES] = {"none", "hash", "divide", "chase", "stream"};

#define CHANGES_MAX 2000000u
#define RING 512u /* 4 KiB: stays in the first-level cache */

struct change {
    uint64_t tsc, work;
    uint32_t phase;
};

struct worker {
    pthread_t thread;
    pid_t tid;
    unsigned number;
    uint64_t end_ns;
    struct change *log; /* NULL = no truth wanted */
    size_t n_log;
    uint64_t ring[RING], result;
};

static cs_signal phase_signal, work_signal, changes_signal;
static double span_us = 20;
static double tsc_per_us;

static uint64_t monotonic_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* One iteration of each kind; the counter goes up by one for each. */
static uint64_t iterate(struct worker *w, enum phase phase, uint64_t x)
{
    switch (phase) {
    case HASH:
        for (unsigned i = 0; i < 8; i++)
            x = (x ^ (x >> 29)) * 0x9e3779b97f4a7c15ull;
        return x;
    case DIVIDE:
        for (unsigned i = 0; i < 8; i++)
            x = 0xfedcba9876543210ull / (x | 0x8000001u) + x;
        return x;
    case CHASE:
        for (unsigned i = 0; i < 16; i++)
            x = w->ring[x % RING];
        return x;
    default:
        for (unsigned i = 0; i < 64; i++)
            w->ring[i] += x + i;
        return x + w->ring[x % 64];
    }
}

static void enter(struct worker *w, enum phase phase)
{
    if (w->log && w->n_log < CHANGES_MAX) {
        w->log[w->n_log].work = cs_get(work_signal);
        w->log[w->n_log].phase = phase;
        w->log[w->n_log++].tsc = cs_clock_end();
    }
    cs_set(phase_signal, phase);
    cs_add(changes_signal, 1);
}

static void *work(void *argument)
{
    struct worker *w = argument;
    uint64_t random = 88172645463325252ull + w->number;
    w->tid = (pid_t)syscall(SYS_gettid);
    for (uint64_t i = 0; i < RING; i++)
        w->ring[i] = (i * 167 + 91) % RING;
    enum phase phase = HASH;
    while (monotonic_ns() < w->end_ns && !(w->log && w->n_log + 128 > CHANGES_MAX))
        for (unsigned n = 0; n < 64; n++) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            const double span = span_us * (0.5 + (double)(random >> 11) * 0x1p-53);
            enter(w, phase);
            const uint64_t until = cs_clock_end() + (uint64_t)(span * tsc_per_us);
            do {
                for (unsigned i = 0; i < 4; i++) {
                    w->result = iterate(w, phase, w->result);
                    cs_add(work_signal, 1);
                }
            } while (cs_clock_end() < until);
            phase = phase + 1 < N_PHASES ? phase + 1 : HASH;
        }
    enter(w, NONE);
    return NULL;
}

static double measure_tsc_per_us(void)
{
    const uint64_t t0 = cs_clock_end(), n0 = monotonic_ns();
    usleep(20000);
    return (double)(cs_clock_end() - t0) * 1000 / (double)(monotonic_ns() - n0);
}

static int write_truth(const char *path, const struct worker *workers, unsigned n)
{
    FILE *file = fopen(path, "w");
    if (!file) {
        perror(path);
        return 1;
    }
    fprintf(file, "tsc_per_us %.6f\n", tsc_per_us);
    for (unsigned i = 0; i < n; i++)
        for (size_t k = 0; k < workers[i].n_log; k++)
            fprintf(file, "%u %d %llu %s %llu\n", i, (int)workers[i].tid,
                    (unsigned long long)workers[i].log[k].tsc, phase_names[workers[i].log[k].phase],
                    (unsigned long long)workers[i].log[k].work);
    return fclose(file) != 0;
}

static int usage(void)
{
    fprintf(stderr, "usage: phases [--seconds S] [--span-us U] [--threads N] [--truth FILE]\n");
    return 2;
}

int main(int argc, char **argv)
{
    double seconds = 5;
    unsigned n_threads = 1;
    const char *truth = NULL;
    for (int i = 1; i < argc; i += 2) {
        if (i + 1 == argc)
            return usage();
        if (strcmp(argv[i], "--seconds") == 0)
            seconds = atof(argv[i + 1]);
        else if (strcmp(argv[i], "--span-us") == 0)
            span_us = atof(argv[i + 1]);
        else if (strcmp(argv[i], "--threads") == 0)
            n_threads = (unsigned)atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--truth") == 0)
            truth = argv[i + 1];
        else
            return usage();
    }
    if (!(seconds > 0) || !(span_us > 0) || n_threads < 1 || n_threads > 1000)
        return usage();

    phase_signal = cs_define(CS_ANY_WORD, "phase", CS_TAG);
    work_signal = cs_define(CS_ANY_WORD, "work", CS_COUNTER);
    changes_signal = cs_define(CS_ANY_WORD, "changes", CS_COUNTER);
    for (unsigned p = NONE; p < N_PHASES; p++)
        cs_name(phase_signal, p, phase_names[p]);

    tsc_per_us = measure_tsc_per_us();
    struct worker *workers = calloc(n_threads, sizeof *workers);
    if (!workers)
        return 1;
    for (unsigned i = 0; i < n_threads; i++) {
        workers[i].number = i;
        workers[i].end_ns = monotonic_ns() + (uint64_t)(seconds * 1e9);
        if (truth && !(workers[i].log = malloc(CHANGES_MAX * sizeof *workers[i].log)))
            return 1;
    }
    for (unsigned i = 1; i < n_threads; i++)
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            return 1;
    work(&workers[0]);
    for (unsigned i = 1; i < n_threads; i++)
        pthread_join(workers[i].thread, NULL);
    const int rc = truth ? write_truth(truth, workers, n_threads) : 0;
    for (unsigned i = 0; i < n_threads; i++)
        free(workers[i].log);
    free(workers);
    return rc;
}
