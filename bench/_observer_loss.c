/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What being observed costs programs that publish method tags, for observer-loss-1200.py, which builds them
 * so that they count the tag points that they pass, 1 KiB behind their line (where reading the line doesn't
 * take the count away, too), and reads what this prints:
 *
 *      _observer_loss SECONDS COMMAND...        (a shell command each; its output is dropped)
 *
 * Each program gets SECONDS and is started again when it ends. Meanwhile a thread on the observer's CPU does
 * something else in each slice of 1 to 2 ms and notes by how many points the program got on:
 *
 *      idle    it sleeps
 *      add     it adds in a register and touches no memory: what a second busy CPU alone costs here
 *      1200    it reads the tag's line at that period, as the product's loop does (0: as fast as it goes)
 *
 * A round is idle, add, 1200 and one of 0, 300, 12000, `apart` (1200 cycles, a line of its own) in random
 * order. What the host does, and what the program is at, is the same for a round's slices but for chance, and
 * there are hundreds of rounds a second. The observer proper sleeps all the time: it starts the program and
 * places both.
 *
 * Prints a line a slice: program, round, way, cycles, points. */
#include "bench/ahead.h"
#include "observer/loop/throttle.h"
#include "observer/observer.h"
#include "observer/source/clock.h"
#include "signals/reader/reader.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define POINTS_WORD (14 + 128) /* from the thread's line on, in the same page; see above */
#define SETTLES 50000          /* cycles between two slices: what the last one left behind is nobody's */

enum way { IDLE, ADD, AT_1200, FULL, AT_300, AT_12000, APART, WAYS };
static const struct {
    const char *name;
    uint64_t period;
} ways[WAYS] = {{"idle", 0},  {"add", 0},       {"1200", 1200}, {"0", 0},
                {"300", 300}, {"12000", 12000}, {"apart", 1200}};

struct neighbour {
    struct cs_loop loop; /* its stop ends the thread; period and jitter are the throttle's */
    volatile uint64_t own[16];
    const volatile uint64_t *tag, *points;
    unsigned cpu, program;
    uint64_t round, slice_cycles;
} __attribute__((aligned(128)));

static void until(struct neighbour *n, enum way way, uint64_t end)
{
    const volatile uint64_t *line = way == APART ? n->own : n->tag;
    uint64_t now = cs_clock();
    n->loop.period_cycles = ways[way].period;
    if (way == IDLE) {
        const uint64_t ns = end > now ? (uint64_t)((double)(end - now) * 1e9 / cs_clock_hz()) : 0;
        nanosleep(&(struct timespec){.tv_nsec = (long)ns}, NULL);
    }
    while (way == ADD && cs_clock() < end)
        for (uint64_t k = 0; k < 1000; k++)
            __asm__ volatile("" : "+r"(k));
    while (way == FULL && cs_clock() < end)
        for (unsigned k = 0; k < 1024; k++)
            (void)*line;
    while (ways[way].period && (now = cs_clock_ordered()) < end) {
        (void)*line;
        cs_throttle(&n->loop, now);
    }
}

static void slice(struct neighbour *n, enum way way)
{
    uint64_t begin = cs_clock();
    until(n, way, begin + SETTLES);
    begin = cs_clock_ordered();
    const uint64_t points = *n->points;
    until(n, way, begin + n->slice_cycles + cs_jitter(&n->loop.random, n->slice_cycles));
    const uint64_t passed = *n->points - points;
    printf("%u %lu %s %lu %lu\n", n->program, (unsigned long)n->round, ways[way].name,
           (unsigned long)(cs_clock_ordered() - begin), (unsigned long)passed);
}

static void *live(void *arg)
{
    struct neighbour *n = arg;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(n->cpu, &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
    while (!__atomic_load_n(&n->loop.stop, __ATOMIC_RELAXED)) {
        enum way order[4] = {IDLE, ADD, AT_1200, FULL + (unsigned)(n->round % (WAYS - FULL))};
        for (unsigned i = 3; i > 0; i--) {
            const uint64_t k = cs_jitter(&n->loop.random, i);
            const enum way other = order[k];
            order[k] = order[i];
            order[i] = other;
        }
        for (unsigned i = 0; i < 4 && !__atomic_load_n(&n->loop.stop, __ATOMIC_RELAXED); i++)
            slice(n, order[i]);
        n->round++;
    }
    return NULL;
}

/* One run of the program; the rounds go on counting. */
static int once(const char *command, struct neighbour *n)
{
    char *argv[] = {"sh", "-c", NULL, NULL};
    char line[2048];
    struct cs_observe_options options;
    struct cs_observation *o = NULL;
    struct cs_error err;
    pthread_t thread;
    snprintf(line, sizeof line, "exec %s >/dev/null", command);
    argv[2] = line;
    cs_observe_defaults(&options);
    options.argv = argv;
    options.signals[0] = "code";
    options.n_signals = 1;
    options.follow = CS_FOLLOW_NEVER;
    options.period_cycles = (uint64_t)(cs_clock_hz() * 0.5);
    int rc = cs_observe_start(&options, &o, &err);
    bool lives = rc == 0;
    if (lives) {
        struct cs_reader *reader = cs_observe_result(o)->signals;
        n->loop.stop = 0;
        n->cpu = cs_observe_result(o)->placement.observer;
        n->tag = cs_reader_word(reader, 0, cs_observe_result(o)->tag_signals[0]);
        n->points = cs_reader_word(reader, 0, 0) + POINTS_WORD;
        pthread_create(&thread, NULL, live, n);
        rc = cs_observe_run(o, &err);
        __atomic_store_n(&n->loop.stop, 1, __ATOMIC_RELAXED);
        pthread_join(thread, NULL);
    }
    if (rc < 0) {
        fprintf(stderr, "observer-loss: %s\n", err.text);
    } else if (cs_observe_result(o)->exit_code != 0) {
        fprintf(stderr, "observer-loss: %s failed\n", command);
        rc = -1;
    }
    cs_observe_close(o);
    return rc;
}

int main(int argc, char **argv)
{
    static struct neighbour n;
    if (argc < 3)
        return 2;
    cs_bench_ahead();
    n.loop.random = 88172645463325252ull;
    n.slice_cycles = (uint64_t)(cs_clock_hz() * 1e-3);
    for (int i = 2; i < argc; i++) {
        const uint64_t end = cs_clock() + (uint64_t)(atof(argv[1]) * cs_clock_hz());
        n.program = (unsigned)i - 2;
        do {
            if (once(argv[i], &n) < 0)
                return 1;
            fflush(stdout);
        } while (cs_clock() < end);
    }
    return 0;
}
