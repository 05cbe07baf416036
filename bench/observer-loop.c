/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a sample costs in the observer's own loops, against hand-written loops that do nothing but the same
 * loads and clock readings: the tag alone as fast as it goes, and the tag with one and with three software
 * counters bracketed by rdtscp. Each with a line that nobody writes and with one that another CPU writes all
 * the time. Loops alternate, a figure is the median of the rounds' ratios.
 *
 * Where the line is written, both loops see the same traffic only if they read at the same rate: cost a
 * sample is then dominated by the line's way. For the tag alone the bare loop's loads come in bursts of
 * thousands while the line is here, so the figure there is also given a changed value seen ("changes"). */
#include "observer/clock.h"
#include "observer/loop.h"
#include "observer/placement.h"
#include "observer/rule.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WORDS 16
static struct {
    volatile uint64_t words[WORDS];
} line __attribute__((aligned(128)));

static int writing, end_writer;
static struct cs_placement cpus;

static void pin(unsigned cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

static void *writer(void *arg)
{
    (void)arg;
    pin(cpus.target);
    uint64_t n = 0, random = 88172645463325252ull;
    while (!__atomic_load_n(&end_writer, __ATOMIC_RELAXED)) {
        if (!__atomic_load_n(&writing, __ATOMIC_RELAXED)) {
            __builtin_ia32_pause();
            continue;
        }
        for (int i = 0; i < 1000;
             i++) { /* methods of some 20 to 60 cycles: a counter and a tag. At random: with equal
                       lengths writer and reader fall into step, one way or another */
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            line.words[1] = ++n;
            line.words[2] = n;
            line.words[3] = n;
            line.words[0] = n & 15;
            for (unsigned k = 0; k < (random & 15); k++)
                __asm__ volatile("imul %0, %0" : "+r"(n));
            n = line.words[1];
        }
    }
    return NULL;
}

struct timer_arg {
    struct cs_loop *loop;
    long ns;
};

static void *stop_later(void *arg)
{
    struct timer_arg *t = arg;
    pin(cpus.target); /* sleeps: the observer's CPU stays quiet */
    nanosleep(&(struct timespec){.tv_nsec = t->ns}, NULL);
    __atomic_store_n(&t->loop->stop, 1, __ATOMIC_RELAXED);
    return NULL;
}

/* ---- bare loops: nothing but loads and clocks, until told to stop ---- */
static uint64_t bare_tag(const int *stop, uint64_t *changes)
{
    uint64_t n = 0;
    (void)changes;
    while (!__atomic_load_n(stop, __ATOMIC_RELAXED))
        for (int i = 0; i < 1024; i++, n++)
            (void)line.words[0];
    return n;
}

static uint64_t bare_counters(const int *stop, unsigned counters)
{
    uint64_t n = 0;
    while (!__atomic_load_n(stop, __ATOMIC_RELAXED)) {
        cs_clock_ordered();
        for (unsigned c = 0; c < counters; c++) {
            cs_clock_ordered();
            (void)line.words[1 + c];
        }
        cs_clock_ordered();
        (void)line.words[0];
        n++;
    }
    return n;
}

static uint64_t bare_one(const int *stop, uint64_t *changes)
{
    (void)changes;
    return bare_counters(stop, 1);
}

static uint64_t bare_three(const int *stop, uint64_t *changes)
{
    (void)changes;
    return bare_counters(stop, 3);
}

typedef uint64_t bare_loop(const int *stop, uint64_t *changes);

/* Cycles a sample of the bare loop, or of ours. */
static double one_run(bare_loop *bare, unsigned counters, long ns, uint64_t *visits)
{
    static struct cs_loop loop;
    struct timer_arg timer = {&loop, ns};
    struct cs_dte_rule rule = cs_dte_paper_rule();
    struct cs_shape shape = {.tags = 1, .softs = counters, .sink = CS_SINK_AGGREGATE};
    struct cs_sink *sink = NULL;
    struct cs_error err;
    pthread_t thread;
    uint64_t samples = 0;
    memset(&loop, 0, sizeof loop);
    rule.same_tag = true;
    rule.gap_cycles = (uint64_t)(cs_clock_hz() * 1e-4);
    cs_observe_memory_rule(&rule, cs_clock_hz());
    if (cs_sink_open(1, counters, &rule, &sink, &err) < 0)
        exit(1);
    loop.sink = sink;
    loop.tags[0] = &line.words[0];
    for (unsigned c = 0; c < counters; c++)
        loop.softs[c] = &line.words[1 + c];
    pthread_create(&thread, NULL, stop_later, &timer);
    uint64_t begin = cs_clock_ordered();
    if (bare)
        samples = bare(&loop.stop, NULL);
    else
        cs_loop_variant (&shape)(&loop);
    double cycles = (double)(cs_clock_ordered() - begin);
    pthread_join(thread, NULL);
    if (!bare) {
        samples = sink->samples;
        *visits = 0;
        for (uint32_t r = 0; r < sink->tags[0]->n_rows; r++)
            *visits += sink->tags[0]->rows[r].visits;
    }
    cs_sink_close(sink);
    return cycles / (double)samples;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

struct result {
    double ratio, low, high, ours, bare, per_change;
};

static struct result compare(bare_loop *bare, unsigned counters, bool written, unsigned rounds, long ns)
{
    double ratios[64], ours[64], bares[64], changes[64];
    __atomic_store_n(&writing, written, __ATOMIC_RELAXED);
    for (unsigned r = 0; r < rounds; r++) {
        uint64_t visits;
        bares[r] = one_run(bare, counters, ns, &visits);
        ours[r] = one_run(NULL, counters, ns, &visits);
        changes[r] = visits ? (double)ns * 1e-9 * cs_clock_hz() / (double)visits : 0;
        ratios[r] = ours[r] / bares[r];
    }
    __atomic_store_n(&writing, 0, __ATOMIC_RELAXED);
    qsort(ratios, rounds, sizeof *ratios, ascending);
    qsort(ours, rounds, sizeof *ours, ascending);
    qsort(bares, rounds, sizeof *bares, ascending);
    qsort(changes, rounds, sizeof *changes, ascending);
    return (struct result){ratios[rounds / 2], ratios[rounds / 4], ratios[rounds - 1 - rounds / 4],
                           ours[rounds / 2],   bares[rounds / 2],  changes[rounds / 2]};
}

int main(int argc, char **argv)
{
    bool quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
    struct cs_topology *topology;
    struct cs_error err;
    pthread_t thread;
    if (cs_topology_open(NULL, &topology, &err) < 0 ||
        cs_placement_choose(topology, CS_ANY_CPU, CS_ANY_CPU, false, NULL, &cpus, &err) < 0) {
        fprintf(stderr, "observer-loop: %s\n", err.text);
        return 1;
    }
    cs_topology_close(topology);
    pin(cpus.observer);
    pthread_create(&thread, NULL, writer, NULL);
    static const struct {
        const char *name;
        bare_loop *bare;
        unsigned counters;
    } shapes[] = {{"tag", bare_tag, 0}, {"tag + 1", bare_one, 1}, {"tag + 3", bare_three, 3}};
    unsigned rounds = quick ? 7 : 31;
    double worst = 0, noise = 0;
    char detail[1600] = "";
    size_t n = 0;
    for (unsigned s = 0; s < 3; s++)
        for (int written = 0; written < 2; written++) {
            struct result r = compare(shapes[s].bare, shapes[s].counters, written, rounds, 50000000);
            printf("%-8s %-8s ours %8.2f bare %8.2f cycles a sample, ratio %.3f (quartiles %.3f to %.3f)",
                   shapes[s].name, written ? "written" : "quiet", r.ours, r.bare, r.ratio, r.low, r.high);
            if (written)
                printf(", a changed tag seen every %.0f cycles", r.per_change);
            printf("\n");
            if (r.ratio > worst) {
                worst = r.ratio;
                noise = r.high - r.low;
            }
            n += (size_t)snprintf(
                detail + n, sizeof detail - n,
                "%s{\"shape\": \"%s\", \"line\": \"%s\", \"cycles\": %.3f, \"bare_cycles\": %.3f, "
                "\"ratio\": %.4f, \"cycles_a_change\": %.0f}",
                n ? ", " : "", shapes[s].name, written ? "written" : "quiet", r.ours, r.bare, r.ratio,
                written ? r.per_change : 0);
        }
    __atomic_store_n(&end_writer, 1, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    printf("{\"name\": \"observer-loop\", \"value\": %.4f, \"unit\": \"ratio to the bare loop, worst\", "
           "\"target\": 1.1, "
           "\"noise\": %.4f, \"detail\": [%s]}\n",
           worst, noise, detail);
    return 0;
}
