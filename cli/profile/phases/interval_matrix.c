/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Interval profiles are loaded row by row, and procedures are numbered in that order. The matrix is filled at the end,
 * when the number of intervals is known. */
#include "cli/profile/phases/interval_matrix.h"

#include "cli/output/output.h"
#include "cli/profile/profile.h"
#include "image/code.h"
#include "image/shared_code.h"
#include "store/base/array.h"
#include "store/base/text.h"
#include "store/catalog.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct row {
    uint64_t start_ms, length_ms, samples;
    uint32_t procedure;
    unsigned event;
};

struct gathering {
    struct interval_matrix *matrix;
    const struct interval_filter *filter;
    struct cs_store *store;
    struct cs_error *err;
    struct row *rows;
    size_t n, capacity;
    uint64_t event_samples[INTERVAL_EVENTS_MAX];
    struct cs_image_code *code;
    char image[CS_IMAGE_ID_MAX];
    struct progress bar;
    uint64_t n_profiles;
};

static int out_of_memory(struct cs_error *err)
{
    return cs_fail(err, ENOMEM, "not enough memory for the intervals");
}

static bool matches(const struct gathering *g, const struct cs_store_profile_ref *ref)
{
    const struct interval_filter *f = g->filter;
    return (!f->event || strcmp(f->event, ref->head->event) == 0) &&
           (!f->image || strcmp(f->image, ref->image->path) == 0 ||
            strcmp(f->image, cs_base_name(ref->image->path)) == 0 ||
            strncmp(f->image, ref->image->id, strlen(f->image)) == 0);
}

static int event_of(struct interval_matrix *matrix, const char *name, bool add)
{
    for (unsigned e = 0; e < matrix->n_events; e++)
        if (strcmp(matrix->events[e], name) == 0)
            return (int)e;
    if (!add || matrix->n_events == INTERVAL_EVENTS_MAX)
        return -1;
    snprintf(matrix->events[matrix->n_events], sizeof matrix->events[0], "%s", name);
    return (int)matrix->n_events++;
}

static int64_t procedure_of(struct gathering *g, const struct cs_store_image *image, uint64_t offset)
{
    char text[512], name[384];
    const struct cs_image_procedure *p = NULL;
    if (g->code) {
        p = cs_image_procedure_at(g->code, offset);
        if (!p)
            p = cs_image_procedure_at(g->code, offset + 15);
    }
    snprintf(text, sizeof text, "%s\t%s", p ? cs_image_demangle(p->name, name, sizeof name) : "[unknown]",
             image_name(image));
    return cs_table_text(g->matrix->names, text);
}

static int gather(struct gathering *g, const struct cs_store_profile_ref *ref)
{
    int event = event_of(g->matrix, ref->head->event, true);
    if (event < 0)
        return 0;
    progress_step(&g->bar, g->n_profiles++);
    if (!g->code || strcmp(g->image, ref->image->id) != 0) {
        cs_image_close(g->code);
        g->code = NULL;
        snprintf(g->image, sizeof g->image, "%s", ref->image->id);
        int rc = cs_image_open_shared(ref->image, g->store, &g->code, g->err);
        if (rc < 0)
            return rc;
    }
    struct cs_table *table;
    int rc = cs_store_load(ref, &table, g->err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; rc == 0 && i < cs_table_rows(table); i++) {
        const struct cs_interval_row *row = cs_table_at(table, i);
        if (cs_array_room(g->rows, g->n, g->capacity) < 0) {
            rc = out_of_memory(g->err);
            break;
        }
        int64_t procedure = procedure_of(g, ref->image, row->offset);
        if (procedure < 0)
            rc = out_of_memory(g->err);
        else if (row->length_ms)
            g->rows[g->n++] = (struct row){row->start_ms, row->length_ms, row->samples, (uint32_t)procedure,
                                           (unsigned)event};
        g->event_samples[event] += row->samples;
    }
    cs_table_close(table);
    return rc;
}

/* Mean periods stand with the point profiles of the same events. */
static int gather_periods(struct gathering *g, const struct cs_catalog *catalog)
{
    const struct cs_query points = {.kind = CS_KIND_POINTS};
    const struct cs_store_profile_ref *ref;
    double period_sum[INTERVAL_EVENTS_MAX] = {0}, samples[INTERVAL_EVENTS_MAX] = {0};
    for (size_t at = 0; (ref = cs_catalog_next(catalog, &points, &at));) {
        struct cs_table *table;
        int event = event_of(g->matrix, ref->head->event, false);
        if (event < 0 || !matches(g, ref))
            continue;
        int rc = cs_store_load(ref, &table, g->err);
        if (rc < 0)
            return rc;
        period_sum[event] += (double)ref->head->period_sum;
        samples[event] += (double)cs_table_sum(table, 1);
        snprintf(g->matrix->units[event], sizeof g->matrix->units[0], "%s", ref->head->unit);
        cs_table_close(table);
    }
    for (unsigned e = 0; e < g->matrix->n_events; e++)
        g->matrix->mean_period[e] = samples[e] > 0 ? period_sum[e] / samples[e] : 0;
    return 0;
}

/* Most samples first: order[rank] = text number; rank[text number] = rank. */
static int by_total(const void *a, const void *b, void *totals)
{
    uint64_t x = ((uint64_t *)totals)[*(const uint32_t *)a], y = ((uint64_t *)totals)[*(const uint32_t *)b];
    return (x < y) - (x > y);
}

static int rank_procedures(struct gathering *g, uint32_t *rank)
{
    struct interval_matrix *m = g->matrix;
    uint64_t *totals = calloc(m->n_procedures, sizeof *totals);
    uint32_t *order = calloc(m->n_procedures, sizeof *order);
    m->procedures = calloc(m->n_procedures, sizeof *m->procedures);
    m->totals = calloc(m->n_procedures, sizeof *m->totals);
    int rc = totals && order && m->procedures && m->totals ? 0 : out_of_memory(g->err);
    if (rc == 0) {
        for (size_t i = 0; i < g->n; i++)
            if (g->rows[i].event == m->main_event)
                totals[g->rows[i].procedure] += g->rows[i].samples;
        for (uint32_t p = 0; p < m->n_procedures; p++)
            order[p] = p;
        qsort_r(order, m->n_procedures, sizeof *order, by_total, totals);
        for (uint32_t r = 0; r < m->n_procedures; r++) {
            rank[order[r]] = r;
            m->procedures[r] = cs_table_string(m->names, order[r]);
            m->totals[r] = totals[order[r]];
        }
    }
    free(totals);
    free(order);
    return rc;
}

static int fill(struct gathering *g)
{
    struct interval_matrix *m = g->matrix;
    uint64_t first = UINT64_MAX, last = 0;
    m->length_ms = 1;
    for (size_t i = 0; i < g->n; i++) {
        first = g->rows[i].start_ms < first ? g->rows[i].start_ms : first;
        last = g->rows[i].start_ms > last ? g->rows[i].start_ms : last;
        m->length_ms = g->rows[i].length_ms > m->length_ms ? g->rows[i].length_ms : m->length_ms;
    }
    while ((last - first) / m->length_ms + 2 > INTERVALS_MAX)
        m->length_ms *= 2;
    m->start_ms = first - first % m->length_ms;
    m->n_intervals = (size_t)((last - m->start_ms) / m->length_ms) + 1;
    m->n_procedures = cs_table_texts(m->names);
    uint32_t *rank = calloc(m->n_procedures, sizeof *rank);
    m->counts = calloc(m->n_intervals * m->n_procedures, sizeof *m->counts);
    m->event_counts = calloc(m->n_intervals * m->n_events, sizeof *m->event_counts);
    int rc = rank && m->counts && m->event_counts ? rank_procedures(g, rank) : out_of_memory(g->err);
    for (size_t i = 0; rc == 0 && i < g->n; i++) {
        const struct row *row = &g->rows[i];
        size_t interval = (size_t)((row->start_ms - m->start_ms) / m->length_ms);
        m->event_counts[interval * m->n_events + row->event] += row->samples;
        if (row->event == m->main_event)
            m->counts[interval * m->n_procedures + rank[row->procedure]] += row->samples;
    }
    free(rank);
    return rc;
}

int interval_matrix_of(struct interval_matrix *matrix, struct cs_store *store,
                       const struct interval_filter *filter, struct cs_error *err)
{
    *matrix = (struct interval_matrix){.names = cs_table_open(&cs_schema_stacks)};
    struct gathering g = {.matrix = matrix, .filter = filter, .store = store, .err = err};
    const struct cs_query intervals = {.kind = CS_KIND_INTERVALS};
    const struct cs_catalog *catalog;
    const struct cs_store_profile_ref *ref;
    int rc = matrix->names ? cs_store_catalog(store, &catalog, err) : out_of_memory(err);
    progress_init(&g.bar, "reading", "profiles", 0);
    for (size_t at = 0; rc == 0 && (ref = cs_catalog_next(catalog, &intervals, &at));)
        g.bar.total += matches(&g, ref);
    for (size_t at = 0; rc == 0 && (ref = cs_catalog_next(catalog, &intervals, &at));)
        rc = matches(&g, ref) ? gather(&g, ref) : 0;
    progress_fini(&g.bar);
    if (rc == 0 && g.n == 0)
        rc = cs_fail(err, ENOENT, "%s holds no intervals%s; sample with cyclescope record --intervals 1s",
                     cs_store_path(store),
                     filter->epoch || filter->image || filter->event ? " of what was asked for" : "");
    if (rc == 0)
        rc = gather_periods(&g, catalog);
    if (rc == 0) {
        for (unsigned e = 0; e < matrix->n_events; e++)
            if (g.event_samples[e] > g.event_samples[matrix->main_event])
                matrix->main_event = e;
        rc = fill(&g);
    }
    cs_image_close(g.code);
    free(g.rows);
    assert(rc < 0 || (matrix->main_event < matrix->n_events && matrix->n_intervals <= INTERVALS_MAX));
    if (rc < 0)
        interval_matrix_close(matrix);
    return rc;
}

int interval_matrix_open(struct interval_matrix *matrix, const char *path,
                         const struct interval_filter *filter, struct cs_error *err)
{
    struct cs_store *store = NULL;
    *matrix = (struct interval_matrix){0};
    int rc = recordings_open(path, filter->epoch, RECORDINGS_OF_SAMPLES, &store, NULL, err);
    rc = rc < 0 ? rc : interval_matrix_of(matrix, store, filter, err);
    cs_store_close(store);
    return rc;
}

void interval_matrix_close(struct interval_matrix *matrix)
{
    cs_table_close(matrix->names);
    free(matrix->counts);
    free(matrix->event_counts);
    free(matrix->procedures);
    free(matrix->totals);
    *matrix = (struct interval_matrix){0};
}
