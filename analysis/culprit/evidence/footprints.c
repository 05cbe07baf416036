/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/culprit/evidence/footprints.h"
#include "analysis/culprit/evidence/evidence_model.h"
#include "analysis/culprit/evidence/working_set.h"
#include "store/base/array.h"
#include "store/base/bisect.h"
#include "store/base/order.h"
#include "store/table/burst_schemas.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#define SETS 64 /* of the first level, by the bits of an address within its page */

/* d = n (1 - exp(-e/n)), solved for n by halving; needs an eighth of the draws to be repeats. */
double cs_culprit_evidence_population(double executions, double distinct)
{
    if (executions <= 0 || distinct > CS_MODEL_REPEATS_MIN * executions)
        return 0;
    double low = distinct, high = 16 * executions;
    for (int i = 0; i < 60 && high - low > 1e-6 * high; i++) {
        double n = (low + high) / 2;
        if (n * -expm1(-executions / n) < distinct)
            low = n;
        else
            high = n;
    }
    return low;
}

double cs_culprit_evidence_meetings(double draws, double bursts, double meetings, double *at_least)
{
    double pairs = bursts > 1 ? draws * draws / 2 * (1 - 1 / bursts) : 0;
    *at_least = pairs / 8;
    return meetings >= CS_MODEL_MEETINGS_MIN ? pairs / meetings : 0;
}

static size_t first_row(struct cs_table *table, uint64_t offset)
{
    return cs_bisect(table ? cs_table_rows(table) : 0, i,
                     cs_table_row(table, i)[CS_FOOTPRINT_OFFSET] < offset);
}

struct footprint {
    double draws, meetings;
    double once, twice; /* rows of so many bursts */
};

/* Adds an instruction's draws; `shift` makes pages of lines. Rows ascend by line. */
static struct footprint meetings_of(struct cs_table *table, uint64_t offset, unsigned shift)
{
    struct footprint f = {0};
    uint64_t key = UINT64_MAX;
    double same = 0;
    for (size_t i = first_row(table, offset); table && i < cs_table_rows(table); i++) {
        const uint64_t *row = cs_table_row(table, i);
        if (row[CS_FOOTPRINT_OFFSET] != offset)
            break;
        if (row[CS_FOOTPRINT_LINE] >> shift != key) {
            f.meetings += same * (same - 1) / 2;
            same = 0;
            key = row[CS_FOOTPRINT_LINE] >> shift;
        }
        same += (double)row[CS_FOOTPRINT_BURSTS];
        f.draws += (double)row[CS_FOOTPRINT_BURSTS];
        f.once += row[CS_FOOTPRINT_BURSTS] == 1;
        f.twice += row[CS_FOOTPRINT_BURSTS] == 2;
    }
    f.meetings += same * (same - 1) / 2;
    return f;
}

/* Where the range of the addresses is no measure, what was drawn once still is: Chao's count is a lower bound, whichever
 * addresses are used. Most draws must be such, or a cold start of each burst makes them. */
static void bound_cold(const struct footprint *l, struct cs_culprit_memory *f)
{
    const double bytes = 64 * l->once * l->once / (2 * fmax(1, l->twice));
    if (l->draws < CS_MODEL_WORKING_SET_SURE || l->once < CS_MODEL_COLD_MOST * l->draws ||
        f->new_lines < CS_MODEL_COLD_NEW || bytes < 2 * f->footprint_bytes)
        return;
    f->cold = l->once / l->draws;
    f->cold_bytes = bytes;
    f->cold_least = true;
}

void culprit_measure_footprint(struct cs_table *footprints, uint64_t offset, double bursts,
                               struct cs_culprit_memory *f)
{
    double lines_least, pages_least;
    struct footprint l = meetings_of(footprints, offset, 0), p = meetings_of(footprints, offset, 6);
    if (l.draws < CS_MODEL_DRAWS_MIN)
        return;
    /* Draws of one burst may share a page: these are no meetings of two bursts. */
    double within = f->footprint_pages > 0 ? l.draws * CS_MODEL_DRAWS_TOGETHER / f->footprint_pages : 0;
    double lines = cs_culprit_evidence_meetings(l.draws, bursts, l.meetings, &lines_least);
    double pages = cs_culprit_evidence_meetings(l.draws, bursts,
                                                p.meetings > within ? p.meetings - within : 0, &pages_least);
    f->footprint_pages = pages > 0 ? pages : pages_least;
    f->footprint_bytes = lines > 0 ? lines * 64 : fmax(lines_least * 64, pages * 4096);
    if (f->footprint_bytes < f->footprint_pages * 64) /* a line a page at least */
        f->footprint_bytes = f->footprint_pages * 64;
    f->footprint_least = lines <= 0 && pages <= 0;
    /* Meetings find the lines that are used most. Those drawn once say how often the next line is one that no
     * burst drew (Good 1953), and the addresses over which they are spread how many there are. */
    struct cs_working_set all;
    if (cs_working_set(footprints, offset, offset + 1, &all) < 0 || all.bytes <= 0)
        return;
    if (lines <= 0) {
        f->footprint_bytes = all.bytes;
        f->footprint_pages = all.pages;
        f->footprint_least = all.least;
    } else if (all.least) {
        bound_cold(&l, f);
    } else if (all.bytes < 2 * f->footprint_bytes) { /* some few meetings are off by as much */
        f->footprint_bytes = all.bytes;
    } else {
        f->cold = all.once / all.draws;
        f->cold_bytes = all.bytes;
    }
}

/* Of k draws a burst that all fall into n of 64 sets, the variance over sets is 1 + (k - 1) (64 / n - 1) / 63 times that of
 * even draws. It is more where all bursts have the same sets: then the draws' own collisions tell how many. */
double culprit_measure_sets(struct cs_table *footprints, uint64_t offset, bool steps, double *lines)
{
    double of_set[SETS] = {0}, draws = 0, drawn = 0, squares = 0;
    *lines = 0;
    for (size_t i = first_row(footprints, offset); footprints && i < cs_table_rows(footprints); i++) {
        const uint64_t *row = cs_table_row(footprints, i);
        if (row[CS_FOOTPRINT_OFFSET] != offset)
            break;
        of_set[row[CS_FOOTPRINT_LINE] % SETS] += 1; /* once: what is used most is no conflict by that */
        draws += (double)row[CS_FOOTPRINT_BURSTS];
        drawn += (double)row[CS_FOOTPRINT_DRAWN];
        *lines += 1;
    }
    const double bursts =
        ceil(drawn / CS_FOOTPRINT_DRAWS); /* long ones, which come back to all lines, draw none */
    if (draws < CS_MODEL_DRAWS_MIN || draws <= bursts)
        return 0;
    for (unsigned k = 0; k < SETS; k++)
        squares += of_set[k] * of_set[k];
    const double each = draws / bursts,
                 uneven = (squares - *lines * *lines / SETS) / (*lines / SETS) / (SETS - 1);
    if (uneven < (steps ? CS_MODEL_SETS_UNEVEN_STEPS : CS_MODEL_SETS_UNEVEN))
        return 0;
    const double few = steps ? CS_MODEL_SETS_FEW_STEPS : CS_MODEL_SETS_FEW;
    const double sets = uneven > 2 * each ? *lines * (*lines - 1) / (squares - *lines)
                                          : SETS / (1 + (SETS - 1) * (uneven - 1) / (each - 1));
    return sets > few ? 0 : fmax(1, sets);
}

struct drawn_page {
    uint64_t page;
    double bursts;
    size_t of; /* index of the access */
};

CS_ORDER(by_page, struct drawn_page, cs_order(a->page, b->page))

typedef CS_ARRAY(struct drawn_page) drawn_pages;

static void take_draws(struct cs_table *table, uint64_t offset, size_t of, drawn_pages *drawn, double *draws)
{
    for (size_t i = first_row(table, offset); table && i < cs_table_rows(table); i++) {
        const uint64_t *row = cs_table_row(table, i);
        if (row[CS_FOOTPRINT_OFFSET] != offset || cs_array_reserve(drawn, drawn->n + 1) < 0)
            return;
        drawn->at[drawn->n++] =
            (struct drawn_page){row[CS_FOOTPRINT_LINE] >> 6, (double)row[CS_FOOTPRINT_BURSTS], of};
        *draws += (double)row[CS_FOOTPRINT_BURSTS];
    }
}

/* Draws of n pages and of m, of which c are the same, meet in c / (n m) of all pairs. */
double culprit_pages_together(struct cs_table *table, const struct culprit_pages *of, size_t n)
{
    enum { MOST = CULPRIT_PAGES_TOGETHER };
    drawn_pages drawn = {0};
    double draws[MOST] = {0}, met[MOST][MOST] = {{0}}, together = 0;
    assert(n <= MOST);
    for (size_t k = 0; k < n; k++)
        take_draws(table, of[k].offset, k, &drawn, &draws[k]);
    if (drawn.n)
        qsort(drawn.at, drawn.n, sizeof *drawn.at, by_page);
    for (size_t first = 0, i = 0; i < drawn.n; i++) {
        first = drawn.at[i].page == drawn.at[first].page ? first : i;
        for (size_t k = first; k < i; k++) {
            double pairs = drawn.at[k].bursts * drawn.at[i].bursts;
            met[drawn.at[k].of][drawn.at[i].of] += pairs;
            met[drawn.at[i].of][drawn.at[k].of] += pairs;
        }
    }
    for (size_t k = 0; k < n; k++) {
        double own = 1;
        for (size_t j = 0; j < k && draws[k] > 0; j++)
            own -= draws[j] > 0 ? met[k][j] / draws[k] / draws[j] * of[j].pages : 0;
        together += of[k].pages * fmax(0, own);
    }
    cs_array_free(&drawn);
    return together;
}
