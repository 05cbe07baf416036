/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counting noise is Poisson; runs of one side that differ by more widen it (pooled chi-square). The chance of many
 * rows becomes a false discovery rate (analysis/statistics/significance.h). */
#include "cli/profile/comparison.h"

#include "analysis/statistics/significance.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define COMMON_FACTOR_MAX 1.15 /* beyond, it is the program that changed */
#define COMPARABLE_MIN 5

static void sum_sides(const struct runs *runs, struct comparison *c)
{
    for (size_t r = 0; r < runs->n_runs; r++) {
        struct side *s = &c->side[runs->run[r].set];
        s->period = (s->period * s->total + runs->run[r].period * runs->run[r].total) /
                    fmax(s->total + runs->run[r].total, 1);
        s->total += runs->run[r].total;
        s->runs++;
    }
}

/* Pooled variance over mean of a row's runs within a side, each run scaled to the same total: 1 = counting
 * noise. */
static double pooled_dispersion(const struct runs *runs)
{
    double chi = 0, freedom = 0;
    for (size_t i = 0; i < runs->n_rows; i++) {
        for (unsigned set = 0; set < 2; set++) {
            double sum = 0, total = 0, n = 0;
            for (size_t r = 0; r < runs->n_runs; r++) {
                if (runs->run[r].set == set) {
                    sum += runs->row[i].samples[r];
                    total += runs->run[r].total;
                    n++;
                }
            }
            if (n < 2 || sum / n < 20)
                continue;
            for (size_t r = 0; r < runs->n_runs; r++) {
                double expected = sum * runs->run[r].total / total;
                if (runs->run[r].set == set && expected > 0)
                    chi += pow(runs->row[i].samples[r] - expected, 2) / expected;
            }
            freedom += n - 1;
        }
    }
    return freedom >= 1 ? fmax(1, chi / freedom) : 1;
}

static double find_common_factor(const struct comparison *c)
{
    double *ratios = malloc((c->n + 1) * sizeof *ratios);
    size_t n = 0;
    for (size_t i = 0; ratios && i < c->n; i++)
        if (c->change[i].a + c->change[i].b > 0.01 * (c->side[0].total + c->side[1].total) &&
            c->change[i].a > 0)
            ratios[n++] = c->change[i].cost_b / c->change[i].cost_a;
    double median = n >= COMPARABLE_MIN ? cs_median(ratios, n) : 1;
    free(ratios);
    return median > 1 / COMMON_FACTOR_MAX && median < COMMON_FACTOR_MAX ? median : 1;
}

static int by_change(const void *left, const void *right)
{
    const struct change *a = left, *b = right;
    if (a->significant != b->significant)
        return a->significant ? -1 : 1;
    double x = fabs(a->cost_b - a->cost_a), y = fabs(b->cost_b - b->cost_a);
    return (x < y) - (x > y);
}

int runs_compare(const struct runs *runs, struct comparison *c)
{
    sum_sides(runs, c);
    c->dispersion = pooled_dispersion(runs);
    c->time = !c->shares && c->side[0].period > 0 && c->side[1].period > 0;
    c->change = calloc(runs->n_rows + 1, sizeof *c->change);
    double *p = malloc((runs->n_rows + 1) * sizeof *p), *q = malloc((runs->n_rows + 1) * sizeof *q);
    if (!c->change || !p || !q) {
        free(p);
        free(q);
        return -ENOMEM;
    }
    /* What one sample of a side weighs in what is compared. */
    double weight[2];
    for (int s = 0; s < 2; s++)
        weight[s] =
            c->shares ? 100 / fmax(c->side[s].total, 1) : (c->time ? c->side[s].period : 1) / c->side[s].runs;
    for (size_t i = 0; i < runs->n_rows; i++) {
        struct change *x = &c->change[c->n++];
        *x = (struct change){.row = &runs->row[i]};
        for (size_t r = 0; r < runs->n_runs; r++)
            *(runs->run[r].set ? &x->b : &x->a) += runs->row[i].samples[r];
        x->cost_a = x->a * weight[0];
        x->cost_b = x->b * weight[1];
    }
    c->common_factor = c->shares ? 1 : find_common_factor(c);
    for (size_t i = 0; i < c->n; i++) {
        struct change *x = &c->change[i];
        x->ratio = x->cost_a > 0 ? x->cost_b / c->common_factor / x->cost_a : (double)INFINITY;
        double expect_a = 1 / weight[0], expect_b = c->common_factor / weight[1];
        p[i] = cs_binomial_two_sided(x->a / c->dispersion, (x->a + x->b) / c->dispersion,
                                     expect_a / (expect_a + expect_b));
        x->chance = p[i];
    }
    int rc = cs_false_discovery(p, c->n, q);
    for (size_t i = 0; i < c->n && rc == 0; i++) {
        struct change *x = &c->change[i];
        x->discovery = q[i];
        x->significant = q[i] < COMPARISON_SIGNIFICANT &&
                         (x->ratio > 1 + c->least / 100 || x->ratio < 1 / (1 + c->least / 100));
        c->n_significant += x->significant;
    }
    qsort(c->change, c->n, sizeof *c->change, by_change);
    free(p);
    free(q);
    return rc;
}
