/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a sample costs in the observer's own loops, against hand-written loops that do nothing but the same
 * loads and clock readings: the tag alone as fast as it goes, and the tag with one and with three software
 * counters bracketed by rdtscp. Each with a line that nobody writes and with one that another CPU writes all
 * the time. A round is bare, ours, ours, bare, a few milliseconds each, in CPU time of the loop's thread
 * (time without a CPU is nobody's cost); a run in which the writer was away is made again. A figure is the
 * median of the rounds' ratios.
 *
 * Where the line is written, both loops see the same traffic only if they read at the same rate: cost a
 * sample is then dominated by the line's way. For the tag alone the bare loop's loads come in bursts of
 * thousands while the line is here, so the figure there is also given a changed value seen ("changes").
 *
 * What is ours in the figure of a written line, by three controls in the same rounds:
 *  - "as late": the bare loop, made as slow as ours on a quiet line by multiplications in a register, few and
 *    each waiting for the last. It shows what being later costs: the writer has the line back oftener.
 *  - "as many": the same by instructions that do nothing. They wait for nothing, but each takes its place in
 *    the pipeline: neither a clock reading nor a line on its way gives that back.
 *  - "one tag": ours, while the writer changes the counters and leaves the tag. What is missing there is the
 *    accounting of a changed tag, which a bare loop doesn't do. */
#include "bench/ahead.h"
#include "observer/loop/loop.h"
#include "observer/sample/rule.h"
#include "observer/source/clock.h"
#include "observer/target/placement.h"

#include <math.h>
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

/* One run, as the writer's thread is told of it: it ends the run, too, so that nothing else has to be woken.
 */
enum traffic { QUIET, WRITTEN, ONE_TAG };
struct run {
    enum traffic traffic;
    int *stop;
    uint64_t until;        /* clock; 0 = no run */
    uint64_t longest_away; /* out: cycles between two looks at the clock */
} __attribute__((aligned(128)));

static struct run run;
static int end_writer;
static struct cs_placement cpus;

static void pin(unsigned cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

/* Methods of some 20 to 60 cycles: three counters and a tag. At random: with equal lengths writer and reader
 * fall into step, one way or another. */
static void write_some(uint64_t *count, uint64_t *random, uint64_t tags)
{
    uint64_t n = *count, r = *random;
    for (int i = 0; i < 200; i++) {
        r ^= r << 13, r ^= r >> 7, r ^= r << 17;
        line.words[1] = ++n;
        line.words[2] = n;
        line.words[3] = n;
        line.words[0] = n & tags;
        uint64_t work = n;
        for (unsigned k = 0; k < (r & 15); k++)
            __asm__ volatile("imul %0, %0" : "+r"(work));
    }
    *count = n;
    *random = r;
}

static void *writer(void *arg)
{
    (void)arg;
    pin(cpus.target);
    uint64_t n = 0, random = 88172645463325252ull, last = 0;
    while (!__atomic_load_n(&end_writer, __ATOMIC_RELAXED)) {
        uint64_t until = __atomic_load_n(&run.until, __ATOMIC_ACQUIRE), now = cs_clock();
        if (until == 0) {
            last = 0;
            __builtin_ia32_pause();
            continue;
        }
        if (last && now - last > run.longest_away)
            run.longest_away = now - last;
        last = now;
        if (now >= until) {
            __atomic_store_n(&run.until, 0, __ATOMIC_RELEASE);
            __atomic_store_n(run.stop, 1, __ATOMIC_RELAXED);
        } else if (run.traffic != QUIET) {
            write_some(&n, &random, run.traffic == WRITTEN ? 15 : 0);
        } else {
            __builtin_ia32_pause();
        }
    }
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

/* The same, which counts changes, without a branch: how often there is one to be seen. */
static uint64_t bare_changes(const int *stop, uint64_t *changes)
{
    uint64_t n = 0, last = 0, seen = 0;
    while (!__atomic_load_n(stop, __ATOMIC_RELAXED))
        for (int i = 0; i < 1024; i++, n++) {
            uint64_t value = line.words[0];
            seen += value != last;
            last = value;
        }
    *changes = seen;
    return n;
}

static unsigned multiplications, tens; /* of a bare loop that is to be as slow as ours: before the sample */

static __attribute__((always_inline)) inline uint64_t bare_counters(const int *stop, unsigned counters,
                                                                    unsigned late, unsigned many)
{
    uint64_t n = 0, product = 3;
    while (!__atomic_load_n(stop, __ATOMIC_RELAXED)) {
        for (unsigned k = 0; k < late; k++)
            __asm__ volatile("imul %0, %0" : "+r"(product));
        for (unsigned k = 0; k < many; k++)
            __asm__ volatile("nop; nop; nop; nop; nop; nop; nop");
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

#define BARE(name, counters, late, many)                                                                     \
    static uint64_t name(const int *stop, uint64_t *changes)                                                 \
    {                                                                                                        \
        (void)changes;                                                                                       \
        return bare_counters(stop, counters, late, many);                                                    \
    }
BARE(bare_one, 1, 0, 0)
BARE(bare_one_late, 1, multiplications, 0)
BARE(bare_one_many, 1, 0, tens)
BARE(bare_three, 3, 0, 0)
BARE(bare_three_late, 3, multiplications, 0)
BARE(bare_three_many, 3, 0, tens)

typedef uint64_t bare_loop(const int *stop, uint64_t *changes);

struct ours {
    struct cs_loop loop;
    struct cs_sink *sink;
    cs_loop_run *run;
};

static int prepare(struct ours *o, unsigned counters, struct cs_error *err)
{
    struct cs_dte_rule rule = cs_dte_paper_rule();
    struct cs_shape shape = {.tags = 1, .software = counters, .sink = CS_SINK_AGGREGATE};
    memset(o, 0, sizeof *o);
    rule.same_tag = true;
    rule.gap_cycles = (uint64_t)(cs_clock_hz() * 1e-5);
    cs_observe_memory_rule(&rule, cs_clock_hz(), 0);
    if (cs_sink_open(1, counters, NULL, 0, &rule, &o->sink, err) < 0)
        return -1;
    cs_sink_period(o->sink, 0, cs_clock_hz());
    o->run = cs_loop_variant(&shape);
    o->loop.sink = o->sink;
    o->loop.tags[0] = &line.words[0];
    for (unsigned c = 0; c < counters; c++)
        o->loop.software[c] = &line.words[1 + c];
    return 0;
}

static double cpu_cycles(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return ((double)t.tv_sec + (double)t.tv_nsec * 1e-9) * cs_clock_hz();
}

static uint64_t visits_of(const struct cs_sink *sink)
{
    uint64_t visits = 0;
    for (uint32_t r = 0; r < sink->tags[0]->n_rows; r++)
        visits += sink->tags[0]->rows[r].visits;
    return visits;
}

static unsigned again; /* runs made again because the writer was away */

/* Cycles a sample of the bare loop, or of ours where that is NULL. */
static double one_run(bare_loop *bare, struct ours *o, enum traffic traffic, uint64_t cycles,
                      uint64_t *changes)
{
    double cost = 0;
    for (unsigned tries = 0; tries < 20; tries++) {
        uint64_t samples = o->sink->samples;
        o->loop.stop = 0;
        run.traffic = traffic;
        run.stop = &o->loop.stop;
        run.longest_away = 0;
        double begin = cpu_cycles();
        __atomic_store_n(&run.until, cs_clock() + cycles, __ATOMIC_RELEASE);
        if (bare)
            samples = bare(&o->loop.stop, changes);
        else
            o->run(&o->loop);
        cost = (cpu_cycles() - begin) / (double)(bare ? samples : o->sink->samples - samples);
        if (run.longest_away < cycles / 10)
            break;
        again++;
    }
    return cost;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

struct result {
    double ratio, low, high, ours, bare, per_change, to_be_seen;
    double as_late, as_many, one_tag; /* the controls, as ratios to the bare loop; 0 = not made */
};

#define ROUNDS_MAX 300

struct shape {
    const char *name;
    bare_loop *bare, *late, *many; /* late, many: NULL where there is nothing to compare with */
    unsigned counters;
};

static double median(double *values, unsigned n)
{
    qsort(values, n, sizeof *values, ascending);
    return values[n / 2];
}

/* Sets `amount` so that the slower loop takes `ratio` times as long as the bare one, on a quiet line. */
static void be_as_slow(const struct shape *shape, bare_loop *slower, unsigned *amount, struct ours *o,
                       double ratio, uint64_t cycles)
{
    enum { LOOKS = 7, MOST = 80 };
    for (*amount = 0; *amount < MOST; ++*amount) {
        double ratios[LOOKS];
        for (unsigned i = 0; i < LOOKS; i++)
            ratios[i] = one_run(slower, o, QUIET, cycles / 3, NULL) /
                        one_run(shape->bare, o, QUIET, cycles / 3, NULL);
        if (median(ratios, LOOKS) >= ratio)
            return;
    }
}

static struct result compare(const struct shape *shape, bool written, double quiet_ratio, unsigned rounds,
                             uint64_t cycles)
{
    static double ratios[ROUNDS_MAX], ours[ROUNDS_MAX], bares[ROUNDS_MAX], lates[ROUNDS_MAX],
        manies[ROUNDS_MAX], one_tags[ROUNDS_MAX];
    static struct ours o;
    struct cs_error err;
    const enum traffic traffic = written ? WRITTEN : QUIET;
    const bool controls = written && shape->late;
    if (prepare(&o, shape->counters, &err) < 0) {
        fprintf(stderr, "observer-loop: %s\n", err.text);
        exit(1);
    }
    double spent = 0, to_be_seen = 0;
    uint64_t changes = 0, visits = 0;
    if (controls) {
        be_as_slow(shape, shape->late, &multiplications, &o, quiet_ratio, cycles);
        be_as_slow(shape, shape->many, &tens, &o, quiet_ratio, cycles);
    }
    for (unsigned r = 0; r < rounds; r++) {
        double first = one_run(shape->bare, &o, traffic, cycles, &changes);
        uint64_t before = o.sink->samples, visits_before = visits_of(o.sink);
        ours[r] = one_run(NULL, &o, traffic, cycles, NULL);
        ours[r] = (ours[r] + one_run(NULL, &o, traffic, cycles, NULL)) / 2;
        spent += ours[r] * (double)(o.sink->samples - before);
        visits += visits_of(o.sink) - visits_before;
        bares[r] = (first + one_run(shape->bare, &o, traffic, cycles, &changes)) / 2;
        ratios[r] = ours[r] / bares[r];
        if (controls) {
            lates[r] = one_run(shape->late, &o, traffic, cycles, NULL) / bares[r];
            manies[r] = one_run(shape->many, &o, traffic, cycles, NULL) / bares[r];
            one_tags[r] = one_run(NULL, &o, ONE_TAG, cycles, NULL);
            one_tags[r] /= one_run(shape->bare, &o, ONE_TAG, cycles, NULL);
        }
        if (shape->counters == 0 && written && r < 40) { /* cost a sample times samples is cycles */
            one_run(bare_changes, &o, traffic, cycles, &changes);
            to_be_seen += (double)cycles / (double)(changes + 1) / (rounds < 40 ? rounds : 40);
        }
    }
    cs_sink_close(o.sink);
    qsort(ratios, rounds, sizeof *ratios, ascending);
    return (struct result){.ratio = ratios[rounds / 2],
                           .low = ratios[rounds / 4],
                           .high = ratios[rounds - 1 - rounds / 4],
                           .ours = median(ours, rounds),
                           .bare = median(bares, rounds),
                           .per_change = visits ? spent / (double)visits : 0,
                           .to_be_seen = to_be_seen,
                           .as_late = controls ? median(lates, rounds) : 0,
                           .as_many = controls ? median(manies, rounds) : 0,
                           .one_tag = controls ? median(one_tags, rounds) : 0};
}

int main(int argc, char **argv)
{
    bool quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
    struct cs_topology *topology;
    struct cs_error err;
    pthread_t thread;
    cs_bench_ahead();
    if (cs_topology_open(NULL, &topology, &err) < 0 ||
        cs_placement_choose(topology, CS_ANY_CPU, CS_ANY_CPU, false, NULL, &cpus, &err) < 0) {
        fprintf(stderr, "observer-loop: %s\n", err.text);
        return 1;
    }
    cs_topology_close(topology);
    pin(cpus.observer);
    pthread_create(&thread, NULL, writer, NULL);
    static const struct shape shapes[] = {{"tag", bare_tag, NULL, NULL, 0},
                                          {"tag + 1", bare_one, bare_one_late, bare_one_many, 1},
                                          {"tag + 3", bare_three, bare_three_late, bare_three_many, 3}};
    unsigned rounds = quick ? 40 : ROUNDS_MAX;
    const uint64_t cycles = (uint64_t)(cs_clock_hz() * 3e-3);
    double worst = 0, noise = 0, quiet_ratio = 1;
    char detail[2400] = "";
    size_t n = 0;
    for (unsigned s = 0; s < 3; s++)
        for (int written = 0; written < 2; written++) {
            struct result r = compare(&shapes[s], written, quiet_ratio, rounds, cycles);
            if (!written)
                quiet_ratio = r.ratio;
            printf("%-8s %-8s ours %8.2f bare %8.2f cycles a sample, ratio %.3f (quartiles %.3f to %.3f)",
                   shapes[s].name, written ? "written" : "quiet", r.ours, r.bare, r.ratio, r.low, r.high);
            if (written)
                printf(", a changed tag seen every %.0f cycles", r.per_change);
            if (r.to_be_seen > 0)
                printf("; a bare loop that counts them sees one every %.0f", r.to_be_seen);
            if (r.as_late > 0)
                printf("; a bare loop as late as ours %.3f, with as many instructions %.3f; ours where the "
                       "tag stays %.3f",
                       r.as_late, r.as_many, r.one_tag);
            printf("\n");
            if (r.ratio > worst) {
                worst = r.ratio;
                noise = (r.high - r.low) / sqrt(rounds); /* of the median, about one standard error */
            }
            n += (size_t)snprintf(
                detail + n, sizeof detail - n,
                "%s{\"shape\": \"%s\", \"line\": \"%s\", \"cycles\": %.3f, \"bare_cycles\": %.3f, "
                "\"ratio\": %.4f, \"cycles_a_change\": %.0f, \"bare_cycles_a_change\": %.0f, "
                "\"as_late_ratio\": %.4f, \"as_many_ratio\": %.4f, \"one_tag_ratio\": %.4f}",
                n ? ", " : "", shapes[s].name, written ? "written" : "quiet", r.ours, r.bare, r.ratio,
                written ? r.per_change : 0, r.to_be_seen, r.as_late, r.as_many, r.one_tag);
        }
    __atomic_store_n(&end_writer, 1, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    printf("{\"name\": \"observer-loop\", \"value\": %.4f, \"unit\": \"ratio to the bare loop, worst\", "
           "\"target\": 1.1, "
           "\"noise\": %.4f, \"detail\": {\"rounds\": %u, \"runs_made_again\": %u, \"shapes\": [%s]}}\n",
           worst, noise, rounds, again, detail);
    return 0;
}
