/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two threads whose hot data lie in one cache line or not: shared_lines WHAT SECONDS. WHAT is one of `plants` below. Each
 * prints the turns that its first thread did, so that a plant and its repair can be compared. */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TURNS 200000
#define HOT __attribute__((noinline, noclone))

struct worker {
    volatile uint64_t *own; /* written by this thread */
    volatile uint64_t *read;
    uint64_t turns;
    int cpu;
    uint64_t (*work)(struct worker *);
};

static double seconds;
static volatile int over;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Plain stores wait in the store buffer, and loads of them take their bytes from there. */
static HOT uint64_t count_events(struct worker *w)
{
    uint64_t x = 1;
    for (int i = 0; i < TURNS; i++) {
        x = x * 6364136223846793005ULL + 1442695040888963407ULL;
        w->own[0]++;
        w->own[1] += x >> 63;
        w->own[2] = x;
        if (x >> 48 == 7)
            w->own[3]++;
    }
    return x;
}

static HOT uint64_t count_atomically(struct worker *w)
{
    uint64_t x = 1;
    for (int i = 0; i < TURNS; i++) {
        x = x * 6364136223846793005ULL + 1442695040888963407ULL;
        __atomic_fetch_add(w->own, x >> 63, __ATOMIC_RELAXED);
    }
    return x;
}

/* Each turn loads where the other thread may have written in between, and depends on it. */
static HOT uint64_t follow_limit(struct worker *w)
{
    uint64_t x = 1;
    for (int i = 0; i < TURNS; i++)
        x = (x ^ *w->read) * 6364136223846793005ULL;
    return x;
}

static HOT uint64_t read_table(struct worker *w)
{
    uint64_t x = 1;
    for (int i = 0; i < TURNS; i++)
        x = x * 6364136223846793005ULL + w->read[x >> 61];
    return x;
}

static void stay_on(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
}

static void *run(void *argument)
{
    struct worker *w = argument;
    volatile uint64_t sum = 0;
    stay_on(w->cpu);
    for (double end = now() + seconds; !over && now() < end; w->turns += TURNS)
        sum += w->work(w);
    return NULL;
}

int main(int argc, char **argv)
{
    static _Alignas(4096) volatile uint64_t line[64];
    static const struct plant {
        const char *name;
        uint64_t (*work[2])(struct worker *);
        int own[2], read[2]; /* words of `line` */
        int cpu[2];
        int in_turns;
    } plants[] = {
        {"false", {count_atomically, count_atomically}, {1, 5}, {32, 48}, {0, 1}, 0},
        {"padded", {count_atomically, count_atomically}, {0, 32}, {16, 48}, {0, 1}, 0},
        {"true", {count_atomically, count_atomically}, {2, 2}, {32, 48}, {0, 1}, 0},
        {"limit", {follow_limit, count_events}, {32, 4}, {0, 48}, {0, 1}, 0},
        {"limit-apart", {follow_limit, count_events}, {32, 48}, {0, 16}, {0, 1}, 0},
        {"buffered", {count_events, count_events}, {0, 4}, {32, 48}, {0, 1}, 0},
        {"buffered-apart", {count_events, count_events}, {0, 32}, {16, 48}, {0, 1}, 0},
        {"read-only", {read_table, read_table}, {32, 48}, {0, 0}, {0, 1}, 0},
        {"one-cpu", {count_atomically, count_atomically}, {1, 5}, {32, 48}, {0, 0}, 0},
        {"in-turns", {count_atomically, count_atomically}, {1, 5}, {32, 48}, {0, 1}, 1},
        {"one-thread", {count_atomically, NULL}, {1, 5}, {32, 48}, {0, 1}, 0},
    };
    seconds = argc > 2 ? atof(argv[2]) : 1;
    for (size_t i = 0; argc > 1 && i < sizeof plants / sizeof *plants; i++) {
        const struct plant *p = &plants[i];
        struct worker w[2];
        pthread_t second;
        if (strcmp(p->name, argv[1]))
            continue;
        for (int k = 0; k < 2; k++)
            w[k] = (struct worker){&line[p->own[k]], &line[p->read[k]], 0, p->cpu[k], p->work[k]};
        if (p->in_turns)
            seconds /= 2;
        if (p->in_turns)
            run(&w[0]);
        if (p->work[1] && pthread_create(&second, NULL, run, &w[1]))
            return 1;
        if (!p->in_turns)
            run(&w[0]);
        over = !p->in_turns;
        if (p->work[1])
            pthread_join(second, NULL);
        printf("%llu\n", (unsigned long long)w[0].turns);
        return 0;
    }
    fprintf(stderr, "shared_lines WHAT SECONDS\n");
    return 2;
}
