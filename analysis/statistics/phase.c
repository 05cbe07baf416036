/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Invariant: the stretches cover all intervals, in order; joining two keeps that. */
#include "analysis/statistics/phase.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

double cs_phase_distance(const uint64_t *a, const uint64_t *b, size_t n_kinds)
{
    assert(n_kinds > 0);
    double in_a = 0, in_b = 0, apart = 0, noise = 0, variance = 0;
    for (size_t k = 0; k < n_kinds; k++) {
        in_a += (double)a[k];
        in_b += (double)b[k];
    }
    if (in_a == 0 || in_b == 0)
        return in_a == in_b ? 0 : 1;
    for (size_t k = 0; k < n_kinds; k++) {
        double p = (double)(a[k] + b[k]) / (in_a + in_b);
        apart += fabs((double)a[k] / in_a - (double)b[k] / in_b);
        double of_kind = p * (1 - p) * (1 / in_a + 1 / in_b);
        noise += sqrt(of_kind);
        variance += of_kind;
    }
    /* A normal variable is sqrt(2/pi) of its deviation off its mean, on average, and that varies by
     * sqrt(1 - 2/pi) of it. Three of these, because of many neighbours the unluckiest are looked at. */
    return 0.5 * (apart - 0.798 * noise - 3 * 0.603 * sqrt(variance));
}

/* Stretches as a linked list over the intervals; sums[i] is the spread of the stretch that begins at i. */
struct stretches {
    uint64_t *sums;
    size_t *next, *before; /* first interval of the neighbours; n_intervals = none */
    double *gap;           /* distance from the stretch that begins here to the next one */
    size_t n_intervals, n_kinds;
    double threshold;
};

static uint64_t *sum_of(const struct stretches *s, size_t first)
{
    return s->sums + first * s->n_kinds;
}

static uint64_t samples_of(const struct stretches *s, size_t first)
{
    uint64_t samples = 0;
    for (size_t k = 0; k < s->n_kinds; k++)
        samples += sum_of(s, first)[k];
    return samples;
}

static void measure_gap(struct stretches *s, size_t first)
{
    size_t next = s->next[first];
    s->gap[first] =
        next == s->n_intervals ? INFINITY : cs_phase_distance(sum_of(s, first), sum_of(s, next), s->n_kinds);
}

static void join_with_next(struct stretches *s, size_t first)
{
    size_t next = s->next[first], after = s->next[next];
    for (size_t k = 0; k < s->n_kinds; k++)
        sum_of(s, first)[k] += sum_of(s, next)[k];
    s->next[first] = after;
    if (after < s->n_intervals)
        s->before[after] = first;
    measure_gap(s, first);
    if (s->before[first] < s->n_intervals)
        measure_gap(s, s->before[first]);
}

/* Intervals of so few samples look alike or not by chance: they are gathered first, in order; unit: samples;
 * source: trial; shows: tests/run build/tests/unit/analysis/statistics/phase_test */
#ifndef CS_MODEL_PHASE_SAMPLES_MIN
#define CS_MODEL_PHASE_SAMPLES_MIN 30
#endif

static void join_sparse(struct stretches *s)
{
    for (size_t i = 0; i < s->n_intervals; i = s->next[i])
        while (samples_of(s, i) && samples_of(s, i) < CS_MODEL_PHASE_SAMPLES_MIN &&
               s->next[i] < s->n_intervals && samples_of(s, s->next[i]) &&
               samples_of(s, s->next[i]) < CS_MODEL_PHASE_SAMPLES_MIN)
            join_with_next(s, i);
}

static void join_neighbours(struct stretches *s)
{
    for (;;) {
        size_t nearest = s->n_intervals;
        for (size_t i = 0; i < s->n_intervals; i = s->next[i])
            if (s->gap[i] < s->threshold && (nearest == s->n_intervals || s->gap[i] < s->gap[nearest]))
                nearest = i;
        if (nearest == s->n_intervals)
            return;
        join_with_next(s, nearest);
    }
}

/* A change takes one interval, or two where the sampler was late and its samples were spread over both; unit:
 * intervals; source: how samples are collected; shows: tests/run build/tests/unit/analysis/statistics/phase_test */
#ifndef CS_MODEL_PHASE_CHANGE_INTERVALS
#define CS_MODEL_PHASE_CHANGE_INTERVALS 2
#endif

static bool is_short(const struct stretches *s, size_t first)
{
    return first < s->n_intervals && s->next[first] - first == 1 && samples_of(s, first) > 0;
}

/* Single intervals between two longer stretches, each nearer to both than they are to each other, join the
 * nearer one; in the order of time. */
static void join_transitions(struct stretches *s)
{
    for (size_t before = 0, next; before < s->n_intervals; before = next) {
        size_t n = 0;
        bool between = true;
        for (next = s->next[before]; is_short(s, next); next = s->next[next])
            n++;
        if (n == 0 || n > CS_MODEL_PHASE_CHANGE_INTERVALS || next == s->n_intervals ||
            s->next[before] - before < 2 || samples_of(s, before) == 0 || samples_of(s, next) == 0)
            continue;
        double apart = cs_phase_distance(sum_of(s, before), sum_of(s, next), s->n_kinds);
        size_t to_before = 0;
        for (size_t i = s->next[before], at = 0; i != next; i = s->next[i], at++) {
            double from_before = cs_phase_distance(sum_of(s, before), sum_of(s, i), s->n_kinds);
            double from_next = cs_phase_distance(sum_of(s, i), sum_of(s, next), s->n_kinds);
            between = between && from_before < apart && from_next < apart;
            if (from_before < from_next && to_before == at)
                to_before++;
        }
        if (!between)
            continue;
        for (size_t i = 0; i < to_before; i++)
            join_with_next(s, before);
        for (size_t i = to_before; i < n; i++)
            join_with_next(s, s->next[before]);
        next = s->next[before];
    }
}

/* Numbers of the stretches: the nearest earlier phase if it is near enough, else a new one. */
static size_t number_phases(struct stretches *s, struct cs_phase *phases)
{
    size_t n = 0;
    unsigned n_numbers = 0;
    for (size_t i = 0; i < s->n_intervals; i = s->next[i]) {
        struct cs_phase *phase = &phases[n];
        *phase = (struct cs_phase){i, s->next[i] - i, CS_PHASE_IDLE, samples_of(s, i)};
        double nearest = s->threshold;
        for (size_t k = 0; k < n && phase->samples; k++) {
            double apart = phases[k].samples
                               ? cs_phase_distance(sum_of(s, phases[k].first), sum_of(s, i), s->n_kinds)
                               : INFINITY;
            if (apart < nearest) {
                nearest = apart;
                phase->number = phases[k].number;
            }
        }
        if (phase->samples && phase->number == CS_PHASE_IDLE)
            phase->number = n_numbers++;
        n++;
    }
    return n;
}

int64_t cs_phases_find(const uint64_t *counts, size_t n_intervals, size_t n_kinds, double threshold,
                       struct cs_phase *phases)
{
    struct stretches s = {.n_intervals = n_intervals, .n_kinds = n_kinds, .threshold = threshold};
    int64_t n = -ENOMEM;
    if (n_intervals == 0 || n_kinds == 0)
        return 0;
    s.sums = malloc(n_intervals * n_kinds * sizeof *s.sums);
    s.next = calloc(n_intervals, sizeof *s.next);
    s.before = malloc(n_intervals * sizeof *s.before);
    s.gap = malloc(n_intervals * sizeof *s.gap);
    if (!s.sums || !s.next || !s.before || !s.gap)
        goto out;
    memcpy(s.sums, counts, n_intervals * n_kinds * sizeof *s.sums);
    for (size_t i = 0; i < n_intervals; i++) {
        s.next[i] = i + 1;
        s.before[i] = i ? i - 1 : n_intervals;
    }
    for (size_t i = 0; i < n_intervals; i++)
        measure_gap(&s, i);
    join_sparse(&s);
    join_neighbours(&s);
    join_transitions(&s);
    n = (int64_t)number_phases(&s, phases);
    assert(n >= 1 && (size_t)n <= n_intervals);
out:
    free(s.sums);
    free(s.next);
    free(s.before);
    free(s.gap);
    return n;
}
