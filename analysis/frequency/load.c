/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From the store's profiles ("edges", "windows", "beginnings", "paces", points of time) to arrays: edges in
 * order, bursts apart, timed intervals. */
#include "analysis/frequency/edge_flow_internal.h"
#include "image/code.h"
#include "image/isa/decode.h"
#include "store/base/array.h"
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
        const uint64_t *row = cs_table_row(table, i);
        const char *to = cs_table_string(table, row[1]);
        int64_t to_image = *to ? image_index(l, to) : image;
        struct cs_counted_edge one = {.image = (uint32_t)image,
                                      .to_image = (uint32_t)to_image,
                                      .from = row[0],
                                      .to = row[2],
                                      .count = (double)row[3],
                                      .bursts = (double)row[4],
                                      .squares = (double)row[5]};
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
        const uint64_t *row = cs_table_row(table, first + i);
        const char *to = cs_table_string(table, row[2]);
        keys[i].image = image;
        keys[i].to_image = *to ? cs_edge_flow_image(l->t, to) : image;
        keys[i].from = row[1];
        keys[i].to = row[3];
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
        const uint64_t *row = cs_table_row(table, i);
        size_t k = i % FOUND_TOGETHER;
        if (k == 0)
            find_edges(l, image, table, i, n - i < FOUND_TOGETHER ? n - i : FOUND_TOGETHER, found);
        if (!run || run->burst != row[0]) {
            if (cs_array_room(w->runs, w->n_runs, l->runs_capacity) < 0)
                return -ENOMEM;
            run = &w->runs[w->n_runs++];
            *run = (struct burst_run){row[0], w->n, 0};
        }
        if (found[k] != UINT32_MAX) {
            w->rows[w->n++] = (struct burst_edge){.edge = found[k], .count = (double)row[4]};
            run->n++;
        }
    }
    return 0;
}

static int read_entries(struct loading *l, const struct cs_store_profile_ref *ref, struct cs_table *table)
{
    uint32_t image = cs_edge_flow_image(l->t, ref->image->id);
    size_t rows = cs_table_rows(table);
    struct burst_entry *grown = realloc(l->w->entries, (l->w->n_entries + rows + 1) * sizeof *grown);
    if (!grown)
        return -ENOMEM;
    l->w->entries = grown;
    for (size_t i = 0; i < rows; i++) {
        const uint64_t *row = cs_table_row(table, i);
        const char *start_image = cs_table_string(table, row[2]);
        grown[l->w->n_entries++] =
            (struct burst_entry){.burst = row[0],
                                 .group = hot_branch_group(image, row[1]),
                                 .start = row[3],
                                 .image = *start_image ? cs_edge_flow_image(l->t, start_image) : image,
                                 .instructions = (double)row[4]};
    }
    return 0;
}

static int read_counts(struct loading *l, const struct cs_store_profile_ref *ref, struct cs_table *table,
                       unsigned column)
{
    uint32_t image = cs_edge_flow_image(l->t, ref->image->id);
    size_t rows = image != UINT32_MAX ? cs_table_rows(table) : 0;
    struct sampled_time *grown = realloc(l->w->samples, (l->w->n_samples + rows + 1) * sizeof *grown);
    if (!grown)
        return -ENOMEM;
    l->w->samples = grown;
    for (size_t i = 0; i < rows; i++) {
        const uint64_t *row = cs_table_row(table, i);
        grown[l->w->n_samples++] = (struct sampled_time){row[0], image, (double)row[column]};
    }
    return 0;
}

static int read_samples(struct loading *l, const struct cs_store_profile_ref *ref, struct cs_table *table)
{
    return read_counts(l, ref, table, 1);
}

static int read_starts(struct loading *l, const struct cs_store_profile_ref *ref, struct cs_table *table)
{
    return read_counts(l, ref, table, 3);
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
        const uint64_t *row = cs_table_row(table, i);
        uint64_t at = row[0], end = row[1];
        while (rc == 0 && at < end && end - row[0] < RUN_BYTES_MAX) {
            struct cs_isa_insn insn;
            size_t capacity;
            const uint8_t *bytes = cs_image_bytes_at(code, at, &capacity, NULL);
            if (!bytes || !cs_isa_decode_flow(isa, bytes, capacity, at, &insn))
                break;
            at += insn.length;
            double count = (double)row[2];
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
    struct timed_interval *grown = realloc(l->intervals->rows, (l->intervals->n + rows + 1) * sizeof *grown);
    if (!grown)
        return -ENOMEM;
    l->intervals->rows = grown;
    for (size_t i = 0; i < rows && image != UINT32_MAX; i++) {
        const uint64_t *row = cs_table_row(table, i);
        uint64_t group = hot_branch_group(image, row[CS_INSTRUCTION_RATE_OFFSET]);
        if (row[CS_INSTRUCTION_RATE_NS] && row[CS_INSTRUCTION_RATE_INSTRUCTIONS] && is_wanted(row))
            grown[l->intervals->n++] =
                (struct timed_interval){.group = group,
                                        .own = group,
                                        .burst = row[CS_INSTRUCTION_RATE_BURST],
                                        .ns = (double)row[CS_INSTRUCTION_RATE_NS],
                                        .instructions = (double)row[CS_INSTRUCTION_RATE_INSTRUCTIONS],
                                        .first = row[CS_INSTRUCTION_RATE_AFTER_NS] == 0};
    }
    return 0;
}

static bool are_burst_edges(const struct cs_store_profile_ref *ref)
{
    return ref->kind == CS_KIND_PER_BURST_EDGES && strcmp(ref->head->event, "path-windows") != 0;
}

static bool are_entries(const struct cs_store_profile_ref *ref)
{
    return ref->kind == CS_KIND_BURST_ENTRIES;
}

static bool are_intervals(const struct cs_store_profile_ref *ref)
{
    return ref->kind == CS_KIND_INSTRUCTION_RATES;
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

static bool are_ranges(const struct cs_store_profile_ref *ref)
{
    return ref->kind == CS_KIND_RANGES && strcmp(ref->head->event, "lbr-ranges") == 0;
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

static int visit_edges(const struct cs_store_profile_ref *ref, void *arg)
{
    struct loading *l = arg;
    if (is_user_time(ref))
        l->t->user_ns += (double)ref->head->period_sum;
    if (are_burst_edges(ref) || are_entries(ref) || are_intervals(ref) || is_user_time(ref)) {
        uint64_t seed = l->bursts + XXH3_64bits(ref->image->id, strlen(ref->image->id));
        l->bursts = XXH3_64bits_withSeed(&ref->checksum, sizeof ref->checksum, seed);
        return 0;
    }
    if (is_edges(ref, l->evidence))
        return load_by(l, ref, read_edges);
    return l->evidence == WHOLE && are_ranges(ref) ? load_by(l, ref, read_ranges) : 0;
}

static int visit_bursts(const struct cs_store_profile_ref *ref, void *arg)
{
    return are_burst_edges(ref) ? load_by(arg, ref, read_burst_edges)
           : are_entries(ref)   ? load_by(arg, ref, read_entries)
           : is_user_time(ref)  ? load_by(arg, ref, read_samples)
                                : 0;
}

static int visit_groups(const struct cs_store_profile_ref *ref, void *arg)
{
    return strcmp(ref->head->event, "path-windows") == 0  ? load_by(arg, ref, read_burst_edges)
           : strcmp(ref->head->event, "path-starts") == 0 ? load_by(arg, ref, read_starts)
                                                          : 0;
}

static int visit_intervals(const struct cs_store_profile_ref *ref, void *arg)
{
    return are_intervals(ref) ? load_by(arg, ref, read_intervals) : 0;
}

int edge_flow_read(struct cs_store *store, bool paths, struct cs_edge_flow *t, uint64_t *bursts,
                   struct cs_error *err)
{
    const enum evidence order[] = {paths ? PATHS : WHOLE, paths ? SHORT_BURSTS : PATHS};
    struct loading l = {.t = t, .err = err};
    int rc = 0;
    /* The second where there is nothing of the first. */
    for (unsigned i = 0; i < 2 && rc == 0 && t->n == 0; i++) {
        l.evidence = order[i];
        l.bursts = 0;
        t->user_ns = 0;
        rc = cs_store_each(store, visit_edges, &l, err);
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
                         uint32_t *n_bursts, int (*visit)(const struct cs_store_profile_ref *ref, void *arg),
                         struct cs_error *err)
{
    struct loading l = {.t = t, .w = w, .err = err};
    int rc = edge_finder_init(&l.finder, t);
    if (rc < 0)
        return cs_fail(err, ENOMEM, "no memory to find %zu edges", t->n);
    rc = cs_store_each(store, visit, &l, err);
    edge_finder_fini(&l.finder);
    if (rc == 0 && edge_list_order_bursts(w, n_bursts) < 0)
        rc = cs_fail(err, ENOMEM, "no memory for %zu edges of bursts", w->n);
    return rc;
}

int edge_flow_read_bursts(struct cs_store *store, struct cs_edge_flow *t, struct burst_edges *w,
                          struct cs_error *err)
{
    return read_by_burst(store, t, w, &t->n_bursts, visit_bursts, err);
}

int edge_flow_read_path_groups(struct cs_store *store, struct cs_edge_flow *t, struct path_groups *groups,
                               struct cs_error *err)
{
    return read_by_burst(store, t, &groups->rows, &groups->n, visit_groups, err);
}

int edge_flow_read_intervals(struct cs_store *store, struct cs_edge_flow *t,
                             struct timed_intervals *intervals, struct cs_error *err)
{
    struct loading l = {.t = t, .intervals = intervals, .err = err};
    return cs_store_each(store, visit_intervals, &l, err);
}
