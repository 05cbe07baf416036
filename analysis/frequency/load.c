/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From the store's profiles ("edges", "windows", "beginnings", "paces", points of time) to arrays: edges in
 * order, bursts apart, timed intervals. */
#include "analysis/frequency/edge_flow_internal.h"
#include "image/code.h"
#include "image/isa/decode.h"
#include "store/base/array.h"
#include "store/catalog.h"
#include "store/table/burst_schemas.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define RUN_BYTES_MAX 65536 /* a longer straight run is a damaged record */

enum { FOUND_TOGETHER = 32 };

struct loading {
    struct cs_edge_flow *t;
    struct burst_edges *w;
    struct timed_intervals *intervals;
    struct edge_finder finder; /* of the edges of bursts */
    size_t edges_capacity, rows_capacity, runs_capacity;
    uint32_t images_capacity;
    uint64_t bursts; /* hash of the checksums of all profiles of bursts and intervals */
    enum evidence { WHOLE, SHORT_BURSTS, PATHS } evidence;
    struct cs_error *err;
};

static int64_t image_index(struct loading *l, const char *id)
{
    struct cs_edge_flow *t = l->t;
    uint32_t i = cs_edge_flow_image(t, id);
    if (i != UINT32_MAX)
        return i;
    if (cs_array_room(t->images, t->n_images, l->images_capacity) < 0)
        return -ENOMEM;
    strncpy(t->images[t->n_images], id, CS_IMAGE_ID_MAX - 1);
    t->images[t->n_images][CS_IMAGE_ID_MAX - 1] = 0;
    return t->n_images++;
}

static int add_edge(struct loading *l, const struct cs_counted_edge *one)
{
    if (cs_array_room(l->t->list, l->t->n, l->edges_capacity) < 0)
        return -ENOMEM;
    l->t->list[l->t->n++] = *one;
    return 0;
}

static int read_edges(struct loading *l, const struct cs_store_profile_ref *ref, struct cs_table *table)
{
    int64_t image = image_index(l, ref->image->id);
    for (size_t i = 0; image >= 0 && i < cs_table_rows(table); i++) {
        const struct cs_edge_row *row = cs_table_at(table, i);
        const char *to = cs_table_string(table, row->to_image);
        int64_t to_image = *to ? image_index(l, to) : image;
        struct cs_counted_edge one = {.image = (uint32_t)image,
                                      .to_image = (uint32_t)to_image,
                                      .from = row->from,
                                      .to = row->to,
                                      .count = (double)row->count,
                                      .bursts = (double)row->bursts,
                                      .squares = (double)row->squares};
        if (strcmp(ref->head->event, "path-ends") == 0) {
            one.ends = one.count;
            one.count = one.bursts = one.squares = 0;
        }
        if (to_image < 0 || add_edge(l, &one) < 0)
            return -ENOMEM;
    }
    return image < 0 ? -ENOMEM : 0;
}

/* Rows first to first + n: their edges' indexes. */
static void find_edges(const struct loading *l, uint32_t image, struct cs_table *table, size_t first,
                       size_t n, uint32_t *found)
{
    struct cs_counted_edge keys[FOUND_TOGETHER];
    for (size_t i = 0; i < n; i++) {
        const struct cs_per_burst_edge_row *row = cs_table_at(table, first + i);
        const char *to = cs_table_string(table, row->to_image);
        keys[i].image = image;
        keys[i].to_image = *to ? cs_edge_flow_image(l->t, to) : image;
        keys[i].from = row->from;
        keys[i].to = row->to;
    }
    edge_finder_find(&l->finder, keys, n, found);
}

/* A table's rows ascend by burst. Those without an edge in the list go, their bursts stay. */
static int read_burst_edges(struct loading *l, const struct cs_store_profile_ref *ref, struct cs_table *table)
{
    struct burst_edges *w = l->w;
    uint32_t image = cs_edge_flow_image(l->t, ref->image->id), found[FOUND_TOGETHER];
    size_t n = cs_table_rows(table);
    struct burst_run *run = NULL;
    if (cs_array_reserve_in(w->rows, w->n + n, l->rows_capacity) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        const struct cs_per_burst_edge_row *row = cs_table_at(table, i);
        size_t k = i % FOUND_TOGETHER;
        if (k == 0)
            find_edges(l, image, table, i, n - i < FOUND_TOGETHER ? n - i : FOUND_TOGETHER, found);
        if (!run || run->burst != row->burst) {
            if (cs_array_room(w->runs, w->n_runs, l->runs_capacity) < 0)
                return -ENOMEM;
            run = &w->runs[w->n_runs++];
            *run = (struct burst_run){row->burst, w->n, 0};
        }
        if (found[k] != UINT32_MAX) {
            w->rows[w->n++] = (struct burst_edge){.edge = found[k], .count = (double)row->count};
            run->n++;
        }
    }
    return 0;
}

static int read_entries(struct loading *l, const struct cs_store_profile_ref *ref, struct cs_table *table)
{
    uint32_t image = cs_edge_flow_image(l->t, ref->image->id);
    size_t rows = cs_table_rows(table);
    if (cs_array_resize(l->w->entries, l->w->n_entries + rows + 1) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < rows; i++) {
        const struct cs_burst_entry_row *row = cs_table_at(table, i);
        const char *start_image = cs_table_string(table, row->start_image);
        l->w->entries[l->w->n_entries++] =
            (struct burst_entry){.burst = row->burst,
                                 .group = hot_branch_group(image, row->offset),
                                 .start = row->start,
                                 .image = *start_image ? cs_edge_flow_image(l->t, start_image) : image,
                                 .instructions = (double)row->instructions};
    }
    return 0;
}

static int read_counts(struct loading *l, const struct cs_store_profile_ref *ref, struct cs_table *table,
                       unsigned column)
{
    uint32_t image = cs_edge_flow_image(l->t, ref->image->id);
    size_t rows = image != UINT32_MAX ? cs_table_rows(table) : 0;
    if (cs_array_resize(l->w->samples, l->w->n_samples + rows + 1) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < rows; i++) {
        const uint64_t *row = cs_table_row(table, i);
        l->w->samples[l->w->n_samples++] = (struct sampled_time){row[0], image, (double)row[column]};
    }
    return 0;
}

static int read_samples(struct loading *l, const struct cs_store_profile_ref *ref, struct cs_table *table)
{
    return read_counts(l, ref, table, offsetof(struct cs_point_row, samples) / 8);
}

static int read_starts(struct loading *l, const struct cs_store_profile_ref *ref, struct cs_table *table)
{
    return read_counts(l, ref, table, offsetof(struct cs_edge_row, count) / 8);
}

/* Branch records (LBR) hold taken branches only; a straight run from a target to the next taken branch says
 * which branches on its way fell through. Without the code nothing can be said of those. */
static int read_ranges(struct loading *l, const struct cs_store_profile_ref *ref, struct cs_table *table)
{
    struct cs_image_code *code;
    int64_t image = image_index(l, ref->image->id);
    int rc = image < 0 ? -ENOMEM : cs_image_open(ref->image, NULL, &code, l->err);
    if (rc < 0)
        return rc;
    enum cs_isa isa = cs_image_isa(code);
    for (size_t i = 0; rc == 0 && isa != CS_ISA_NONE && i < cs_table_rows(table); i++) {
        const struct cs_range_row *row = cs_table_at(table, i);
        uint64_t at = row->start, end = row->end;
        while (rc == 0 && at < end && end - row->start < RUN_BYTES_MAX) {
            struct cs_isa_insn insn;
            size_t capacity;
            const uint8_t *bytes = cs_image_bytes_at(code, at, &capacity, NULL);
            if (!bytes || !cs_isa_decode_flow(isa, bytes, capacity, at, &insn))
                break;
            at += insn.length;
            double count = (double)row->count;
            if (insn.flow == CS_ISA_FLOW_BRANCH)
                rc = add_edge(l, &(struct cs_counted_edge){.image = (uint32_t)image,
                                                           .to_image = (uint32_t)image,
                                                           .from = insn.offset,
                                                           .to = at,
                                                           .count = count,
                                                           .bursts = count,
                                                           .squares = count});
        }
    }
    cs_image_close(code);
    return rc;
}

/* bench/_ablation.py judges what intervals that were timed by register snapshots (odd after_ns) bring. */
static bool is_wanted(const uint64_t *row)
{
#ifdef CS_ABLATE_SNAPSHOTS
    return row[CS_INSTRUCTION_RATE_AFTER_NS] % 2 == 0;
#else
    (void)row;
    return true;
#endif
}

static int read_intervals(struct loading *l, const struct cs_store_profile_ref *ref, struct cs_table *table)
{
    uint32_t image = cs_edge_flow_image(l->t, ref->image->id);
    size_t rows = cs_table_rows(table);
    if (cs_array_resize(l->intervals->rows, l->intervals->n + rows + 1) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < rows && image != UINT32_MAX; i++) {
        const uint64_t *row = cs_table_row(table, i);
        uint64_t group = hot_branch_group(image, row[CS_INSTRUCTION_RATE_OFFSET]);
        if (row[CS_INSTRUCTION_RATE_NS] && row[CS_INSTRUCTION_RATE_INSTRUCTIONS] && is_wanted(row))
            l->intervals->rows[l->intervals->n++] =
                (struct timed_interval){.group = group,
                                        .own = group,
                                        .burst = row[CS_INSTRUCTION_RATE_BURST],
                                        .ns = (double)row[CS_INSTRUCTION_RATE_NS],
                                        .instructions = (double)row[CS_INSTRUCTION_RATE_INSTRUCTIONS],
                                        .first = row[CS_INSTRUCTION_RATE_AFTER_NS] == 0};
    }
    return 0;
}

static bool is_any(const struct cs_store_profile_ref *ref)
{
    (void)ref;
    return true;
}

static bool is_no_path(const struct cs_store_profile_ref *ref)
{
    return strcmp(ref->head->event, "path-windows") != 0;
}

static int load_by(struct loading *l, const struct cs_store_profile_ref *ref,
                   int (*read)(struct loading *l, const struct cs_store_profile_ref *ref,
                               struct cs_table *table))
{
    struct cs_table *table;
    int rc = cs_store_load(ref, &table, l->err);
    if (rc < 0)
        return rc;
    rc = read(l, ref, table);
    cs_table_close(table);
    return rc < 0 ? cs_fail(l->err, ENOMEM, "no memory for %s", ref->file) : 0;
}

/* Time outside the kernel, of the clock that samples it. */
static bool is_user_time(const struct cs_store_profile_ref *ref)
{
    return ref->kind == CS_KIND_POINTS && strcmp(ref->head->unit, "ns") == 0 &&
           strncmp(ref->head->event, "cpu-clock", 9) == 0 && ref->image->kind != CS_IMAGE_KERNEL &&
           ref->image->kind != CS_IMAGE_MODULE && ref->image->kind != CS_IMAGE_TAG;
}

/* Is it this kind of evidence, or tells where its paths ended? */
static bool is_edges(const struct cs_store_profile_ref *ref, enum evidence evidence)
{
    const char *event = ref->head->event;
    if (ref->kind != CS_KIND_EDGES)
        return false;
    switch (evidence) {
    case PATHS:
        return strcmp(event, "path-edges") == 0 || strcmp(event, "path-ends") == 0;
    case SHORT_BURSTS:
        return strcmp(event, "burst-edges-512") == 0;
    default:
        return cs_edges_are_whole(event) && strcmp(event, "path-edges") != 0;
    }
}

/* What of bursts an answer that is kept depends on. */
static bool is_of_bursts(const struct cs_store_profile_ref *ref)
{
    return (ref->kind == CS_KIND_PER_BURST_EDGES && is_no_path(ref)) || ref->kind == CS_KIND_BURST_ENTRIES ||
           ref->kind == CS_KIND_INSTRUCTION_RATES || is_user_time(ref);
}

static int read_all_edges(struct loading *l, const struct cs_catalog *catalog)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < catalog->n_profiles; i++) {
        const struct cs_store_profile_ref *ref = &catalog->profiles[i];
        if (is_user_time(ref))
            l->t->user_ns += (double)ref->head->period_sum;
        if (is_of_bursts(ref)) {
            uint64_t seed = l->bursts + XXH3_64bits(ref->image->id, strlen(ref->image->id));
            l->bursts = XXH3_64bits_withSeed(&ref->checksum, sizeof ref->checksum, seed);
        } else if (is_edges(ref, l->evidence)) {
            rc = load_by(l, ref, read_edges);
        } else if (l->evidence == WHOLE && ref->kind == CS_KIND_RANGES &&
                   strcmp(ref->head->event, "lbr-ranges") == 0) {
            rc = load_by(l, ref, read_ranges);
        }
    }
    return rc;
}

/* What is read apart from edges: of a kind and event (NULL: any), and that `is` so. */
struct source {
    enum cs_kind kind;
    const char *event;
    bool (*is)(const struct cs_store_profile_ref *ref);
    int (*read)(struct loading *l, const struct cs_store_profile_ref *ref, struct cs_table *table);
};

static int read_sources(struct loading *l, struct cs_store *store, const struct source *sources, size_t n)
{
    const struct cs_catalog *catalog;
    const struct cs_store_profile_ref *ref;
    int rc = cs_store_catalog(store, &catalog, l->err);
    for (size_t i = 0; i < n; i++) {
        const struct cs_query query = {.kind = sources[i].kind, .event = sources[i].event};
        for (size_t at = 0; rc == 0 && (ref = cs_catalog_next(catalog, &query, &at));)
            rc = sources[i].is(ref) ? load_by(l, ref, sources[i].read) : 0;
    }
    return rc;
}

int edge_flow_read(struct cs_store *store, bool paths, struct cs_edge_flow *t, uint64_t *bursts,
                   struct cs_error *err)
{
    const enum evidence order[] = {paths ? PATHS : WHOLE, paths ? SHORT_BURSTS : PATHS};
    const struct cs_catalog *catalog;
    struct loading l = {.t = t, .err = err};
    int rc = cs_store_catalog(store, &catalog, err);
    /* The second where there is nothing of the first. */
    for (unsigned i = 0; i < 2 && rc == 0 && t->n == 0; i++) {
        l.evidence = order[i];
        l.bursts = 0;
        t->user_ns = 0;
        rc = read_all_edges(&l, catalog);
    }
    t->from_paths = l.evidence == PATHS && t->n > 0;
    *bursts = l.bursts;
    if (rc < 0)
        return rc;
    if (t->n > UINT32_MAX / 4)
        return cs_fail(err, E2BIG, "%s has too many edges for one analysis", cs_store_path(store));
    edge_list_merge(t);
    if (edge_list_order_targets(t) < 0)
        return cs_fail(err, ENOMEM, "no memory for %zu edges", t->n);
    return 0;
}

static int read_by_burst(struct cs_store *store, struct cs_edge_flow *t, struct burst_edges *w,
                         uint32_t *n_bursts, const struct source *sources, size_t n, struct cs_error *err)
{
    struct loading l = {.t = t, .w = w, .err = err};
    int rc = edge_finder_init(&l.finder, t);
    if (rc < 0)
        return cs_fail(err, ENOMEM, "no memory to find %zu edges", t->n);
    rc = read_sources(&l, store, sources, n);
    edge_finder_fini(&l.finder);
    if (rc == 0 && edge_list_order_bursts(w, n_bursts) < 0)
        rc = cs_fail(err, ENOMEM, "no memory for %zu edges of bursts", w->n);
    return rc;
}

int edge_flow_read_bursts(struct cs_store *store, struct cs_edge_flow *t, struct burst_edges *w,
                          struct cs_error *err)
{
    static const struct source sources[] = {{CS_KIND_PER_BURST_EDGES, NULL, is_no_path, read_burst_edges},
                                            {CS_KIND_BURST_ENTRIES, NULL, is_any, read_entries},
                                            {CS_KIND_POINTS, NULL, is_user_time, read_samples}};
    return read_by_burst(store, t, w, &t->n_bursts, sources, sizeof sources / sizeof *sources, err);
}

int edge_flow_read_path_groups(struct cs_store *store, struct cs_edge_flow *t, struct path_groups *groups,
                               struct cs_error *err)
{
    static const struct source sources[] = {
        {CS_KIND_PER_BURST_EDGES, "path-windows", is_any, read_burst_edges},
        {CS_KIND_EDGES, "path-starts", is_any, read_starts}};
    return read_by_burst(store, t, &groups->rows, &groups->n, sources, sizeof sources / sizeof *sources, err);
}

int edge_flow_read_intervals(struct cs_store *store, struct cs_edge_flow *t,
                             struct timed_intervals *intervals, struct cs_error *err)
{
    struct loading l = {.t = t, .intervals = intervals, .err = err};
    static const struct source source = {CS_KIND_INSTRUCTION_RATES, NULL, is_any, read_intervals};
    return read_sources(&l, store, &source, 1);
}
