/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a load costs from each level, on this machine, now. A chase runs through a random cycle of lines
 * whose set fits the level and not the one before it. The shortest of several turns counts, as for the
 * clock. A small-page chase of one line a page gives what a page walk adds. Cost: about 0.1 s, 64 MB. */
#include "analysis/machine/machine.h"
#include "analysis/machine/time_base.h"
#include "store/base/clock.h"
#include "store/base/order.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>

static uint64_t draw(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Links `n` places, `stride` bytes apart (each shifted by a line so that pages don't collide in one set), to
 * one random cycle (Sattolo). */
static void link_cycle(char *base, size_t n, size_t stride, size_t shift, uint32_t *order)
{
    uint64_t seed = 0x9e3779b97f4a7c15;
    if (n < 2)
        return;
    for (size_t i = 0; i < n; i++)
        order[i] = (uint32_t)i;
    for (size_t i = n - 1; i > 0; i--) {
        size_t j = draw(&seed) % i;
        uint32_t t = order[i];
        order[i] = order[j];
        order[j] = t;
    }
    for (size_t i = 0; i < n; i++) {
        size_t from = i, to = order[i];
        *(void **)(base + from * stride + from * shift % 4096 / 64 * 64) =
            base + to * stride + to * shift % 4096 / 64 * 64;
    }
}

/* ns a step: the least of `turns` turns of `steps` steps. */
static double chase_ns(void *start, size_t steps, unsigned turns)
{
    double best = 1e18;
    void *volatile sink;
    void *p = start; /* goes on from turn to turn */
    for (unsigned t = 0; t < turns; t++) {
        uint64_t began_ns = cs_clock_ns(CLOCK_MONOTONIC_RAW);
        for (size_t i = 0; i < steps; i++)
            p = *(void *const *)p;
        sink = p;
        double ns = (double)(cs_clock_ns(CLOCK_MONOTONIC_RAW) - began_ns) / (double)steps;
        best = ns < best ? ns : best;
    }
    (void)sink;
    return best;
}

CS_ORDER(ascending, double, cs_order(*a, *b))

/* ns a step of the middle of many turns: for a set of which some lines are near, some far. */
static double middle_chase_ns(char *base, size_t steps)
{
    enum { TURNS = 41 };
    double turns[TURNS];
    for (int t = 0; t < TURNS; t++) /* another part of the cycle each */
        turns[t] = chase_ns(base + (size_t)t * (1 << 20), steps, 1);
    cs_sort(turns, TURNS, ascending);
    return turns[TURNS / 2];
}

/* One step of the ladder. */
static double typical_cycles(char *base, uint64_t bytes, uint32_t line, uint32_t *order, double hz)
{
    enum { TURNS = 15 };
    double turns[TURNS];
    size_t n = bytes / line;
    link_cycle(base, n, line, 0, order);
    (void)chase_ns(base, n, 1);
    for (int t = 0; t < TURNS; t++)
        turns[t] = chase_ns(base + (size_t)t * (bytes / TURNS / line * line), 500, 1);
    cs_sort(turns, TURNS, ascending);
    return turns[TURNS / 2] * hz / 1e9;
}

/* Bytes of the outermost cache that are really had: others may share it. */
static double had_bytes(const struct cs_machine *m)
{
    double near = m->l3.bytes ? m->l3.latency_cycles : m->l2.latency_cycles;
    double bytes = (double)m->l2.bytes;
    for (int i = 0; i < CS_MACHINE_LADDER_STEPS && m->ladder_cycles[i] > 0; i++)
        if (m->ladder_cycles[i] < 2 * near)
            bytes = (double)CS_MACHINE_LADDER_BYTES(i);
    return bytes;
}

/* Each step costs at least what the one before it does. */
static void climb(struct cs_machine *m, char *base, uint32_t *order)
{
    double least = m->l1d.latency_cycles;
    for (int i = 0; i < CS_MACHINE_LADDER_STEPS - 1; i++) {
        double cycles = typical_cycles(base, CS_MACHINE_LADDER_BYTES(i), m->line_bytes, order, m->core_hz);
        least = m->ladder_cycles[i] = cycles > least ? cycles : least;
    }
}

/* Short turns, so that some are undisturbed by who else uses the shared levels and by steal. */
static double level_cycles(char *base, uint64_t bytes, uint32_t line, uint32_t *order, double hz)
{
    size_t n = bytes / line;
    if (n < 2)
        return 0;
    link_cycle(base, n, line, 0, order);
    (void)chase_ns(base, n < 8192 ? n : 8192, 1);
    return chase_ns(base, 500, 40) * hz / 1e9;
}

/* Locked additions to words of two lines in turn, the shortest of several turns. */
static double lock_ns(void)
{
    _Alignas(64) uint64_t words[16] = {0};
    double best = 1e18;
    for (int t = 0; t < 10; t++) {
        uint64_t began_ns = cs_clock_ns(CLOCK_MONOTONIC_RAW);
        for (unsigned i = 0; i < 1000; i++)
            __atomic_fetch_add(&words[i & 15], i, __ATOMIC_SEQ_CST);
        double ns = (double)(cs_clock_ns(CLOCK_MONOTONIC_RAW) - began_ns) / 1000;
        best = ns < best ? ns : best;
    }
    return best;
}

static double cycles_a_turn(void (*thousand)(void *), void *argument, double hz)
{
    double best = 1e18;
    for (int t = 0; t < 10; t++) {
        uint64_t began_ns = cs_clock_ns(CLOCK_MONOTONIC_RAW);
        thousand(argument);
        double ns = (double)(cs_clock_ns(CLOCK_MONOTONIC_RAW) - began_ns) / 1000;
        best = ns < best ? ns : best;
    }
    return best * hz / 1e9;
}

/* A value that goes through memory and back each turn. Which of two stores the load meets is chance: some
 * cores learn a pair of store and load that always belong together and pass the value at once. */
static void forward_thousand(void *argument)
{
    volatile uint64_t *words = argument;
    uint64_t x = 1, random = 1;
    for (unsigned i = 0; i < 1000; i++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        words[0] = x;
        words[1] = x;
        x = words[random >> 63];
    }
    words[2] = x;
}

/* A running total in memory. Cores that pass the value at once take a cycle or two. */
static void update_thousand(void *argument)
{
    volatile uint64_t *words = argument;
    for (unsigned i = 0; i < 1000; i++)
        words[0] += i;
}

/* argument: divisor, then where the result goes. The quotient has some 54 bits. */
static void divide_thousand(void *argument)
{
    volatile uint64_t *words = argument;
    uint64_t x = 1, by = words[0];
    for (unsigned i = 0; i < 1000; i++)
        x = (x | UINT64_C(0x8000000000000000)) / by;
    words[1] = x;
}

static void divide_each_thousand(void *argument)
{
    volatile uint64_t *words = argument;
    uint64_t sum = 0, by = words[0], first = words[2];
    for (unsigned i = 0; i < 1000; i++)
        sum ^= (first + i) / by;
    words[1] = sum;
}

static void measure_core(struct cs_machine *m)
{
    _Alignas(64) uint64_t words[8] = {0}, numbers[3] = {1021, 0, UINT64_C(0x8123456789abcdef)};
    m->lock_cycles = lock_ns() * m->core_hz / 1e9;
    m->forward_cycles = cycles_a_turn(forward_thousand, words, m->core_hz);
    m->update_cycles = cycles_a_turn(update_thousand, words, m->core_hz);
    m->divide_cycles = cycles_a_turn(divide_thousand, numbers, m->core_hz);
    m->divide_each_cycles = cycles_a_turn(divide_each_thousand, numbers, m->core_hz);
}

/* One line a page, of more pages than the last TLB holds. */
static double pages_cycles(const struct cs_machine *m, char *base, size_t pages, uint32_t *order)
{
    link_cycle(base, pages, m->page_bytes, m->line_bytes, order);
    (void)chase_ns(base, pages, 1);
    return chase_ns(base, 500, 40) * m->core_hz / 1e9;
}

static int measure_once(struct cs_machine *m, bool with_ladder, struct cs_error *err)
{
    struct cs_time_base clock;
    int rc = cs_time_base_measure(&clock, err);
    if (rc)
        return rc;
    m->core_hz = clock.core_hz;
    m->tsc_hz = clock.tsc_hz;
    measure_core(m);
    const uint64_t most = 64 << 20, huge = 2 << 20;
    size_t n_order = most / m->line_bytes;
    char *area = mmap(NULL, most + huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint32_t *order = malloc(n_order * sizeof *order);
    rc = 0;
    if (area == MAP_FAILED || !order) {
        rc = cs_fail(err, ENOMEM, "64 MB to measure the caches' latencies could not be had");
        goto out;
    }
    char *base = area + (huge - (uintptr_t)area % huge) % huge;
    (void)madvise(base, most, MADV_NOHUGEPAGE);
    /* One line a page, of four times as many pages as the last TLB holds; the same number of lines on one
     * huge page, below, tells what of it is the data's. */
    size_t many = m->stlb_entries * 2 < 8192 ? m->stlb_entries * 2 : 8192;
    const double far = pages_cycles(m, base, many, order);
    munmap(area, most + huge);
    area = mmap(NULL, most + huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (area == MAP_FAILED) {
        rc = cs_fail(err, ENOMEM, "64 MB to measure the caches' latencies could not be had");
        goto out;
    }
    base = area + (huge - (uintptr_t)area % huge) % huge;
    (void)madvise(base, most, MADV_HUGEPAGE);
    double hz = m->core_hz, data = level_cycles(base, many * m->line_bytes, m->line_bytes, order, hz);
    const double missed = fmax(1 - (double)m->stlb_entries / (double)many, 0.5);
    m->walk_cycles = far > data + 1 ? (far - data) / missed : 1;
    m->huge_walk_cycles = fmax(1, (pages_cycles(m, base, many, order) - data) / missed);
    m->l1d.latency_cycles = level_cycles(base, m->l1d.bytes / 2, m->line_bytes, order, hz);
    m->l2.latency_cycles = level_cycles(base, m->l2.bytes / 2, m->line_bytes, order, hz);
    if (m->l3.bytes) {
        uint64_t set = m->l3.bytes / 4 < 4 * m->l2.bytes ? m->l3.bytes / 2 : 4 * m->l2.bytes;
        m->l3.latency_cycles = level_cycles(base, set < most ? set : most, m->line_bytes, order, hz);
    }
    if (with_ladder)
        climb(m, base, order);
    /* A set larger than the last level, or as large as we dare: the middle turn, less the hits that remain.
     */
    double above = m->l3.bytes ? m->l3.latency_cycles : m->l2.latency_cycles;
    double hits = had_bytes(m) / (double)most;
    hits = hits < 0.6 ? hits : 0.6;
    link_cycle(base, most / m->line_bytes, m->line_bytes, 0, order);
    double middle = middle_chase_ns(base, 500) * hz / 1e9,
           before = m->ladder_cycles[CS_MACHINE_LADDER_STEPS - 2];
    if (with_ladder)
        m->ladder_cycles[CS_MACHINE_LADDER_STEPS - 1] = middle > before ? middle : before;
    double memory = (middle - hits * above) / (1 - hits);
    m->memory_cycles = memory > above * 1.5 ? memory : above * 4;
out:
    free(order);
    if (area != MAP_FAILED)
        munmap(area, most + huge);
    return rc;
}

static double lesser(double a, double b)
{
    return a > 0 && a < b ? a : b;
}

/* Twice: a neighbour's burst of memory traffic outlasts one measurement, seldom two. */
int cs_machine_measure(struct cs_machine *m, struct cs_error *err)
{
    int rc = measure_once(m, true, err);
    struct cs_machine again = *m;
    if (rc == 0)
        rc = measure_once(&again, false, err);
    if (rc)
        return rc;
    m->l1d.latency_cycles = lesser(again.l1d.latency_cycles, m->l1d.latency_cycles);
    m->l2.latency_cycles = lesser(again.l2.latency_cycles, m->l2.latency_cycles);
    m->l3.latency_cycles = lesser(again.l3.latency_cycles, m->l3.latency_cycles);
    m->memory_cycles = lesser(again.memory_cycles, m->memory_cycles);
    m->walk_cycles = lesser(again.walk_cycles, m->walk_cycles);
    m->huge_walk_cycles = lesser(again.huge_walk_cycles, m->huge_walk_cycles);
    m->forward_cycles = lesser(again.forward_cycles, m->forward_cycles);
    m->update_cycles = lesser(again.update_cycles, m->update_cycles);
    m->divide_cycles = lesser(again.divide_cycles, m->divide_cycles);
    m->divide_each_cycles = lesser(again.divide_each_cycles, m->divide_each_cycles);
    m->core_hz = again.core_hz > m->core_hz ? again.core_hz : m->core_hz;
    cs_machine_measure_shared(m);
    return 0;
}
