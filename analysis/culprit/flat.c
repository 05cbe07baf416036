/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What bursts saw of all images, a mean instruction's. Within a burst a line's second use is near or far by an exact
 * count. Its first use depends on what ran before. A line that is in a share p of the bursts was used 1 / p bursts ago
 * in the mean. A cache has it still if fewer lines than it holds came since. Bursts are taken as independent draws of
 * what the program does, which overstates the lines in between where a program has phases. */
#include "analysis/culprit/flat.h"
#include "analysis/culprit/evidence/image_evidence.h"
#include "analysis/culprit/evidence/working_set.h"
#include "analysis/culprit/verdict_model.h"
#include "store/base/array.h"
#include "store/base/order.h"
#include "store/catalog.h"
#include "store/table/burst_schemas.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define BURST_INSTRUCTIONS 16000 /* of which all rows but edges are */

struct use {
    double bursts, first; /* that have it; first uses */
};

struct recency { /* of lines or pages */
    CS_ARRAY(struct use) uses;
    double bursts, once, twice;
};

struct measuring {
    struct cs_store *store;
    struct cs_flat_facts *out;
    struct recency lines, pages;
    double far_lines, far_pages, pointer;
    double huge_walk;
    double small; /* what data's new pages, of the image that is read, cost the TLBs, of as many small ones */
    double jumps_missed; /* indirect ones, whatever the predictor has room for */
    struct cs_error *err;
};

/* As many as no burst saw, by those that one and that two saw (Chao 1984). */
static double unseen_by(double once, double twice)
{
    return twice > 0 ? once * once / 2 / twice : once;
}

static void count_use(double bursts, double *once, double *twice)
{
    *once += bursts > 0 && bursts <= 1;
    *twice += bursts > 1 && bursts <= 2;
}

static int add_recency(struct recency *r, double bursts, double first)
{
    struct use *use = cs_array_add(&r->uses);
    if (!use)
        return -ENOMEM;
    *use = (struct use){bursts, first};
    count_use(bursts, &r->once, &r->twice);
    return 0;
}

static double held(const double *rate, size_t n, double time)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum -= expm1(-rate[i] * time);
    return sum;
}

double cs_flat_kept(const double *rate, size_t n, double room)
{
    double low = 0, high = 1;
    if ((double)n <= room)
        return INFINITY;
    while (held(rate, n, high) < room && high < 1e12)
        high *= 2;
    for (int step = 0; step < 60 && high - low > 1e-6 * high; step++) {
        const double middle = (low + high) / 2;
        *(held(rate, n, middle) < room ? &low : &high) = middle;
    }
    return low;
}

/* Adds first uses that a cache of so much room has lost, by instruction. Lines that no burst saw take room, too. */
static int add_lost(double *to, const struct recency *r, double room, double instructions)
{
    const size_t n = r->uses.n, unseen = (size_t)fmin(unseen_by(r->once, r->twice), 4.0 * (double)n);
    double *rate = calloc(n + unseen + 1, sizeof *rate);
    if (!rate)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        rate[i] = -log1p(-fmin(r->uses.at[i].bursts, r->bursts - 0.5) / r->bursts);
    for (size_t i = n; i < n + unseen; i++)
        rate[i] = 0.5 / r->bursts;
    const double kept = cs_flat_kept(rate, n + unseen, room);
    for (size_t i = 0; i < n; i++)
        *to += r->uses.at[i].first * exp(-rate[i] * kept) / instructions;
    free(rate);
    return 0;
}

static double population(const struct recency *r)
{
    return (double)r->uses.n + unseen_by(r->once, r->twice);
}

static int select_of(struct measuring *m, enum cs_kind kind, const char *event, const char *image,
                     struct cs_table **out)
{
    const struct cs_query query = {.kind = kind, .image_id = image, .event = event};
    return cs_store_select(m->store, &query, out, NULL, m->err);
}

static int take_lines(struct measuring *m, struct cs_table *table)
{
    uint64_t page = UINT64_MAX;
    double of_page = 0, first_of_page = 0;
    size_t n = table ? cs_table_rows(table) : 0;
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i++) {
        const uint64_t *row = cs_table_row(table, i);
        rc = add_recency(&m->lines, (double)row[CS_CODE_LINE_BURSTS], (double)row[CS_CODE_LINE_FIRST]);
        m->far_lines += (double)row[CS_CODE_LINE_FAR];
        m->far_pages += (double)row[CS_CODE_LINE_PAGE_FAR];
        if (row[CS_CODE_LINE_OFFSET] / 4096 != page && page != UINT64_MAX && rc == 0)
            rc = add_recency(&m->pages, of_page, first_of_page);
        if (row[CS_CODE_LINE_OFFSET] / 4096 != page)
            of_page = first_of_page = 0;
        page = row[CS_CODE_LINE_OFFSET] / 4096;
        first_of_page += (double)row[CS_CODE_LINE_PAGE_FIRST];
        of_page = fmax(first_of_page, (double)row[CS_CODE_LINE_BURSTS]);
    }
    if (page != UINT64_MAX && rc == 0)
        rc = add_recency(&m->pages, of_page, first_of_page);
    return rc;
}

static void take_page_sizes(struct measuring *m, struct cs_table *table)
{
    const double asked = table ? (double)cs_table_sum(table, CS_PAGE_SIZES_ASKED) : 0;
    const double huge = asked > 0 ? fmin(1, (double)cs_table_sum(table, CS_PAGE_SIZES_HUGE) / asked) : 0;
    m->small = 1 - huge * (1 - m->huge_walk);
}

static void take_memory(struct measuring *m, struct cs_table *table)
{
    size_t n = table ? cs_table_rows(table) : 0;
    for (size_t i = 0; i < n; i++) {
        const uint64_t *row = cs_table_row(table, i);
        const double lines = (double)(row[CS_MEMORY_FIRST_LINES] + row[CS_MEMORY_FAR_LINES]),
                     pages = (double)(row[CS_MEMORY_FIRST_PAGES] + row[CS_MEMORY_FAR_PAGES]),
                     strides = (double)row[CS_MEMORY_STRIDES], loads = (double)row[CS_MEMORY_LOADS],
                     steady = strides > 0 ? (double)row[CS_MEMORY_STRIDE_SAME] / strides : 0;
        if (!(loads > 0)) /* a store waits for nobody until its buffer is full */
            continue;
        m->out->data_lines += lines * (1 - steady);
        m->out->data_walks += pages * m->small * (1 - steady);
        m->pointer += lines * (1 - steady) * fmin(1, (double)row[CS_MEMORY_POINTER] / loads);
    }
}

/* A jump with several targets is judged apart: whether the predictor knows a target depends on how many others there are. */
static void take_branches(struct measuring *m, struct cs_table *table, double *unknown)
{
    struct cs_culprit_evidence e = {.branches = table};
    size_t n = table ? cs_table_rows(table) : 0;
    for (size_t i = 0; i < n; i++) {
        const uint64_t *row = cs_table_row(table, i);
        const struct cs_culprit_branch f = cs_culprit_evidence_branch(&e, row[CS_BRANCH_OFFSET]);
        const bool indirect = row[CS_BRANCH_KIND] == 1 || row[CS_BRANCH_KIND] == 2;
        if (indirect) {
            m->jumps_missed += f.missed * f.executions;
            *unknown += f.missed_most * f.executions;
        } else if (row[CS_BRANCH_KIND] <= 3) {
            m->out->guesses += (f.missed + f.too_deep) * f.executions;
        }
    }
}

struct drawn {
    uint64_t line;
    double bursts;
};
CS_ORDER(by_line, struct drawn, cs_order(a->line, b->line))
typedef CS_ARRAY(struct drawn) draws;

/* Lines of data, by how many were drawn in one and in two bursts (Chao 1984), and no more than lie in the addresses over
 * which the draws are spread. Of few draws these take what is between two arrays for memory that is used. */
static int take_data(struct measuring *m, struct cs_table *table)
{
    struct cs_working_set spread = {0};
    draws all = {0};
    double lines = 0, once = 0, twice = 0;
    int rc = cs_working_set(table, 0, UINT64_MAX, &spread);
    for (size_t i = 0; rc == 0 && table && i < cs_table_rows(table); i++) {
        const uint64_t *row = cs_table_row(table, i);
        if (cs_array_reserve(&all, all.n + 1) < 0)
            rc = -ENOMEM;
        else
            all.at[all.n++] = (struct drawn){row[CS_FOOTPRINT_LINE], (double)row[CS_FOOTPRINT_BURSTS]};
    }
    cs_sort(all.at, all.n, by_line);
    for (size_t i = 0, end; i < all.n; i = end) {
        double bursts = 0;
        for (end = i; end < all.n && all.at[end].line == all.at[i].line; end++)
            bursts += all.at[end].bursts;
        lines += bursts > 0;
        count_use(bursts, &once, &twice);
    }
    lines += once * once / 2 / fmax(1, twice);
    m->out->data_bytes += fmin(spread.bytes, 64 * lines);
    /* Huge pages that a hypervisor splits are as many as small ones. */
    m->out->data_pages += fmin(spread.pages, lines) * (m->huge_walk > 0 ? 1 : m->small);
    cs_array_free(&all);
    return rc;
}

static int take_image(struct measuring *m, const char *image, double *unknown)
{
    struct cs_table *table = NULL;
    int rc = select_of(m, CS_KIND_CODE_LINES, "burst-lines", image, &table);
    if (rc == 0)
        rc = take_lines(m, table);
    cs_table_close(table);
    table = NULL;
    if (rc == 0)
        rc = select_of(m, CS_KIND_PAGE_SIZES, "burst-page-sizes", image, &table);
    if (rc == 0)
        take_page_sizes(m, table);
    cs_table_close(table);
    table = NULL;
    if (rc == 0)
        rc = select_of(m, CS_KIND_MEMORY, "burst-memory", image, &table);
    if (rc == 0)
        take_memory(m, table);
    cs_table_close(table);
    table = NULL;
    if (rc == 0)
        rc = select_of(m, CS_KIND_BRANCHES, "burst-branches", image, &table);
    if (rc == 0)
        take_branches(m, table, unknown);
    cs_table_close(table);
    table = NULL;
    if (rc == 0)
        rc = select_of(m, CS_KIND_FOOTPRINTS, "burst-footprints", image, &table);
    if (rc == 0)
        rc = take_data(m, table);
    cs_table_close(table);
    table = NULL;
    if (rc == 0)
        rc = select_of(m, CS_KIND_BURST_ENTRIES, "burst-beginnings", image, &table);
    for (size_t i = 0; rc == 0 && table && i < cs_table_rows(table); i++) {
        const struct cs_burst_entry_row *row = cs_table_at(table, i);
        m->out->bursts += 1;
        m->out->instructions += fmin((double)row->instructions, BURST_INSTRUCTIONS);
    }
    cs_table_close(table);
    return rc;
}

struct pace {
    uint64_t burst;
    double ns_each;
};
CS_ORDER(by_pace, struct pace, cs_order(a->ns_each, b->ns_each))
CS_ORDER(by_burst, struct pace, cs_order(a->burst, b->burst))
typedef CS_ARRAY(struct pace) paces;

/* The middle one of all timed intervals: others of the machine can only make it slower. */
static int take_paces(struct measuring *m, double hz)
{
    struct cs_table *table = NULL;
    paces all = {0};
    int rc = select_of(m, CS_KIND_INSTRUCTION_RATES, "burst-paces", NULL, &table);
    for (size_t i = 0; rc == 0 && table && i < cs_table_rows(table); i++) {
        const uint64_t *row = cs_table_row(table, i);
        if (row[CS_INSTRUCTION_RATE_AFTER_NS] <= 1 || !row[CS_INSTRUCTION_RATE_INSTRUCTIONS])
            continue; /* with the way out of the kernel and cold caches in its time */
        if (cs_array_reserve(&all, all.n + 1) < 0)
            rc = -ENOMEM;
        else
            all.at[all.n++] = (struct pace){row[CS_INSTRUCTION_RATE_BURST],
                                            (double)row[CS_INSTRUCTION_RATE_NS] /
                                                (double)row[CS_INSTRUCTION_RATE_INSTRUCTIONS]};
    }
    cs_table_close(table);
    cs_sort(all.at, all.n, by_burst);
    for (size_t i = 0; i < all.n; i++)
        m->out->timed += !i || all.at[i].burst != all.at[i - 1].burst;
    cs_sort(all.at, all.n, by_pace);
    m->out->cycles = all.n ? all.at[(all.n - 1) / 2].ns_each * 1e-9 * hz : 0;
    cs_array_free(&all);
    return rc;
}

/* Share of indirect jumps whose target the predictor has no room for; their targets. Those that no burst saw take room, too. */
static int take_targets(const struct cs_edge_flow *flow, double *absent, double *targets)
{
    double *rate = calloc(5 * flow->n + 1, sizeof *rate), all = 0, once = 0, twice = 0;
    size_t n = 0, seen;
    *absent = 0;
    if (!rate)
        return -ENOMEM;
    for (size_t i = 0, end; i < flow->n; i = end) { /* those of a branch lie together */
        const struct cs_counted_edge *e = &flow->list[i];
        for (end = i + 1;
             end < flow->n && flow->list[end].image == e->image && flow->list[end].from == e->from; end++)
            ;
        for (size_t k = i; end - i > 2 && k < end; k++)
            if (flow->list[k].count > 0) {
                all += flow->list[k].count;
                rate[n++] = flow->list[k].count;
                count_use(flow->list[k].count, &once, &twice);
            }
    }
    seen = n;
    for (double left = fmin(unseen_by(once, twice), 4.0 * (double)seen); left >= 1; left--)
        rate[n++] = 0.5;
    for (size_t i = 0; i < n; i++)
        rate[i] /= all;
    const double kept = cs_flat_kept(rate, n, CS_MODEL_TARGETS_KEPT);
    for (size_t i = 0; i < seen; i++)
        *absent += rate[i] * exp(-rate[i] * kept);
    free(rate);
    *targets = (double)n;
    return 0;
}

int cs_flat_measure(struct cs_store *store, const struct cs_edge_flow *flow, const struct cs_machine *machine,
                    struct cs_flat_facts *out, struct cs_error *err)
{
    struct measuring m = {.store = store, .out = out, .err = err, .huge_walk = cs_machine_huge_walk(machine)};
    const struct cs_catalog *catalog;
    double unknown = 0, absent = 0;
    *out = (struct cs_flat_facts){0};
    int rc = cs_store_catalog(store, &catalog, err);
    for (size_t i = 0; rc == 0 && i < catalog->n_images; i++)
        if (catalog->images[i].is_first)
            rc = take_image(&m, catalog->images[i].image->id, &unknown);
    if (rc == 0)
        rc = take_paces(&m, machine->core_hz);
    if (rc == 0)
        rc = take_targets(flow, &absent, &out->targets);
    const double n = out->instructions;
    if (rc == 0 && n > 0 && out->bursts > 0) {
        m.lines.bursts = m.pages.bursts = out->bursts;
        out->code_bytes = 64 * population(&m.lines);
        out->code_pages = population(&m.pages);
        out->l1_misses = m.far_lines / n;
        out->page_misses = m.far_pages / n;
        rc = add_lost(&out->l1_misses, &m.lines, (double)machine->l1i_bytes / 64, n);
        rc = rc ? rc : add_lost(&out->l2_misses, &m.lines, (double)machine->l2.bytes / 64, n);
        rc = rc ? rc : add_lost(&out->page_misses, &m.pages, machine->itlb_entries, n);
        rc = rc ? rc : add_lost(&out->page_walks, &m.pages, machine->stlb_entries, n);
        out->data_pointer = out->data_lines > 0 ? m.pointer / out->data_lines : 0;
        out->guesses = (out->guesses + m.jumps_missed * (1 - absent)) / n;
        out->targets_unknown = unknown * absent / n;
        out->data_bytes = fmax(out->data_bytes, 64 * out->data_lines / out->bursts);
        out->data_lines /= n;
        out->data_walks /= n;
    }
    cs_array_free(&m.lines.uses);
    cs_array_free(&m.pages.uses);
    return rc == -ENOMEM ? cs_fail(err, ENOMEM, "no memory for what bursts saw") : rc;
}
