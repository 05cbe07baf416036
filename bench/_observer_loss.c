/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What being observed costs programs that publish method tags, for observer-loss-1200.py, which builds them
 * and reads what this prints:
 *
 *      _observer_loss SECONDS COMMAND...        (a shell command each; its output is dropped)
 *
 * Each program gets SECONDS of short runs. A run is the whole program, started and observed by the product's
 * own coordinator; its cost is its CPU time (which holds no time without a CPU, and none that the hypervisor
 * took). The unobserved program is one with an observer that sleeps all the time, so that nothing else
 * differs. A round is
 *
 *      asleep, at 1200 cycles, asleep, `busy`, asleep, one of the others in turn
 *                                                (as fast as it goes, 300, 12000, `apart`)
 *
 * `busy` is a thread in the observer's place that adds in a register and touches no memory: what a second
 * busy CPU alone costs here. `apart` is an observer that spins at 1200 cycles and reads a line of its own.
 *
 * Prints a line a run: program, way, CPU seconds, achieved period, observed time over CPU time.
 */
#include "bench/ahead.h"
#include "observer/clock.h"
#include "observer/observer.h"
#include "observer/throttle.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *report;

enum way { ASLEEP, AT_1200, BUSY, FULL, AT_300, AT_12000, APART, WAYS };
static const struct {
    const char *name;
    uint64_t period;
} ways[WAYS] = {{"asleep", 0}, {"1200", 1200},   {"busy", 0}, {"0", 0},
                {"300", 300},  {"12000", 12000}, {"apart", 0}};

struct spinner {
    struct cs_loop loop;
    volatile uint64_t own[16];
    unsigned cpu;
    bool busy;
} __attribute__((aligned(128)));

static void *spin(void *arg)
{
    struct spinner *s = arg;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(s->cpu, &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
    while (s->busy && !__atomic_load_n(&s->loop.stop, __ATOMIC_RELAXED)) /* the same look at a quiet line */
        for (uint64_t k = 0; k < 1000; k++)
            __asm__ volatile("" : "+r"(k));
    while (!__atomic_load_n(&s->loop.stop, __ATOMIC_RELAXED)) {
        uint64_t now = cs_clock_ordered();
        (void)s->own[0];
        cs_throttle(&s->loop, now);
    }
    return NULL;
}

struct outcome {
    double cpu_seconds, period, seen;
};

static int once(const char *command, enum way way, struct outcome *out)
{
    char *argv[] = {"sh", "-c", NULL, NULL};
    char line[2048];
    struct cs_observe_wish wish;
    struct cs_observation *o = NULL;
    struct cs_error err;
    static struct spinner spinner;
    pthread_t thread;
    snprintf(line, sizeof line, "exec %s >/dev/null", command);
    argv[2] = line;
    cs_observe_defaults(&wish);
    wish.argv = argv;
    wish.signals[0] = "code";
    wish.n_signals = 1;
    wish.follow = CS_FOLLOW_NEVER;
    const bool beside =
        way == BUSY || way == APART; /* a thread of our own has the CPU, the observer sleeps */
    wish.period_cycles = way == ASLEEP || beside ? (uint64_t)(cs_clock_hz() * 0.5) : ways[way].period;
    int rc = cs_observe_start(&wish, &o, &err);
    bool spins = rc == 0 && beside;
    if (spins) {
        memset(&spinner, 0, sizeof spinner);
        spinner.busy = way == BUSY;
        spinner.cpu = cs_observe_result(o)->placement.observer;
        spinner.loop.period_cycles = 1200;
        spinner.loop.random = 1;
        pthread_create(&thread, NULL, spin, &spinner);
    }
    if (rc == 0)
        rc = cs_observe_run(o, &err);
    if (spins) {
        __atomic_store_n(&spinner.loop.stop, 1, __ATOMIC_RELAXED);
        pthread_join(thread, NULL);
    }
    if (rc < 0) {
        fprintf(stderr, "observer-loss: %s\n", err.text);
    } else if (cs_observe_result(o)->exit_code != 0) {
        fprintf(stderr, "observer-loss: %s failed\n", command);
        rc = -1;
    } else {
        const struct cs_observed *seen = cs_observe_result(o);
        const struct cs_sink *s = seen->sink;
        double cycles = (double)(s->last - s->first);
        out->cpu_seconds = seen->target_cpu_seconds;
        out->period = s->samples > 1 ? cycles / (double)s->samples : 0;
        out->seen = cycles / seen->cycles_per_second / seen->target_cpu_seconds;
    }
    cs_observe_close(o);
    return rc;
}

static int compare(unsigned program, const char *command, double seconds)
{
    struct outcome after, seen;
    const double end = (double)cs_clock() + seconds * cs_clock_hz();
    if (once(command, ASLEEP, &after) < 0) /* warms caches */
        return -1;
    for (unsigned i = 0; i < 6 || (double)cs_clock() < end; i++) {
        enum way way = i % 3 == 0 ? AT_1200 : i % 3 == 1 ? BUSY : FULL + i / 3 % (WAYS - FULL);
        if (once(command, way, &seen) < 0 || once(command, ASLEEP, &after) < 0)
            return -1;
        fprintf(report, "%u %s %.6f %.0f %.3f\n%u asleep %.6f 0 0\n", program, ways[way].name,
                seen.cpu_seconds, seen.period, seen.seen, program, after.cpu_seconds);
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    cs_bench_ahead();
    report = stdout;
    for (int i = 2; i < argc; i++) {
        if (compare((unsigned)i - 2, argv[i], atof(argv[1])) < 0)
            return 1;
        fflush(report);
    }
    return 0;
}
