/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/gate/verdict/estimate.h"

#include "analysis/statistics/significance.h"
#include "cli/gate/verdict/verdict.h"
#include "store/base/order.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS 3
#define RUNS_MIN 3
#define PAIRS_MIN                                                                                            \
    6 /* fewer leave so few degrees of freedom that Welch's test finds more, though drift stays in */
#define PAIRS_OF_ORDER 3 /* fewer of one order are fitted nearly exactly, and leave no error */
#define PAIRS_FOR_MACHINE 8
#define MACHINE_EXPLAINS 0.01 /* chance: below, the loop's column stays */
#define TOO_FEW_OF_TEN 1.28   /* standard deviations: nine of ten are found */

double gate_student(double chance, double freedom)
{
    assert(chance > 0 && chance < 1);
    double low = 0, high = 1e6;
    for (int i = 0; i < 200 && high - low > 1e-9 * high; i++) {
        double middle = (low + high) / 2;
        *(cs_student_two_sided(middle, freedom) > chance ? &low : &high) = middle;
    }
    return high;
}

double gate_mean(const struct gate_run *run, size_t n, unsigned side)
{
    assert(side < 2);
    double sum = 0, of = 0;
    for (size_t i = 0; i < n; i++)
        if (run[i].side == side && !isnan(run[i].value)) {
            sum += run[i].value;
            of++;
        }
    return of > 0 ? sum / of : (double)NAN;
}

CS_ORDER(by_time, struct gate_run, cs_order(a->began_ms, b->began_ms))

struct pair {
    double difference;      /* head - base */
    double column[COLUMNS]; /* 1, order, machine */
};

/* Neighbours of different sides, each run in one pair. False: the sides didn't take turns. */
static bool pair_up(const struct gate_run *run, size_t n, struct pair *pair, bool *machine)
{
    *machine = true;
    for (size_t i = 0; i + 1 < n; i += 2) {
        const struct gate_run *a = &run[i], *b = &run[i + 1];
        if (a->side == b->side)
            return false;
        /* Of two that began together none was first. */
        const double sign = b->side ? 1 : -1, order = a->began_ms == b->began_ms ? 0 : sign,
                     loop = sign * log(b->machine / a->machine);
        *machine &= isfinite(loop);
        pair[i / 2] = (struct pair){sign * (b->value - a->value), {1, order, isfinite(loop) ? loop : 0}};
    }
    return n % 2 == 0;
}

/* Inverts a matrix of `k` by Gauss and Jordan. False: it is singular. */
static bool invert(double m[COLUMNS][COLUMNS], unsigned k, double inverse[COLUMNS][COLUMNS])
{
    for (unsigned i = 0; i < k; i++)
        for (unsigned j = 0; j < k; j++)
            inverse[i][j] = i == j;
    for (unsigned i = 0; i < k; i++) {
        unsigned best = i;
        for (unsigned r = i + 1; r < k; r++)
            best = fabs(m[r][i]) > fabs(m[best][i]) ? r : best;
        if (!(fabs(m[best][i]) > 1e-18))
            return false;
        for (unsigned j = 0; j < k; j++) {
            double was[2] = {m[i][j], inverse[i][j]};
            m[i][j] = m[best][j];
            inverse[i][j] = inverse[best][j];
            m[best][j] = was[0];
            inverse[best][j] = was[1];
        }
        double pivot = m[i][i];
        for (unsigned j = 0; j < k; j++) {
            m[i][j] /= pivot;
            inverse[i][j] /= pivot;
        }
        for (unsigned r = 0; r < k; r++) {
            double factor = m[r][i];
            for (unsigned j = 0; j < k && r != i; j++) {
                m[r][j] -= factor * m[i][j];
                inverse[r][j] -= factor * inverse[i][j];
            }
        }
    }
    return true;
}

struct fit {
    double value[COLUMNS], error[COLUMNS], freedom;
};

/* Least squares of the differences over the columns in `used`; 0 is the change itself. */
static bool fit_pairs(const struct pair *pair, size_t n, const unsigned *used, unsigned k, struct fit *fit)
{
    double m[COLUMNS][COLUMNS] = {{0}}, inverse[COLUMNS][COLUMNS], right[COLUMNS] = {0}, squares = 0;
    assert(k >= 1 && k <= COLUMNS);
    if (n <= k + 1)
        return false;
    for (size_t p = 0; p < n; p++)
        for (unsigned i = 0; i < k; i++) {
            right[i] += pair[p].column[used[i]] * pair[p].difference;
            for (unsigned j = 0; j < k; j++)
                m[i][j] += pair[p].column[used[i]] * pair[p].column[used[j]];
        }
    if (!invert(m, k, inverse))
        return false;
    for (unsigned i = 0; i < k; i++) {
        fit->value[i] = 0;
        for (unsigned j = 0; j < k; j++)
            fit->value[i] += inverse[i][j] * right[j];
    }
    for (size_t p = 0; p < n; p++) {
        double left = pair[p].difference;
        for (unsigned i = 0; i < k; i++)
            left -= fit->value[i] * pair[p].column[used[i]];
        squares += left * left;
    }
    fit->freedom = (double)(n - k);
    for (unsigned i = 0; i < k; i++)
        fit->error[i] = sqrt(fmax(0, squares / fit->freedom * inverse[i][i]));
    return true;
}

static bool has_both_orders(const struct pair *pair, size_t n)
{
    size_t first[2] = {0};
    for (size_t p = 0; p < n; p++)
        if (pair[p].column[1] != 0)
            first[pair[p].column[1] > 0]++;
    return first[0] >= PAIRS_OF_ORDER && first[1] >= PAIRS_OF_ORDER;
}

static bool estimate_in_turn(const struct pair *pair, size_t n, bool machine, struct gate_estimate *out)
{
    struct fit fit, with;
    const bool ordered = has_both_orders(pair, n);
    if (!(ordered && fit_pairs(pair, n, (const unsigned[]){0, 1}, 2, &fit)) &&
        !fit_pairs(pair, n, (const unsigned[]){0}, 1, &fit))
        return false;
    if (ordered && machine && n >= PAIRS_FOR_MACHINE &&
        fit_pairs(pair, n, (const unsigned[]){0, 1, 2}, 3, &with) && with.error[2] > 0 &&
        cs_student_two_sided(with.value[2] / with.error[2], with.freedom) < MACHINE_EXPLAINS) {
        fit = with;
        out->machine_removed = true;
    }
    out->change = fit.value[0];
    out->error = fit.error[0];
    out->freedom = fit.freedom;
    return true;
}

struct moments {
    double n, mean, variance;
};

static struct moments moments_of(const struct gate_run *run, size_t n, unsigned side, bool machine)
{
    struct moments m = {0};
    for (size_t i = 0; i < n; i++)
        if (run[i].side == side) {
            m.n++;
            m.mean += machine ? log(run[i].machine) : run[i].value;
        }
    m.mean /= m.n;
    for (size_t i = 0; i < n; i++)
        if (run[i].side == side)
            m.variance += pow((machine ? log(run[i].machine) : run[i].value) - m.mean, 2);
    m.variance /= fmax(1, m.n - 1);
    return m;
}

static void estimate_apart(const struct moments m[2], struct gate_estimate *out)
{
    double each[2] = {m[0].variance / m[0].n, m[1].variance / m[1].n}, variance = each[0] + each[1];
    double freedom = each[0] * each[0] / (m[0].n - 1) + each[1] * each[1] / (m[1].n - 1);
    out->change = m[1].mean - m[0].mean;
    out->error = sqrt(variance);
    out->freedom = freedom > 0 ? variance * variance / freedom : fmin(m[0].n, m[1].n) - 1;
}

bool gate_estimate(const struct gate_run *run, size_t n, enum gate_scale scale, double least_error,
                   struct gate_estimate *out)
{
    struct gate_run *sorted = malloc((n + 1) * sizeof *sorted);
    struct pair *pair = calloc(n / 2 + 1, sizeof *pair);
    size_t kept = 0;
    bool machine = false, known = false;
    *out = (struct gate_estimate){.machine = (double)NAN};
    for (size_t i = 0; sorted && i < n; i++) {
        double value = scale == GATE_RATIO ? log(run[i].value) : run[i].value;
        if (!isfinite(value))
            continue;
        sorted[kept] = run[i];
        sorted[kept++].value = value;
        out->runs[run[i].side]++;
    }
    if (sorted && pair && out->runs[0] >= RUNS_MIN && out->runs[1] >= RUNS_MIN) {
        cs_sort(sorted, kept, by_time);
        const struct moments m[2] = {moments_of(sorted, kept, 0, false), moments_of(sorted, kept, 1, false)};
        out->in_turn = pair_up(sorted, kept, pair, &machine);
        known = true;
        if (!out->in_turn || kept / 2 < PAIRS_MIN || !estimate_in_turn(pair, kept / 2, machine, out))
            estimate_apart(m, out);
        out->machine = expm1(moments_of(sorted, kept, 1, true).mean - moments_of(sorted, kept, 0, true).mean);
    }
    free(sorted);
    free(pair);
    if (!known)
        return false;
    out->error = fmax(out->error, least_error);
    out->chance = out->error > 0 ? cs_student_two_sided(out->change / out->error, out->freedom)
                                 : (out->change != 0 ? 0 : 1);
    double around = gate_student(0.05, out->freedom) * out->error, change = out->change;
    out->visible = (gate_student(GATE_CHANCE, out->freedom) + TOO_FEW_OF_TEN) * out->error;
    out->low = change - around;
    out->high = change + around;
    if (scale == GATE_RATIO) {
        out->change = expm1(out->change);
        out->low = expm1(out->low);
        out->high = expm1(out->high);
        out->visible = expm1(out->visible);
    }
    return true;
}
