/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How many instructions a place runs in a unit of time, from stretches whose time and instructions are known.
 *
 * Log rates of bursts (a burst's stretches are summed: they are one draw; the first is settled by the others)
 * vary within a place (phases, caches, what the host does) with variance W and between places with variance
 * B, both estimated from all places together. A place's rate is drawn towards the mean of all by what its own
 * number of bursts can't tell (the normal-normal model's posterior mean and variance): with no timed burst of
 * its own it has the mean and the variance B. */
#include "analysis/frequency/edge_flow_internal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define LEAST_INSTRUCTIONS 5000 /* of a stretch */
#define LEAST_BURSTS 20         /* timed: fewer say nothing of a program */
#define PHASE_SHARE 0.6         /* of a place's stretches that stay in it, where it is a phase for itself */
#define STEADY_SHARE 0.85       /* the same where it surely is: of so many stretches at least */
#define STEADY_LEAST 20
#define DISTURBED 0.7     /* of the median rate of a place: a slower stretch was */
#define LEAST_WITHIN 0.01 /* variance of a log rate: nothing is timed better than to 10 % by one burst */

struct place_sum {
    uint64_t place;
    double n, mean, squares; /* of log rates; squares: sum of squared deviations from the mean */
    double rates;            /* sum */
    double log_rate; /* of the mean: each burst stands for as much time, however long its stretches are */
};

static int by_burst(const void *a, const void *b)
{
    const struct pace_row *x = a, *y = b;
    return (x->burst > y->burst) - (x->burst < y->burst);
}

static int by_place_and_burst(const void *a, const void *b)
{
    const struct pace_row *x = a, *y = b;
    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    return by_burst(a, b);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* What the beginning costs: a first stretch's time beyond what it would have taken at the rate of the same
 * burst's later ones, the median of all bursts. Taken off the first stretches of bursts that have no later
 * one (those that have are known by it), unless it leaves less than a third; all of them go where no burst
 * has both. Rows by burst. */
static void settle_first(struct paces *paces, double *starts)
{
    size_t n = 0, kept = 0;
    for (size_t i = 0, next; i < paces->n; i = next) {
        double ns = 0, instructions = 0;
        struct pace_row *first = NULL;
        for (next = i; next < paces->n && paces->rows[next].burst == paces->rows[i].burst; next++) {
            struct pace_row *row = &paces->rows[next];
            first = row->first ? row : first;
            ns += row->first ? 0 : row->ns;
            instructions += row->first ? 0 : row->instructions;
        }
        if (first && ns > 0) {
            starts[n++] = first->ns - first->instructions * ns / instructions;
            first->ns = 0;
        }
    }
    if (n)
        qsort(starts, n, sizeof *starts, ascending);
    double start = n ? starts[n / 2] : INFINITY;
    for (size_t i = 0; i < paces->n; i++) {
        struct pace_row row = paces->rows[i];
        double left = row.first ? row.ns - start : row.ns;
        if (row.ns <= 0 || left < row.ns / 3)
            continue;
        row.ns = left;
        paces->rows[kept++] = row;
    }
    paces->n = kept;
}

static void drop_short(struct paces *paces)
{
    size_t kept = 0;
    for (size_t i = 0; i < paces->n; i++)
        if (paces->rows[i].instructions >= LEAST_INSTRUCTIONS)
            paces->rows[kept++] = paces->rows[i];
    paces->n = kept;
}

static int by_own_place(const void *a, const void *b)
{
    const struct pace_row *x = a, *y = b;
    return (x->own > y->own) - (x->own < y->own);
}

/* Much may slow a stretch that has nothing to do with its place: somebody else has the CPU or shares the
 * core, caches are still cold, the kernel finds a page. Little makes it faster. What is left is the rate in
 * the larger part of a place's time; the median is the lower one of two, so that none is dropped where half
 * of its stretches are slow. `rates` has room for all. */
static void drop_disturbed(struct paces *paces, double *rates)
{
    size_t kept = 0;
    qsort(paces->rows, paces->n, sizeof *paces->rows, by_own_place);
    for (size_t i = 0, next; i < paces->n; i = next) {
        for (next = i; next < paces->n && paces->rows[next].own == paces->rows[i].own; next++)
            rates[next - i] = paces->rows[next].instructions / paces->rows[next].ns;
        qsort(rates, next - i, sizeof *rates, ascending);
        double least = DISTURBED * rates[(next - i - 1) / 2];
        for (size_t k = i; k < next; k++)
            if (paces->rows[k].instructions >= least * paces->rows[k].ns)
                paces->rows[kept++] = paces->rows[k];
    }
    paces->n = kept;
}

/* Is a place a phase for itself? Most of its bursts' stretches stay in it then, as far as they tell. */
struct place_kind {
    uint64_t place;
    bool phase, steady;
};

/* Rows, and kinds, by place. */
static size_t find_kinds(const struct paces *paces, struct place_kind *kinds)
{
    size_t n = 0;
    for (size_t i = 0, next; i < paces->n; i = next) {
        size_t stay = 0;
        for (next = i; next < paces->n && paces->rows[next].place == paces->rows[i].place; next++)
            stay += paces->rows[next].own == paces->rows[next].place;
        double share = (double)stay / (double)(next - i);
        kinds[n++] = (struct place_kind){paces->rows[i].place, share >= PHASE_SHARE,
                                         share >= STEADY_SHARE && next - i >= STEADY_LEAST};
    }
    return n;
}

/* Of anything that begins with its place. */
static int compare_place(const void *key, const void *one)
{
    uint64_t place = *(const uint64_t *)key, other = *(const uint64_t *)one;
    return (place > other) - (place < other);
}

static struct place_kind kind_of(uint64_t place, const struct place_kind *kinds, size_t n)
{
    const struct place_kind *found = n ? bsearch(&place, kinds, n, sizeof *kinds, compare_place) : NULL;
    return found ? *found : (struct place_kind){.place = place};
}

/* Which places a stretch tells of: where code of many alternates all the time, of that where its burst began
 * and of that where it has mostly run. One that has left a phase tells no more of it, and one that has come
 * into a steady phase tells of that alone, and less well than those that began there: it isn't counted, or a
 * short phase would have the rate of the long one behind it. Rows that tell of something stay in `paces`;
 * `told` has room for two of each. */
static size_t tell(struct paces *paces, const struct place_kind *kinds, size_t n_kinds, struct pace_row *told)
{
    size_t n = 0, kept = 0;
    for (size_t i = 0; i < paces->n; i++) {
        const struct pace_row row = paces->rows[i];
        bool stays = row.own == row.place, left = !stays && kind_of(row.place, kinds, n_kinds).phase;
        if (!stays && kind_of(row.own, kinds, n_kinds).steady)
            continue;
        if (!left)
            told[n++] = row;
        if (!stays) {
            told[n] = row;
            told[n++].place = row.own;
        }
        paces->rows[kept++] = row;
    }
    paces->n = kept;
    return n;
}

static size_t bursts_of(const struct paces *paces)
{
    size_t n = 0;
    for (size_t i = 0; i < paces->n; i++)
        n += i == 0 || paces->rows[i].burst != paces->rows[i - 1].burst;
    return n;
}

static void add_burst(struct place_sum *sum, double ns, double instructions)
{
    double log_rate = log(instructions / ns), off = log_rate - sum->mean;
    sum->n++;
    sum->mean += off / sum->n;
    sum->squares += off * (log_rate - sum->mean);
    sum->rates += instructions / ns;
}

/* A sum for each place; how many. */
static size_t sum_places(const struct paces *paces, struct place_sum *sums)
{
    size_t n = 0;
    for (size_t i = 0; i < paces->n;) {
        const struct pace_row *first = &paces->rows[i];
        double ns = 0, instructions = 0;
        for (; i < paces->n && paces->rows[i].place == first->place && paces->rows[i].burst == first->burst;
             i++) {
            ns += paces->rows[i].ns;
            instructions += paces->rows[i].instructions;
        }
        if (!n || sums[n - 1].place != first->place)
            sums[n++] = (struct place_sum){.place = first->place};
        add_burst(&sums[n - 1], ns, instructions);
    }
    for (size_t i = 0; i < n; i++)
        sums[i].log_rate = log(sums[i].rates / sums[i].n);
    return n;
}

struct model {
    double mean, within, between;
};

static struct model model_of(const struct place_sum *sums, size_t n_places)
{
    struct model m = {0};
    double n = 0, squares = 0, pairs = 0, spread = 0;
    for (size_t i = 0; i < n_places; i++) {
        n += sums[i].n;
        squares += sums[i].squares;
        pairs += sums[i].n * sums[i].n;
        m.mean += sums[i].n * sums[i].log_rate;
    }
    m.mean /= n;
    double freedom = n - (double)n_places;
    for (size_t i = 0; i < n_places; i++)
        spread += sums[i].n * (sums[i].log_rate - m.mean) * (sums[i].log_rate - m.mean);
    m.within = fmax(freedom > 0 ? squares / freedom : 0, LEAST_WITHIN);
    double effective = n - pairs / n; /* of the moments' estimate of B in an unbalanced one-way layout */
    m.between = effective > 0 ? (spread - ((double)n_places - 1) * m.within) / effective : 0;
    m.between = fmax(m.between, LEAST_WITHIN);
    return m;
}

static struct place_rate rate_of(const struct model *m, const struct place_sum *sum)
{
    double n = sum ? sum->n : 0, own = n / m->within, prior = 1 / m->between;
    double mean = (own * (sum ? sum->log_rate : 0) + prior * m->mean) / (own + prior);
    return (struct place_rate){exp(mean), sqrt(1 / (own + prior))};
}

int transfers_rate(struct paces *paces, const uint64_t *place, size_t n, double unknown,
                   struct place_rate *rate, double *mean)
{
    struct place_sum *sums = malloc((2 * paces->n + 1) * sizeof *sums);
    struct place_kind *kinds = malloc((paces->n + 1) * sizeof *kinds);
    struct paces told = {.rows = malloc((2 * paces->n + 1) * sizeof *told.rows)};
    double total = 0, *starts = malloc((paces->n + 1) * sizeof *starts);
    size_t n_places = 0;
    int rc = sums && kinds && told.rows && starts ? 0 : -ENOMEM;
    if (rc < 0)
        goto out;
    drop_short(paces);
    if (paces->n) {
        qsort(paces->rows, paces->n, sizeof *paces->rows, by_burst);
        settle_first(paces, starts);
    }
    if (bursts_of(paces) < LEAST_BURSTS)
        paces->n = 0;
    if (paces->n) {
        drop_disturbed(paces, starts);
        qsort(paces->rows, paces->n, sizeof *paces->rows, by_place_and_burst);
        told.n = tell(paces, kinds, find_kinds(paces, kinds), told.rows);
        qsort(told.rows, told.n, sizeof *told.rows, by_place_and_burst);
    }
    n_places = sum_places(&told, sums);
    struct model m = n_places ? model_of(sums, n_places) : (struct model){0};
    for (size_t i = 0; i < n; i++) {
        const struct place_sum *sum =
            n_places ? bsearch(&place[i], sums, n_places, sizeof *sums, compare_place) : NULL;
        rate[i] = n_places ? rate_of(&m, sum) : (struct place_rate){1, unknown};
        total += rate[i].weight;
    }
    for (size_t i = 0; i < n; i++)
        rate[i].weight *= (double)n / total;
    *mean = n_places && n ? total / (double)n : 0;
out:
    free(starts);
    free(told.rows);
    free(kinds);
    free(sums);
    return rc;
}
