/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counting noise is Poisson; runs of one side that differ by more widen it (chi-square of the row, drawn towards the usual). The usual
 * is a trend (Robinson, McCarthy and Smyth 2010): a factor on counting noise, and a spread of the shares themselves, which is most of
 * it in large rows. The kernel's functions have one of their own, because they do others' work, too. The chance of many rows becomes a false discovery rate (analysis/statistics/significance.h). */
#include "cli/compare/comparison.h"

#include "analysis/statistics/significance.h"
#include "store/base/order.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COMMON_SHARES_MAX 4.0 /* a function that vanishes leaves so much more of the whole to the others */
#define COMPARABLE_MIN 5
#define LARGE_SHARE 0.01      /* of all samples */
#define DISPERSION_LEAST 1e-3 /* runs that agree exactly have a logarithm, too */
#define TELLING_MEAN_MIN 20   /* samples a run, from which on a row tells of runs and not of counting */
/* Degrees of freedom that all rows together lend to one row's dispersion, where its own runs agree and where not. */
#define CALM_CHANCE 0.1
#define CALM_FREEDOM 40.0
#define RESTLESS_FREEDOM 2.0
/* Relative variances of a share that are tried: from 0.01 % squared to 100 % squared. */
#define SPREADS 65
#define SPREAD_LEAST 1e-8
#define SPREAD_ROWS_MIN 10
#define SPREAD_GAIN_MIN 2.0 /* of log-likelihood, or the factor alone explains the rows */
#define VISIBLE_SD                                                                                           \
    3.86 /* standard deviations: 2.58 for one false alarm in a hundred, 1.28 for nine of ten found */

static void sum_sides(const struct runs *runs, struct comparison *c)
{
    for (size_t r = 0; r < runs->n_runs; r++) {
        if (runs->run[r].set > 1)
            continue;
        struct side *s = &c->side[runs->run[r].set];
        s->period = (s->period * s->total + runs->run[r].period * runs->run[r].total) /
                    fmax(s->total + runs->run[r].total, 1);
        s->total += runs->run[r].total;
        s->runs++;
    }
}

/* What each run is compared at: its total or, where times are compared, the median ratio of its large functions to their means (Anders
 * and Huber 2010), as the sides are compared by theirs. A run with more of somebody else's work isn't a run that differs. */
static double *sizes_of(const struct runs *runs, const struct comparison *c)
{
    double *size = calloc(runs->n_runs + 1, sizeof *size), *mean = malloc((runs->n_rows + 1) * sizeof *mean);
    double *ratio = malloc((runs->n_rows + 1) * sizeof *ratio), whole = 0;
    size_t n = 0;
    for (size_t r = 0; r < runs->n_runs; r++)
        whole += runs->run[r].total;
    for (size_t i = 0; mean && i < runs->n_rows; i++) {
        mean[i] = 0;
        for (size_t r = 0; r < runs->n_runs; r++)
            mean[i] += runs->row[i].samples[r] / (double)runs->n_runs;
        mean[i] = mean[i] * (double)runs->n_runs > LARGE_SHARE * whole ? mean[i] : 0;
        n += mean[i] > 0;
    }
    for (size_t r = 0; size && mean && ratio && r < runs->n_runs; r++) {
        size_t k = 0;
        for (size_t i = 0; i < runs->n_rows; i++)
            if (mean[i] > 0)
                ratio[k++] = runs->row[i].samples[r] / mean[i];
        const bool by_rows = n >= COMPARABLE_MIN && (!c->shares || c->per_work);
        size[r] = by_rows ? cs_median(ratio, k) * whole / (double)runs->n_runs : runs->run[r].total;
    }
    const bool done = mean && ratio;
    free(mean);
    free(ratio);
    if (!done) {
        free(size);
        size = NULL;
    }
    return size;
}

/* Chi-square of a row's runs within their sets, each run scaled to the same size, and its degrees of freedom. */
static double row_chi(const struct runs *runs, const double *size, const struct run_row *row,
                      double least_mean, double *freedom)
{
    double chi = 0;
    *freedom = 0;
    for (unsigned set = 0; set < runs->n_sets; set++) {
        double sum = 0, total = 0, n = 0;
        for (size_t r = 0; r < runs->n_runs; r++) {
            if (runs->run[r].set == set) {
                sum += row->samples[r];
                total += size[r];
                n++;
            }
        }
        if (n < 2 || sum / n < least_mean)
            continue;
        for (size_t r = 0; r < runs->n_runs; r++) {
            double expected = sum * size[r] / total;
            if (runs->run[r].set == set && expected > 0)
                chi += pow(row->samples[r] - expected, 2) / expected;
        }
        *freedom += n - 1;
    }
    return chi;
}

/* Samples of a row that a run of usual size has. */
static double row_mean(const struct runs *runs, const struct run_row *row)
{
    double sum = 0, total = 0, squares = 0;
    for (size_t r = 0; r < runs->n_runs; r++) {
        sum += row->samples[r];
        total += runs->run[r].total;
        squares += pow(runs->run[r].total, 2);
    }
    return total > 0 ? sum / total * (squares / total) : 0;
}

static bool of_kernel(const struct run_row *row)
{
    assert(row);
    return row->image && strcmp(row->image, "[kernel]") == 0;
}

static double usual_dispersion(const struct comparison *c, const struct run_row *row, double mean)
{
    const struct usual *usual = &c->usual[of_kernel(row)];
    return usual->dispersion * (1 + usual->spread * mean);
}

double comparison_spread_percent(const struct comparison *c)
{
    return 100 * sqrt(c->usual[0].dispersion * c->usual[0].spread);
}

struct dispersed {
    double mean, dispersion; /* variance over mean, without its bias as a median */
};

/* The middle row's dispersion where `spread` is taken out: the mean of all would be that of a few restless rows. `misfit` is what the
 * logarithms of all differ by. */
static double dispersion_with(double spread, const struct dispersed *row, size_t n, double *rest,
                              double *misfit)
{
    for (size_t i = 0; i < n; i++)
        rest[i] = row[i].dispersion / (1 + spread * row[i].mean);
    double usual = n ? fmax(1, cs_median(rest, n)) : 1;
    *misfit = 0;
    for (size_t i = 0; i < n; i++)
        *misfit += fabs(log(fmax(rest[i], DISPERSION_LEAST) / usual));
    return usual;
}

enum { PROGRAM, KERNEL, BOTH };

/* False: too few rows tell. */
static bool fit_usual(const struct runs *runs, const double *size, int whose, struct dispersed *row,
                      double *rest, struct usual *usual)
{
    double freedom, least, misfit;
    size_t n = 0;
    for (size_t i = 0; i < runs->n_rows; i++) {
        if (whose != BOTH && whose != of_kernel(&runs->row[i]))
            continue;
        double chi = row_chi(runs, size, &runs->row[i], TELLING_MEAN_MIN, &freedom);
        if (freedom >= 1)
            row[n++] = (struct dispersed){/* Wilson and Hilferty's median of chi-square */
                                          row_mean(runs, &runs->row[i]),
                                          chi / (freedom * pow(1 - 2 / (9 * freedom), 3))};
    }
    if (whose != BOTH && n < COMPARABLE_MIN)
        return false;
    *usual = (struct usual){dispersion_with(0, row, n, rest, &least), 0};
    const double alone = least;
    for (unsigned k = 0; n >= SPREAD_ROWS_MIN && k < SPREADS; k++) {
        double spread = pow(SPREAD_LEAST, 1 - k / (SPREADS - 1.0));
        double dispersion = dispersion_with(spread, row, n, rest, &misfit);
        if (misfit < least && (double)n * log(alone / misfit) > SPREAD_GAIN_MIN) {
            least = misfit;
            *usual = (struct usual){dispersion, spread};
        }
    }
    return true;
}

static int fit_dispersion(const struct runs *runs, const double *size, struct comparison *c)
{
    struct dispersed *row = calloc(runs->n_rows + 1, sizeof *row);
    double *rest = malloc((runs->n_rows + 1) * sizeof *rest);
    const int rc = row && rest ? 0 : -ENOMEM;
    for (int whose = PROGRAM; rc == 0 && whose <= KERNEL; whose++)
        if (!fit_usual(runs, size, whose, row, rest, &c->usual[whose]))
            (void)fit_usual(runs, size, BOTH, row, rest, &c->usual[whose]);
    free(row);
    free(rest);
    return rc;
}

/* Chance that n samples fall as far from a share p of them as a, by counting alone and by what runs differ by. */
static double chance_of(const struct runs *runs, const double *size, const struct comparison *c,
                        const struct change *x, double p)
{
    double n = x->a + x->b, freedom, chi = row_chi(runs, size, x->row, 0, &freedom);
    double counting = cs_binomial_two_sided(x->a, n, p);
    if (!(c->side[0].runs > 1 || c->side[1].runs > 1) || !(n > 0))
        return counting;
    /* A row that is as calm as most is taken for one of them; any other one is known by its own few runs. */
    double usual = usual_dispersion(c, x->row, row_mean(runs, x->row));
    bool calm = cs_chi_square_above(chi / usual, freedom) > CALM_CHANCE;
    double prior = calm ? CALM_FREEDOM : RESTLESS_FREEDOM;
    double dispersion = fmax(1, (chi + prior * usual) / (freedom + prior));
    double t = (x->a - n * p) / sqrt(n * p * (1 - p) * dispersion);
    return fmax(counting, cs_student_two_sided(t, freedom + prior));
}

/* Welch's test of the runs' costs; no run is surer than its counts. */
static void compare_totals(const struct runs *runs, struct comparison *c)
{
    double freedom = 0;
    for (unsigned set = 0; set < 2; set++) {
        struct side *s = &c->side[set];
        double squares = 0, counting = 0;
        for (size_t r = 0; r < runs->n_runs; r++)
            if (runs->run[r].set == set)
                s->cost += runs->run[r].total * (c->time ? runs->run[r].period : 1) / s->runs;
        for (size_t r = 0; r < runs->n_runs; r++) {
            double unit = c->time ? runs->run[r].period : 1;
            if (runs->run[r].set == set) {
                squares += pow(runs->run[r].total * unit - s->cost, 2);
                counting += runs->run[r].total * unit * unit;
            }
        }
        s->variance = s->runs > 1 ? fmax(squares / (s->runs - 1), counting / s->runs) / s->runs : 0;
        freedom += s->runs > 1 ? pow(s->variance, 2) / (s->runs - 1) : 0;
    }
    const struct side *a = &c->side[0], *b = &c->side[1];
    double variance = a->variance + b->variance;
    c->all = (struct total_change){.ratio = a->cost > 0 ? b->cost / a->cost : (double)INFINITY,
                                   .chance = (double)NAN,
                                   .visible = (double)NAN};
    if (a->runs < 2 || b->runs < 2 || !(variance > 0) || !(a->cost > 0))
        return;
    freedom = pow(variance, 2) / freedom;
    c->all.chance = cs_student_two_sided((b->cost - a->cost) / sqrt(variance), freedom);
    c->all.visible = VISIBLE_SD * sqrt((freedom + 2) / freedom) * sqrt(variance) / a->cost;
    c->all.significant = c->all.chance < COMPARISON_SIGNIFICANT;
}

static double find_common_factor(const struct comparison *c)
{
    double *ratios = malloc((c->n + 1) * sizeof *ratios);
    size_t n = 0;
    for (size_t i = 0; ratios && i < c->n; i++)
        if (c->change[i].a + c->change[i].b > LARGE_SHARE * (c->side[0].total + c->side[1].total) &&
            c->change[i].a > 0)
            ratios[n++] = c->change[i].cost_b / c->change[i].cost_a;
    double median = n >= COMPARABLE_MIN ? cs_median(ratios, n) : 1;
    free(ratios);
    const double most = c->per_work          ? COMMON_SHARES_MAX
                        : c->common_most > 0 ? c->common_most
                                             : COMPARISON_COMMON_FACTOR;
    return median > 1 / most && median < most ? median : 1;
}

CS_ORDER(by_change, struct change, cs_order(b->significant, a->significant),
         cs_order(fabs(b->cost_b - b->cost_a), fabs(a->cost_b - a->cost_a)))

int runs_compare(const struct runs *runs, struct comparison *c)
{
    assert(!c->change);
    sum_sides(runs, c);
    c->time = !c->shares && c->side[0].period > 0 && c->side[1].period > 0;
    if (c->least < 0)
        c->least = c->side[0].runs > 1 && c->side[1].runs > 1 ? COMPARISON_LEAST_CHANGE_OF_RUNS
                                                              : COMPARISON_LEAST_CHANGE;
    compare_totals(runs, c);
    c->change = calloc(runs->n_rows + 1, sizeof *c->change);
    double *p = malloc((runs->n_rows + 1) * sizeof *p), *q = malloc((runs->n_rows + 1) * sizeof *q);
    double *size = sizes_of(runs, c);
    int rc = c->change && p && q && size ? fit_dispersion(runs, size, c) : -ENOMEM;
    if (rc < 0)
        goto out;
    /* What one sample of a side weighs in what is compared. */
    double weight[2];
    for (int s = 0; s < 2; s++)
        weight[s] =
            c->shares ? 100 / fmax(c->side[s].total, 1) : (c->time ? c->side[s].period : 1) / c->side[s].runs;
    for (size_t i = 0; i < runs->n_rows; i++) {
        struct change *x = &c->change[c->n++];
        *x = (struct change){.row = &runs->row[i]};
        for (size_t r = 0; r < runs->n_runs; r++)
            if (runs->run[r].set < 2)
                *(runs->run[r].set ? &x->b : &x->a) += runs->row[i].samples[r];
        x->cost_a = x->a * weight[0];
        x->cost_b = x->b * weight[1];
    }
    c->common_factor = c->shares && !c->per_work ? 1 : find_common_factor(c);
    for (size_t i = 0; i < c->n; i++) {
        struct change *x = &c->change[i];
        x->ratio = x->cost_a > 0 ? x->cost_b / c->common_factor / x->cost_a : (double)INFINITY;
        double expect_a = 1 / weight[0], expect_b = c->common_factor / weight[1];
        x->chance = chance_of(runs, size, c, x, expect_a / (expect_a + expect_b));
        if (c->per_work && c->common_factor != 1)
            x->chance = fmax(x->chance, chance_of(runs, size, c, x, expect_a / (expect_a + 1 / weight[1])));
        p[i] = x->chance;
    }
    rc = cs_false_discovery(p, c->n, c->tests > c->n ? c->tests : c->n, q);
    for (size_t i = 0; i < c->n && rc == 0; i++) {
        struct change *x = &c->change[i];
        x->discovery = q[i];
        x->significant = q[i] < COMPARISON_SIGNIFICANT &&
                         (x->ratio > 1 + c->least / 100 || x->ratio < 1 / (1 + c->least / 100));
        c->n_significant += x->significant;
    }
    cs_sort(c->change, c->n, by_change);
out:
    free(p);
    free(q);
    free(size);
    return rc;
}
