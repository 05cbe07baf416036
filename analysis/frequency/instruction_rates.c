/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How many instructions a hot-branch group runs in a unit of time, from intervals whose time and instructions
 * are known.
 *
 * The log rates of bursts vary within a group (phases, caches, what the host does) with variance W and between
 * groups with variance B. Both are estimated from all groups together. A group's rate is drawn towards the mean
 * of all groups, the more the less its own bursts say. It is the posterior mean and variance of the
 * normal-normal model (Gelman et al., Bayesian Data Analysis, section 5.4). A group that was never timed has
 * the mean and the variance B.
 *
 * A burst's intervals are summed, because they are one draw. The first one has the cost of the entry in its
 * time, which the others tell. */
#include "analysis/frequency/edge_flow_internal.h"
#include "analysis/frequency/model.h"
#include "store/base/order.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define VARIANCE_MIN 1e-6 /* nothing is divided by zero */

struct group_sum {
    uint64_t group;
    double n, mean, squares; /* of log rates; squares: sum of squared deviations from the mean */
    double rates;            /* sum */
    double log_rate; /* of the mean: each burst stands for as much time, however long its intervals are */
};

CS_ORDER(by_burst, struct timed_interval, cs_order(a->burst, b->burst))

CS_ORDER(by_group_and_burst, struct timed_interval, cs_order(a->group, b->group), by_burst(a, b))

CS_ORDER(ascending, double, cs_order(*a, *b))

/* What the entry costs: a first interval's time beyond what it would have taken at the rate of the same
 * burst's later ones, the median of all bursts. Taken off the first intervals of bursts that have no later
 * one (those that have are known by it), unless it leaves less than a third; all of them go where no burst
 * has both. Rows by burst. */
static void settle_first(struct timed_intervals *intervals, double *starts)
{
    size_t n = 0, kept = 0;
    for (size_t i = 0, next; i < intervals->n; i = next) {
        double ns = 0, instructions = 0;
        struct timed_interval *first = NULL;
        for (next = i; next < intervals->n && intervals->rows[next].burst == intervals->rows[i].burst;
             next++) {
            struct timed_interval *row = &intervals->rows[next];
            first = row->first ? row : first;
            ns += row->first ? 0 : row->ns;
            instructions += row->first ? 0 : row->instructions;
        }
        if (first && ns > 0) {
            starts[n++] = first->ns - first->instructions * ns / instructions;
            first->ns = 0;
        }
    }
    cs_sort(starts, n, ascending);
    double start = n ? starts[n / 2] : INFINITY;
    for (size_t i = 0; i < intervals->n; i++) {
        struct timed_interval row = intervals->rows[i];
        double left = row.first ? row.ns - start : row.ns;
        if (row.ns <= 0 || left < CS_MODEL_FIRST_LEFT_MIN * row.ns)
            continue;
        row.ns = left;
        intervals->rows[kept++] = row;
    }
    intervals->n = kept;
}

static void drop_short(struct timed_intervals *intervals)
{
    size_t kept = 0;
    for (size_t i = 0; i < intervals->n; i++)
        if (intervals->rows[i].instructions >= CS_MODEL_INTERVAL_INSTRUCTIONS_MIN)
            intervals->rows[kept++] = intervals->rows[i];
    intervals->n = kept;
}

CS_ORDER(by_own_group, struct timed_interval, cs_order(a->own, b->own))

/* Much may slow an interval that has nothing to do with its group: somebody else has the CPU or shares the
 * core, caches are still cold, the kernel finds a page. Little makes it faster. What is left is the rate in
 * the larger part of a group's time; the median is the lower one of two, so that none is dropped where half
 * of its intervals are slow. `rates` has room for all. */
static void drop_disturbed(struct timed_intervals *intervals, double *rates)
{
    size_t kept = 0;
    cs_sort(intervals->rows, intervals->n, by_own_group);
    for (size_t i = 0, next; i < intervals->n; i = next) {
        for (next = i; next < intervals->n && intervals->rows[next].own == intervals->rows[i].own; next++)
            rates[next - i] = intervals->rows[next].instructions / intervals->rows[next].ns;
        cs_sort(rates, next - i, ascending);
        double least = CS_MODEL_DISTURBED * rates[(next - i - 1) / 2];
        for (size_t k = i; k < next; k++)
            if (intervals->rows[k].instructions >= least * intervals->rows[k].ns)
                intervals->rows[kept++] = intervals->rows[k];
    }
    intervals->n = kept;
}

/* Is a group a phase for itself? Most of its bursts' intervals stay in it then, as far as they tell. */
struct group_kind {
    uint64_t group;
    bool phase, steady;
};

/* Rows, and kinds, by group. */
static size_t find_kinds(const struct timed_intervals *intervals, struct group_kind *kinds)
{
    size_t n = 0;
    for (size_t i = 0, next; i < intervals->n; i = next) {
        size_t stay = 0;
        for (next = i; next < intervals->n && intervals->rows[next].group == intervals->rows[i].group; next++)
            stay += intervals->rows[next].own == intervals->rows[next].group;
        double share = (double)stay / (double)(next - i);
        kinds[n++] =
            (struct group_kind){intervals->rows[i].group, share >= CS_MODEL_PHASE_SHARE,
                                share >= CS_MODEL_STEADY_SHARE && next - i >= CS_MODEL_STEADY_INTERVALS_MIN};
    }
    return n;
}

/* Of anything that begins with its group. */
CS_ORDER(compare_group, uint64_t, cs_order(*a, *b))

static struct group_kind kind_of(uint64_t group, const struct group_kind *kinds, size_t n)
{
    const struct group_kind *found = cs_find(&group, kinds, n, compare_group);
    return found ? *found : (struct group_kind){.group = group};
}

/* Which groups an interval tells of: where code of many alternates all the time, of that where its burst began
 * and of that where it has mostly run. One that has left a phase tells no more of it, and one that has come
 * into a steady phase tells of that alone, and less well than those that began there: it isn't counted, or a
 * short phase would have the rate of the long one behind it. Rows that tell of something stay in `intervals`;
 * `told` has room for two of each. */
static size_t tell(struct timed_intervals *intervals, const struct group_kind *kinds, size_t n_kinds,
                   struct timed_interval *told)
{
    size_t n = 0, kept = 0;
    for (size_t i = 0; i < intervals->n; i++) {
        const struct timed_interval row = intervals->rows[i];
        bool stays = row.own == row.group, left = !stays && kind_of(row.group, kinds, n_kinds).phase;
        if (!stays && kind_of(row.own, kinds, n_kinds).steady)
            continue;
        if (!left)
            told[n++] = row;
        if (!stays) {
            told[n] = row;
            told[n++].group = row.own;
        }
        intervals->rows[kept++] = row;
    }
    intervals->n = kept;
    return n;
}

static void add_burst(struct group_sum *sum, double ns, double instructions)
{
    double log_rate = log(instructions / ns), off = log_rate - sum->mean;
    sum->n++;
    sum->mean += off / sum->n;
    sum->squares += off * (log_rate - sum->mean);
    sum->rates += instructions / ns;
}

/* A sum for each group; how many. */
static size_t sum_groups(const struct timed_intervals *intervals, struct group_sum *sums)
{
    size_t n = 0;
    for (size_t i = 0; i < intervals->n;) {
        const struct timed_interval *first = &intervals->rows[i];
        double ns = 0, instructions = 0;
        for (; i < intervals->n && intervals->rows[i].group == first->group &&
               intervals->rows[i].burst == first->burst;
             i++) {
            ns += intervals->rows[i].ns;
            instructions += intervals->rows[i].instructions;
        }
        if (!n || sums[n - 1].group != first->group)
            sums[n++] = (struct group_sum){.group = first->group};
        add_burst(&sums[n - 1], ns, instructions);
    }
    for (size_t i = 0; i < n; i++)
        sums[i].log_rate = log(sums[i].rates / sums[i].n);
    return n;
}

struct model {
    double mean, within, between, bursts, groups;
};

static struct model model_of(const struct group_sum *sums, size_t n_groups)
{
    struct model m = {0};
    double n = 0, squares = 0, pairs = 0, spread = 0;
    for (size_t i = 0; i < n_groups; i++) {
        n += sums[i].n;
        squares += sums[i].squares;
        pairs += sums[i].n * sums[i].n;
        m.mean += sums[i].n * sums[i].log_rate;
    }
    m.mean /= n;
    m.bursts = n;
    m.groups = (double)n_groups;
    double freedom = n - (double)n_groups;
    for (size_t i = 0; i < n_groups; i++)
        spread += sums[i].n * (sums[i].log_rate - m.mean) * (sums[i].log_rate - m.mean);
    m.within = fmax(freedom > 0 ? squares / freedom : 0, VARIANCE_MIN);
    double effective = n - pairs / n; /* of the moments' estimate of B in an unbalanced one-way layout */
    m.between = effective > 0 ? (spread - ((double)n_groups - 1) * m.within) / effective : 0;
    m.between = fmax(m.between, VARIANCE_MIN);
    return m;
}

/* W and B are known as well as bursts and groups are many: of the spread where none is timed, `unknown`, a part is
 * left, and beside it the B of a few groups counts for little. (Three timed bursts of one rate don't say that
 * the groups which were never timed have it.) */
static struct group_rate rate_of(const struct model *m, const struct group_sum *sum, double unknown)
{
    double n = sum ? sum->n : 0, own = n / m->within, prior = 1 / m->between;
    double mean = (own * (sum ? sum->log_rate : 0) + prior * m->mean) / (own + prior);
    double left = unknown * unknown / (1 + m->bursts);
    double known = m->groups - 1, guessed = CS_MODEL_RATE_SPREAD_GROUPS;
    double between = (known * m->between + guessed * unknown * unknown) / (known + guessed);
    return (struct group_rate){exp(mean), sqrt(1 / (own + 1 / between) + left)};
}

int group_rates(struct timed_intervals *intervals, const uint64_t *group, size_t n, double unknown,
                struct group_rate *rate, double *mean)
{
    struct group_sum *sums = malloc((2 * intervals->n + 1) * sizeof *sums);
    struct group_kind *kinds = malloc((intervals->n + 1) * sizeof *kinds);
    struct timed_intervals told = {.rows = malloc((2 * intervals->n + 1) * sizeof *told.rows)};
    double total = 0, *starts = malloc((intervals->n + 1) * sizeof *starts);
    size_t n_groups = 0;
    int rc = sums && kinds && told.rows && starts ? 0 : -ENOMEM;
    if (rc < 0)
        goto out;
    drop_short(intervals);
    if (intervals->n) {
        cs_sort(intervals->rows, intervals->n, by_burst);
        settle_first(intervals, starts);
    }
    if (intervals->n) {
        drop_disturbed(intervals, starts);
        cs_sort(intervals->rows, intervals->n, by_group_and_burst);
        told.n = tell(intervals, kinds, find_kinds(intervals, kinds), told.rows);
        cs_sort(told.rows, told.n, by_group_and_burst);
    }
    n_groups = sum_groups(&told, sums);
    struct model m = n_groups ? model_of(sums, n_groups) : (struct model){0};
    for (size_t i = 0; i < n; i++) {
        const struct group_sum *sum = cs_find(&group[i], sums, n_groups, compare_group);
        rate[i] = n_groups ? rate_of(&m, sum, unknown) : (struct group_rate){1, unknown};
        total += rate[i].weight;
    }
    for (size_t i = 0; i < n; i++)
        rate[i].weight *= (double)n / total;
    *mean = n_groups && n ? total / (double)n : 0;
out:
    free(starts);
    free(told.rows);
    free(kinds);
    free(sums);
    return rc;
}
