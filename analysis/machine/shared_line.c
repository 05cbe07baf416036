/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a counter in memory costs while another CPU counts in the same cache line. A thread's own stores pass their value on
 * until the store buffer is full of stores that wait for the line. So the loss depends on how long the thread takes from one
 * access to the next. Measured with no work between to much, for one counter and for four. And twice, because
 * where the hypervisor runs the two CPUs changes from moment to moment. The least and the most of these is what can be said
 * of other code. The loss is a median, because moments without the other thread cost nothing; turns in which the other
 * one hardly ran don't count. About 0.05 s of two CPUs, and never much more than 0.15: then it isn't measured. */
#include "analysis/machine/machine.h"
#include "store/base/clock.h"
#include "store/base/kernel_files.h"
#include "store/base/order.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { TURNS = 500, REPEATS = 5, LEAST_REPEATS = 3, ROUNDS = 2, FAR_WORDS = 512 };
#define REPEAT_NS UINT64_C(200000)
#define ALL_NS UINT64_C(150000000) /* where others have the CPUs it would take seconds, and be no measure */

typedef uint64_t loop(volatile uint64_t *words, unsigned mask);

/* Instructions that no compiler removes, merges or moves. */
#define KEEP(x) __asm__ volatile("" : "+r"(x))
#define ADD(x)                                                                                               \
    x += 3;                                                                                                  \
    KEEP(x);
#define MULTIPLY(x)                                                                                          \
    x *= by;                                                                                                 \
    KEEP(x);
#define ADD4 ADD(a) ADD(b) ADD(c) ADD(d)
#define MULTIPLY4 MULTIPLY(a) MULTIPLY(a) MULTIPLY(a) MULTIPLY(a)
#define TIMES4(x) x x x x

#define LOOP(name, work)                                                                                     \
    static __attribute__((noinline)) uint64_t name(volatile uint64_t *words, unsigned mask)                  \
    {                                                                                                        \
        uint64_t a = 1, b = 2, c = 3, d = 4, by = 5;                                                         \
        KEEP(by);                                                                                            \
        for (unsigned i = 0; i < TURNS; i++) {                                                               \
            words[i & mask]++;                                                                               \
            work                                                                                             \
        }                                                                                                    \
        return a + b + c + d;                                                                                \
    }
LOOP(nothing, )
LOOP(add_16, TIMES4(ADD4))
LOOP(multiply_4, MULTIPLY4)
LOOP(multiply_16, TIMES4(MULTIPLY4))

/* By step. */
static loop *const loops[CS_MACHINE_SHARED_STEPS] = {nothing, add_16, multiply_4, multiply_16};

struct other {
    loop *run;
    volatile uint64_t *words;
    unsigned mask;
    atomic_bool over;
    atomic_ullong turns;
};

/* It begins there: a thread that moves itself first waits for its creator's CPU. */
static int create_on(int cpu, pthread_t *thread, void *(*run)(void *), void *argument)
{
    pthread_attr_t attributes;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)cpu, &set);
    int rc = pthread_attr_init(&attributes);
    if (rc)
        return rc;
    rc = pthread_attr_setaffinity_np(&attributes, sizeof set, &set);
    if (rc == 0)
        rc = pthread_create(thread, &attributes, run, argument);
    pthread_attr_destroy(&attributes);
    return rc;
}

static void *run_other(void *argument)
{
    struct other *o = argument;
    while (!atomic_load_explicit(&o->over, memory_order_relaxed)) {
        (void)o->run(o->words, o->mask);
        atomic_fetch_add_explicit(&o->turns, TURNS, memory_order_relaxed);
    }
    return NULL;
}

/* ns a turn of one repeat beside the other thread; NAN where that one ran too little. */
static double beside_ns(loop *run, volatile uint64_t *words, unsigned mask, struct other *o)
{
    const uint64_t limit_ns = 50 * REPEAT_NS, created_ns = cs_clock_ns(CLOCK_MONOTONIC_RAW);
    while (!atomic_load_explicit(&o->turns, memory_order_relaxed))
        if (cs_clock_ns(CLOCK_MONOTONIC_RAW) - created_ns > limit_ns)
            return (double)NAN;
    const uint64_t began = atomic_load(&o->turns), began_ns = cs_clock_ns(CLOCK_MONOTONIC_RAW);
    uint64_t turns = 0, now_ns;
    do {
        (void)run(words, mask);
        turns += TURNS;
        now_ns = cs_clock_ns(CLOCK_MONOTONIC_RAW);
    } while (now_ns - began_ns < REPEAT_NS);
    const uint64_t theirs = atomic_load(&o->turns) - began;
    return theirs >= turns / 4 ? (double)(now_ns - began_ns) / (double)turns : (double)NAN;
}

CS_ORDER(ascending, double, cs_order(*a, *b))

/* Of a turn: the median of repeats (`least`: the shortest); NAN where few are valid. */
static double turn_ns(loop *run, unsigned mask, volatile uint64_t *words, volatile uint64_t *others, int cpu,
                      bool least, uint64_t until_ns)
{
    double ns[REPEATS];
    unsigned n = 0;
    for (int r = 0; r < REPEATS && cs_clock_ns(CLOCK_MONOTONIC_RAW) < until_ns; r++) {
        struct other o = {.run = run, .words = others, .mask = mask};
        pthread_t thread;
        if (create_on(cpu, &thread, run_other, &o))
            return (double)NAN;
        const double t = beside_ns(run, words, mask, &o);
        atomic_store(&o.over, true);
        pthread_join(thread, NULL);
        if (!isnan(t))
            ns[n++] = t;
    }
    if (n < LEAST_REPEATS)
        return (double)NAN;
    cs_sort(ns, n, ascending);
    return ns[least ? 0 : n / 2];
}

struct measuring {
    struct cs_machine *m;
    int second; /* CPU */
};

static void *measure(void *argument)
{
    _Alignas(4096) volatile uint64_t area[2 * FAR_WORDS] = {0};
    const struct measuring *x = argument;
    struct cs_machine *m = x->m;
    double least[CS_MACHINE_SHARED_STEPS], most[CS_MACHINE_SHARED_STEPS];
    const uint64_t until_ns = cs_clock_ns(CLOCK_MONOTONIC_RAW) + ALL_NS;
    for (int k = 0; k < CS_MACHINE_SHARED_STEPS * 2 * ROUNDS; k++) {
        const int step = k / 2 % CS_MACHINE_SHARED_STEPS;
        const unsigned mask = k % 2 ? 3 : 0;
        const double apart = turn_ns(loops[step], mask, area, area + FAR_WORDS, x->second, true, until_ns),
                     shared = turn_ns(loops[step], mask, area, area + 4, x->second, false, until_ns);
        const double lost = fmax(0, shared - apart) * m->core_hz / 1e9;
        if (isnan(apart) || isnan(shared))
            return NULL;
        least[step] = k < 2 * CS_MACHINE_SHARED_STEPS && !mask ? lost : fmin(least[step], lost);
        most[step] = k < 2 * CS_MACHINE_SHARED_STEPS && !mask ? lost : fmax(most[step], lost);
    }
    memcpy(m->shared_least_cycles, least, sizeof least);
    memcpy(m->shared_most_cycles, most, sizeof most);
    return NULL;
}

/* A CPU of another core than `first` that this process may use; -1: there is none. */
static int other_core(const cpu_set_t *allowed, int first)
{
    char own[2][64], core[64], package[64];
    for (int cpu = first; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET((size_t)cpu, allowed))
            continue;
        (void)cs_kernel_line(core, sizeof core, "", "/sys/devices/system/cpu/cpu%d/topology/core_id", cpu);
        (void)cs_kernel_line(package, sizeof package, "",
                             "/sys/devices/system/cpu/cpu%d/topology/physical_package_id", cpu);
        if (cpu == first) {
            snprintf(own[0], sizeof own[0], "%s", core);
            snprintf(own[1], sizeof own[1], "%s", package);
        } else if (strcmp(core, own[0]) != 0 || strcmp(package, own[1]) != 0) {
            return cpu;
        }
    }
    return -1;
}

void cs_machine_measure_shared(struct cs_machine *m)
{
    struct measuring x = {.m = m};
    cpu_set_t allowed;
    pthread_t thread;
    int first = 0;
    memset(m->shared_least_cycles, 0, sizeof m->shared_least_cycles);
    memset(m->shared_most_cycles, 0, sizeof m->shared_most_cycles);
    if (sched_getaffinity(0, sizeof allowed, &allowed) < 0)
        return;
    while (first < CPU_SETSIZE && !CPU_ISSET((size_t)first, &allowed))
        first++;
    x.second = other_core(&allowed, first);
    if (x.second >= 0 && create_on(first, &thread, measure, &x) == 0)
        pthread_join(thread, NULL);
}
