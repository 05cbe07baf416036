/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much each burst counts: the time that it stands for, the instructions that its place runs in a time. */
#include "analysis/frequency/edge_flow_internal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RATE_SPREAD 0.8            /* standard deviation of the log of instructions per time between places */
#define PACE_BIAS 0.5              /* the same, left by stretches: they time not all of a place */
#define LONG_INSTRUCTIONS 200000.0 /* a burst's transfers count by 1 / (1 + its length / this) */
#define USUAL_INSTRUCTIONS 16000.0 /* of a burst whose length isn't known */
#define LONG_SHARE (2.0 / 3)       /* of such a burst's transfers, and less: 100,000 instructions and more */

static double uniform(uint64_t *random)
{
    *random += 0x9e3779b97f4a7c15; /* splitmix64: the same store gives the same answer */
    uint64_t x = *random;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    x ^= x >> 31;
    return ((double)(x >> 11) + 0.5) / 9007199254740992.0;
}

double transfers_normal(uint64_t *random)
{
    return sqrt(-2 * log(uniform(random))) * cos(6.283185307179586 * uniform(random));
}

uint64_t transfers_place(uint32_t image, uint64_t offset)
{
    return offset * 64 + image % 64;
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static int by_burst_number(const void *a, const void *b)
{
    const struct beginning *x = a, *y = b;
    return (x->burst > y->burst) - (x->burst < y->burst);
}

/* Index of the burst with that number; UINT32_MAX: none. */
uint32_t transfers_burst_of(const struct windows *w, uint32_t n_bursts, uint64_t number)
{
    const uint64_t *found = n_bursts ? bsearch(&number, w->number, n_bursts, sizeof number, by_number) : NULL;
    return found ? (uint32_t)(found - w->number) : UINT32_MAX;
}

/* A burst's place: that of the branch which it took most, or did at its beginning where that is known. (The
 * weight of its transfers must not depend on where they led: a phase's end would count by the next one's.)
 *
 * And what a transfer counts: where control goes from a branch depends on the phase, so a long burst's
 * thousand transfers from it are neither a thousand draws nor one. */
static void find_places(struct burst_weights *b, struct windows *w, double *best)
{
    for (size_t i = 0; i < w->n; i++) {
        const struct window_row *row = &w->rows[i];
        b->transfers[row->burst] += row->count;
        if (row->count > best[row->burst]) {
            best[row->burst] = row->count;
            b->place[row->burst] = transfers_place(row->image, row->from);
        }
    }
    if (w->n_beginnings)
        qsort(w->beginnings, w->n_beginnings, sizeof *w->beginnings, by_burst_number);
    for (uint32_t i = 0; i < b->n; i++) {
        struct beginning key = {.burst = w->number[i]};
        const struct beginning *found =
            w->n_beginnings ? bsearch(&key, w->beginnings, w->n_beginnings, sizeof key, by_burst_number)
                            : NULL;
        b->beginning[i] = found;
        if (found)
            b->place[i] = found->place;
        b->length[i] = found && found->instructions > 0 ? found->instructions : USUAL_INSTRUCTIONS;
        b->share[i] = 1 / (1 + b->length[i] / LONG_INSTRUCTIONS);
    }
}

/* A long burst that was timed itself has its own rate: its transfers are from the time that it took, however
 * that was. (A short one shows a moment in which its place may have been faster or slower than it is.) */
static void take_own_rates(struct burst_weights *b, const struct windows *w, const struct paces *paces,
                           double *ns, double *instructions)
{
    for (size_t i = 0; i < paces->n; i++) {
        const struct pace_row *row = &paces->rows[i];
        uint32_t burst = transfers_burst_of(w, b->n, row->burst);
        if (burst < UINT32_MAX) {
            ns[burst] += row->ns;
            instructions[burst] += row->instructions;
        }
    }
    for (uint32_t i = 0; i < b->n; i++)
        if (ns[i] > 0 && b->share[i] < LONG_SHARE)
            b->rate[i].weight = instructions[i] / ns[i] / b->mean_rate;
}

static int find_rates(struct burst_weights *b, const struct windows *w, struct paces *paces)
{
    /* A stretch speaks for the place of its burst, whose thread it shows a moment later. */
    for (size_t i = 0; i < paces->n; i++) {
        uint32_t burst = transfers_burst_of(w, b->n, paces->rows[i].burst);
        if (burst < UINT32_MAX)
            paces->rows[i].place = b->place[burst];
    }
    int rc = transfers_rate(paces, b->place, b->n, RATE_SPREAD, b->rate, &b->mean_rate);
    double *ns = calloc(b->n + 1, sizeof *ns), *instructions = calloc(b->n + 1, sizeof *instructions);
    if (rc == 0 && ns && instructions)
        take_own_rates(b, w, paces, ns, instructions);
    else
        rc = -ENOMEM;
    free(ns);
    free(instructions);
    return rc;
}

int transfers_weights_open(struct burst_weights *b, const struct cs_transfers *t, struct windows *w,
                           struct paces *paces)
{
    uint32_t n = t->n_bursts;
    double *best = calloc(n + 1, sizeof *best);
    *b = (struct burst_weights){.n = n,
                                .weight = calloc(n + 1, sizeof *b->weight),
                                .place = calloc(n + 1, sizeof *b->place),
                                .share = calloc(n + 1, sizeof *b->share),
                                .length = calloc(n + 1, sizeof *b->length),
                                .transfers = calloc(n + 1, sizeof *b->transfers),
                                .rate = calloc(n + 1, sizeof *b->rate),
                                .beginning = calloc(n + 1, sizeof *b->beginning)};
    int rc = best && b->weight && b->place && b->share && b->length && b->transfers && b->rate && b->beginning
                 ? 0
                 : -ENOMEM;
    if (rc == 0)
        find_places(b, w, best);
    free(best);
    if (rc == 0)
        rc = transfers_stratify(b->beginning, n, w, &b->strata);
    if (rc == 0)
        b->strata_sums = calloc(b->strata.n + 1, sizeof *b->strata_sums);
    return rc == 0 && b->strata_sums ? find_rates(b, w, paces) : -ENOMEM;
}

/* Time that a burst stands for: within its stratum as much as it tells (its transfers, each by what it
 * counts), all of them together as much as was sampled there; or code whose bursts are short would have too
 * little. Times instructions in that time, by its rate, over its own: the weight of its transfers, 1 in the
 * mean, as transfers have that aren't known by burst. Before: factors of the bursts' time. */
static void weigh(struct burst_weights *b)
{
    double seen = 0, weighed = 0;
    for (uint32_t i = 0; i < b->n; i++)
        b->weight[i] *= b->share[i] * b->length[i];
    transfers_strata_weigh(&b->strata, b->weight, b->n, b->strata_sums);
    for (uint32_t i = 0; i < b->n; i++) {
        b->weight[i] *= b->rate[i].weight / b->length[i];
        seen += b->transfers[i];
        weighed += b->weight[i] * b->transfers[i];
    }
    for (uint32_t i = 0; i < b->n && weighed > 0; i++)
        b->weight[i] *= seen / weighed;
}

void transfers_weights_even(struct burst_weights *b)
{
    for (uint32_t i = 0; i < b->n; i++)
        b->weight[i] = 1;
    weigh(b);
}

void transfers_weights_draw(struct burst_weights *b, uint64_t *random, unsigned round, bool known_bias)
{
    for (uint32_t i = 0; i < b->n; i++)
        b->weight[i] = -log(uniform(random));
    weigh(b);
    for (uint32_t i = 0; i < b->n && !known_bias; i++) {
        uint64_t of_place = b->place[i] * 0x2545f4914f6cdd1d + round;
        double bias = b->mean_rate > 0 ? PACE_BIAS : 0; /* without paces the spread has all of it */
        b->weight[i] *= exp(hypot(b->rate[i].spread, bias) * transfers_normal(&of_place));
    }
}

/* In the time that a burst stands for ran its rate times its transfers an instruction. */
double transfers_weights_scale(const struct burst_weights *b)
{
    double transfers = 0, time = 0;
    for (uint32_t i = 0; i < b->n; i++) {
        transfers += b->weight[i] * b->transfers[i];
        time += b->weight[i] * b->length[i] / b->rate[i].weight;
    }
    return b->mean_rate > 0 && time > 0 ? b->mean_rate * transfers / time : 0;
}

int64_t transfers_number_places(const struct burst_weights *b, uint32_t *of_burst)
{
    uint32_t kept = 0;
    uint64_t *sorted = malloc((b->n + 1) * sizeof *sorted);
    if (!sorted)
        return -ENOMEM;
    memcpy(sorted, b->place, b->n * sizeof *sorted);
    qsort(sorted, b->n, sizeof *sorted, by_number);
    for (uint32_t i = 0; i < b->n; i++)
        if (!kept || sorted[kept - 1] != sorted[i])
            sorted[kept++] = sorted[i];
    for (uint32_t i = 0; i < b->n; i++) {
        const uint64_t *found = bsearch(&b->place[i], sorted, kept, sizeof *sorted, by_number);
        of_burst[i] = (uint32_t)(found - sorted);
    }
    free(sorted);
    return kept;
}

void transfers_weights_fini(struct burst_weights *b)
{
    free(b->weight);
    free(b->place);
    free(b->share);
    free(b->length);
    free(b->transfers);
    free(b->rate);
    free(b->beginning);
    free(b->strata_sums);
    transfers_strata_fini(&b->strata);
}
