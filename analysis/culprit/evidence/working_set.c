/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/culprit/evidence/working_set.h"
#include "analysis/culprit/evidence/evidence_model.h"
#include "store/base/array.h"
#include "store/base/bisect.h"
#include "store/base/order.h"
#include "store/table/burst_schemas.h"

#include <assert.h>
#include <math.h>

#define LINES_OF_PAGE 64
#define APART (1UL << 26) /* 4 GB: other processes' memory, which randomized addresses put anywhere */
#define SPLITS_MAX 64     /* one within the other: foreign addresses must not cost more */

struct drawn_line {
    uint64_t line;
    double bursts;
};

CS_ORDER(by_line, struct drawn_line, cs_order(a->line, b->line))

typedef CS_ARRAY(struct drawn_line) drawn_lines;

/* Accesses of one burst draw the same lines: the access that met a line most tells in how many bursts it was. */
static void join_same(drawn_lines *drawn)
{
    size_t n = 0;
    cs_sort(drawn->at, drawn->n, by_line);
    for (size_t i = 0; i < drawn->n; i++)
        if (n && drawn->at[n - 1].line == drawn->at[i].line)
            drawn->at[n - 1].bursts = fmax(drawn->at[n - 1].bursts, drawn->at[i].bursts);
        else
            drawn->at[n++] = drawn->at[i];
    drawn->n = n;
}

/* Lines next to each other were drawn by one burst that went along: groups of them, of `n` sorted lines. */
static double groups_of(const struct drawn_line *at, size_t n)
{
    const double near = fmax(1, (double)(at[n - 1].line - at[0].line + 1) / (8 * (double)n));
    double groups = 1;
    for (size_t i = 1; i < n; i++)
        groups += (double)(at[i].line - at[i - 1].line) > near;
    return groups;
}

/* Records of so many lines, of which one is used, are that far apart. */
static double distance_of(const struct drawn_line *at, size_t n)
{
    uint64_t all = 0;
    for (size_t i = 1; i < n; i++)
        for (uint64_t rest = at[i].line - at[0].line; rest;) {
            const uint64_t was = rest;
            rest = all ? all % rest : 0;
            all = was;
        }
    return all ? (double)all : 1;
}

struct counts {
    double draws, once, twice, meetings;
};

static struct counts count(const struct drawn_line *at, size_t n)
{
    struct counts c = {0};
    for (size_t i = 0; i < n; i++) {
        c.draws += at[i].bursts;
        c.once += at[i].bursts == 1;
        c.twice += at[i].bursts == 2;
        c.meetings += at[i].bursts * (at[i].bursts - 1) / 2;
    }
    return c;
}

/* Lines of a range of `span`. Bursts that met in the same line more often than in a range that is used whole go to some
 * of its lines: to these alone where Chao's count finds no more. */
static double lines_of(const struct counts *c, size_t n, double span, double groups, double bursts,
                       bool *least)
{
    const double chao = (double)n + c->once * c->once / (2 * fmax(1, c->twice)),
                 pairs = c->draws * c->draws / 2 * (1 - 1 / fmax(2, bursts)), chance = pairs / span,
                 met = pairs / fmax(1, c->meetings);
    if (c->once <= CS_MODEL_WORKING_SET_NEW * c->draws)
        return chao;
    if (groups < (double)n / 2 || c->meetings < fmax(CS_MODEL_MEETINGS_MIN, chance + 2 * sqrt(chance) + 1) ||
        chao > CS_MODEL_WORKING_SET_UNEVEN * met)
        return span;
    *least |= c->draws < CS_MODEL_WORKING_SET_SURE;
    return met;
}

static void add_range(const struct drawn_line *at, size_t n, struct cs_working_set *out, double *few)
{
    const struct counts c = count(at, n);
    const double groups = groups_of(at, n),
                 /* The first and the last of k evenly drawn places leave two of k + 1 parts outside. */
        span = (double)(at[n - 1].line - at[0].line + 1) * (groups > 3 ? (groups + 1) / (groups - 1) : 1);
    bool least = c.draws < 3 * CS_FOOTPRINT_DRAWS; /* one or two bursts came here */
    const double lines = lines_of(&c, n, span / distance_of(at, n), groups, out->bursts, &least);
    out->draws += c.draws;
    out->once += c.once;
    out->bytes += 64 * lines;
    out->pages += fmin(lines, 1 + span / LINES_OF_PAGE);
    *few += least ? c.draws : 0;
}

/* The widest gap is one between two arrays where evenly drawn places leave none so wide, but for one time in a hundred.
 * Bursts, not draws, are places: what one draws may lie together. */
static void add_ranges(const struct drawn_line *at, size_t n, unsigned splits, struct cs_working_set *out,
                       double *few)
{
    size_t widest = 1;
    for (size_t i = 2; i < n; i++)
        if (at[i].line - at[i - 1].line > at[widest].line - at[widest - 1].line)
            widest = i;
    if (n > 1 && splits < SPLITS_MAX) {
        const double gap = (double)(at[widest].line - at[widest - 1].line),
                     span = (double)(at[n - 1].line - at[0].line + 1),
                     places = fmax(1, fmin(out->bursts, (double)n));
        if (gap > APART || (gap > LINES_OF_PAGE && gap > span * log(100 * places) / places)) {
            add_ranges(at, widest, splits + 1, out, few);
            add_ranges(at + widest, n - widest, splits + 1, out, few);
            return;
        }
    }
    add_range(at, n, out, few);
}

int cs_working_set(struct cs_table *footprints, uint64_t start, uint64_t end, struct cs_working_set *out)
{
    drawn_lines drawn = {0};
    const size_t n = footprints ? cs_table_rows(footprints) : 0;
    double few = 0, drawn_here = 0;
    uint64_t of = UINT64_MAX;
    assert(start <= end);
    *out = (struct cs_working_set){0};
    for (size_t i = cs_bisect(n, k, cs_table_row(footprints, k)[CS_FOOTPRINT_OFFSET] < start); i < n; i++) {
        const uint64_t *row = cs_table_row(footprints, i);
        if (row[CS_FOOTPRINT_OFFSET] >= end)
            break;
        drawn_here = row[CS_FOOTPRINT_OFFSET] == of ? drawn_here : 0;
        of = row[CS_FOOTPRINT_OFFSET];
        drawn_here += (double)row[CS_FOOTPRINT_DRAWN];
        out->bursts = fmax(out->bursts, ceil(drawn_here / CS_FOOTPRINT_DRAWS));
        if (!row[CS_FOOTPRINT_BURSTS])
            continue;
        struct drawn_line *line = cs_array_add(&drawn);
        if (!line) {
            cs_array_free(&drawn);
            return -ENOMEM;
        }
        *line = (struct drawn_line){row[CS_FOOTPRINT_LINE], (double)row[CS_FOOTPRINT_BURSTS]};
    }
    join_same(&drawn);
    if (drawn.n)
        add_ranges(drawn.at, drawn.n, 0, out, &few);
    cs_array_free(&drawn);
    if (out->draws < CS_MODEL_WORKING_SET_DRAWS)
        out->bytes = out->pages = 0;
    out->least = few > 0.1 * out->draws;
    return 0;
}
