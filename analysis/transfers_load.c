/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From the store's profiles of kinds "edges", "windows" and "paces" to arrays. */
#include "image/code.h"
#include "image/isa/decode.h"
#include "analysis/frequency/edge_flow_internal.h"
#include "store/burst_schemas.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define RUN_BYTES_MAX 65536 /* a longer straight run is a damaged record */

struct loading {
    struct cs_transfers *t;
    struct windows *w;
    struct paces *paces;
    size_t room, room_rows;
    uint32_t room_images;
    uint64_t windows; /* hash of the checksums of all windows and paces */
    enum evidence { WHOLE, BEGINNINGS, PATHS } evidence;
    struct cs_error *err;
};

static int64_t image_index(struct loading *l, const char *id)
{
    struct cs_transfers *t = l->t;
    uint32_t i = cs_transfers_image(t, id);
    if (i != UINT32_MAX)
        return i;
    if (t->n_images == l->room_images) {
        uint32_t room = l->room_images ? 2 * l->room_images : 16;
        void *grown = realloc(t->images, room * sizeof *t->images);
        if (!grown)
            return -ENOMEM;
        t->images = grown;
        l->room_images = room;
    }
    strncpy(t->images[t->n_images], id, CS_IMAGE_ID_MAX - 1);
    t->images[t->n_images][CS_IMAGE_ID_MAX - 1] = 0;
    return t->n_images++;
}

static int add_transfer(struct loading *l, const struct cs_transfer *one)
{
    if (l->t->n == l->room) {
        size_t room = l->room ? 2 * l->room : 1024;
        struct cs_transfer *grown = realloc(l->t->list, room * sizeof *grown);
        if (!grown)
            return -ENOMEM;
        l->t->list = grown;
        l->room = room;
    }
    l->t->list[l->t->n++] = *one;
    return 0;
}

static int add_row(struct loading *l, const struct window_row *row)
{
    if (l->w->n == l->room_rows) {
        size_t room = l->room_rows ? 2 * l->room_rows : 4096;
        struct window_row *grown = realloc(l->w->rows, room * sizeof *grown);
        if (!grown)
            return -ENOMEM;
        l->w->rows = grown;
        l->room_rows = room;
    }
    l->w->rows[l->w->n++] = *row;
    return 0;
}

static int read_edges(struct loading *l, const struct cs_profile_ref *ref, struct cs_table *table)
{
    int64_t image = image_index(l, ref->image->id);
    for (size_t i = 0; image >= 0 && i < cs_table_rows(table); i++) {
        const uint64_t *row = cs_table_row(table, i);
        const char *to = cs_table_string(table, row[1]);
        int64_t to_image = *to ? image_index(l, to) : image;
        struct cs_transfer one = {.image = (uint32_t)image,
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
        if (to_image < 0 || add_transfer(l, &one) < 0)
            return -ENOMEM;
    }
    return image < 0 ? -ENOMEM : 0;
}

/* Images that no transfer knows get UINT32_MAX: tie_windows drops their rows. */
static int read_windows(struct loading *l, const struct cs_profile_ref *ref, struct cs_table *table)
{
    uint32_t image = cs_transfers_image(l->t, ref->image->id);
    for (size_t i = 0; i < cs_table_rows(table); i++) {
        const uint64_t *row = cs_table_row(table, i);
        const char *to = cs_table_string(table, row[2]);
        struct window_row one = {.burst = row[0],
                                 .image = image,
                                 .to_image = *to ? cs_transfers_image(l->t, to) : image,
                                 .from = row[1],
                                 .to = row[3],
                                 .count = (double)row[4]};
        if (add_row(l, &one) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int read_beginnings(struct loading *l, const struct cs_profile_ref *ref, struct cs_table *table)
{
    uint32_t image = cs_transfers_image(l->t, ref->image->id);
    size_t rows = cs_table_rows(table);
    struct beginning *grown = realloc(l->w->beginnings, (l->w->n_beginnings + rows + 1) * sizeof *grown);
    if (!grown)
        return -ENOMEM;
    l->w->beginnings = grown;
    for (size_t i = 0; i < rows; i++) {
        const uint64_t *row = cs_table_row(table, i);
        const char *start_image = cs_table_string(table, row[2]);
        grown[l->w->n_beginnings++] =
            (struct beginning){.burst = row[0],
                               .place = transfers_place(image, row[1]),
                               .start = row[3],
                               .image = *start_image ? cs_transfers_image(l->t, start_image) : image,
                               .instructions = (double)row[4]};
    }
    return 0;
}

static int read_counts(struct loading *l, const struct cs_profile_ref *ref, struct cs_table *table,
                       unsigned column)
{
    uint32_t image = cs_transfers_image(l->t, ref->image->id);
    size_t rows = image != UINT32_MAX ? cs_table_rows(table) : 0;
    struct sampled *grown = realloc(l->w->samples, (l->w->n_samples + rows + 1) * sizeof *grown);
    if (!grown)
        return -ENOMEM;
    l->w->samples = grown;
    for (size_t i = 0; i < rows; i++) {
        const uint64_t *row = cs_table_row(table, i);
        grown[l->w->n_samples++] = (struct sampled){row[0], image, (double)row[column]};
    }
    return 0;
}

static int read_samples(struct loading *l, const struct cs_profile_ref *ref, struct cs_table *table)
{
    return read_counts(l, ref, table, 1);
}

static int read_starts(struct loading *l, const struct cs_profile_ref *ref, struct cs_table *table)
{
    return read_counts(l, ref, table, 3);
}

/* Branch records (LBR) hold taken branches only; a straight run from a target to the next taken branch says
 * which branches on its way fell through. Without the code nothing can be said of those. */
static int read_ranges(struct loading *l, const struct cs_profile_ref *ref, struct cs_table *table)
{
    struct cs_code *code;
    int64_t image = image_index(l, ref->image->id);
    int rc = image < 0 ? -ENOMEM : cs_code_open(ref->image, NULL, &code, l->err);
    if (rc < 0)
        return rc;
    enum cs_isa isa = cs_code_isa(code);
    for (size_t i = 0; rc == 0 && isa != CS_ISA_NONE && i < cs_table_rows(table); i++) {
        const uint64_t *row = cs_table_row(table, i);
        uint64_t at = row[0], end = row[1];
        while (rc == 0 && at < end && end - row[0] < RUN_BYTES_MAX) {
            struct cs_insn insn;
            size_t room;
            const uint8_t *bytes = cs_code_bytes(code, at, &room, NULL);
            if (!bytes || !cs_decode_flow(isa, bytes, room, at, &insn))
                break;
            at += insn.length;
            double count = (double)row[2];
            if (insn.flow == CS_FLOW_BRANCH)
                rc = add_transfer(l, &(struct cs_transfer){.image = (uint32_t)image,
                                                           .to_image = (uint32_t)image,
                                                           .from = insn.offset,
                                                           .to = at,
                                                           .count = count,
                                                           .bursts = count,
                                                           .squares = count});
        }
    }
    cs_code_close(code);
    return rc;
}

static int read_paces(struct loading *l, const struct cs_profile_ref *ref, struct cs_table *table)
{
    uint32_t image = cs_transfers_image(l->t, ref->image->id);
    size_t rows = cs_table_rows(table);
    struct pace_row *grown = realloc(l->paces->rows, (l->paces->n + rows + 1) * sizeof *grown);
    if (!grown)
        return -ENOMEM;
    l->paces->rows = grown;
    for (size_t i = 0; i < rows && image != UINT32_MAX; i++) {
        const uint64_t *row = cs_table_row(table, i);
        uint64_t place = transfers_place(image, row[CS_PACE_OFFSET]);
        if (row[CS_PACE_NS] && row[CS_PACE_INSTRUCTIONS])
            grown[l->paces->n++] = (struct pace_row){.place = place,
                                                     .own = place,
                                                     .burst = row[CS_PACE_BURST],
                                                     .ns = (double)row[CS_PACE_NS],
                                                     .instructions = (double)row[CS_PACE_INSTRUCTIONS],
                                                     .first = row[CS_PACE_AFTER_NS] == 0};
    }
    return 0;
}

static bool are_windows(const struct cs_profile_ref *ref)
{
    return strcmp(ref->kind, cs_schema_windows.kind) == 0 && strcmp(ref->head->event, "path-windows") != 0;
}

static bool are_beginnings(const struct cs_profile_ref *ref)
{
    return strcmp(ref->kind, cs_schema_beginnings.kind) == 0;
}

static bool are_paces(const struct cs_profile_ref *ref)
{
    return strcmp(ref->kind, cs_schema_paces.kind) == 0;
}

static int load_by(struct loading *l, const struct cs_profile_ref *ref,
                   int (*read)(struct loading *l, const struct cs_profile_ref *ref, struct cs_table *table))
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
static bool is_user_time(const struct cs_profile_ref *ref)
{
    return strcmp(ref->kind, "points") == 0 && strcmp(ref->head->unit, "ns") == 0 &&
           strncmp(ref->head->event, "cpu-clock", 9) == 0 && ref->image->kind != CS_IMAGE_KERNEL &&
           ref->image->kind != CS_IMAGE_MODULE && ref->image->kind != CS_IMAGE_TAG;
}

static bool are_ranges(const struct cs_profile_ref *ref)
{
    return strcmp(ref->kind, "ranges") == 0 && strcmp(ref->head->event, "lbr-ranges") == 0;
}

/* Is it this kind of evidence, or tells where its paths ended? */
static bool is_edges(const struct cs_profile_ref *ref, enum evidence evidence)
{
    const char *event = ref->head->event;
    if (strcmp(ref->kind, cs_schema_edges.kind) != 0)
        return false;
    switch (evidence) {
    case PATHS:
        return strcmp(event, "path-edges") == 0 || strcmp(event, "path-ends") == 0;
    case BEGINNINGS:
        return strcmp(event, "burst-edges-512") == 0;
    default:
        return cs_edges_are_whole(event) && strcmp(event, "path-edges") != 0;
    }
}

static int visit_transfers(const struct cs_profile_ref *ref, void *arg)
{
    struct loading *l = arg;
    if (is_user_time(ref))
        l->t->user_ns += (double)ref->head->period_sum;
    if (are_windows(ref) || are_beginnings(ref) || are_paces(ref) || is_user_time(ref)) {
        uint64_t seed = l->windows + XXH3_64bits(ref->image->id, strlen(ref->image->id));
        l->windows = XXH3_64bits_withSeed(&ref->checksum, sizeof ref->checksum, seed);
        return 0;
    }
    if (is_edges(ref, l->evidence))
        return load_by(l, ref, read_edges);
    return l->evidence == WHOLE && are_ranges(ref) ? load_by(l, ref, read_ranges) : 0;
}

static int visit_windows(const struct cs_profile_ref *ref, void *arg)
{
    return are_windows(ref)      ? load_by(arg, ref, read_windows)
           : are_beginnings(ref) ? load_by(arg, ref, read_beginnings)
           : is_user_time(ref)   ? load_by(arg, ref, read_samples)
                                 : 0;
}

static int visit_groups(const struct cs_profile_ref *ref, void *arg)
{
    return strcmp(ref->head->event, "path-windows") == 0  ? load_by(arg, ref, read_windows)
           : strcmp(ref->head->event, "path-starts") == 0 ? load_by(arg, ref, read_starts)
                                                          : 0;
}

static int visit_paces(const struct cs_profile_ref *ref, void *arg)
{
    return are_paces(ref) ? load_by(arg, ref, read_paces) : 0;
}

int transfers_compare(const struct cs_transfer *x, const struct cs_transfer *y)
{
    if (x->image != y->image)
        return x->image < y->image ? -1 : 1;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    if (x->to_image != y->to_image)
        return x->to_image < y->to_image ? -1 : 1;
    return (x->to > y->to) - (x->to < y->to);
}

static int by_place(const void *a, const void *b)
{
    return transfers_compare(a, b);
}

static int by_burst(const void *a, const void *b)
{
    const struct window_row *x = a, *y = b;
    return (x->burst > y->burst) - (x->burst < y->burst);
}

static void merge_equal(struct cs_transfers *t)
{
    size_t kept = 0, ordered = 1;
    while (ordered < t->n && transfers_compare(&t->list[ordered - 1], &t->list[ordered]) <= 0)
        ordered++;
    if (ordered < t->n)
        qsort(t->list, t->n, sizeof *t->list, by_place);
    for (size_t i = 0; i < t->n; i++) {
        if (kept && transfers_compare(&t->list[kept - 1], &t->list[i]) == 0) {
            t->list[kept - 1].count += t->list[i].count;
            t->list[kept - 1].bursts += t->list[i].bursts;
            t->list[kept - 1].squares += t->list[i].squares;
            t->list[kept - 1].ends += t->list[i].ends;
        } else
            t->list[kept++] = t->list[i];
    }
    t->n = kept;
    for (size_t i = 0; i < kept; i++)
        t->total_count += t->list[i].count;
}

/* Rows get the index of their transfer and a small burst number; rows without a transfer go. */
static int tie_windows(struct cs_transfers *t, struct windows *w, uint32_t *n_bursts)
{
    size_t kept = 0;
    uint64_t last = 0;
    w->number = malloc((w->n + 1) * sizeof *w->number);
    if (!w->number)
        return -ENOMEM;
    if (w->n)
        qsort(w->rows, w->n, sizeof *w->rows, by_burst);
    for (size_t i = 0; i < w->n; i++) {
        struct window_row row = w->rows[i];
        struct cs_transfer key = {
            .image = row.image, .from = row.from, .to_image = row.to_image, .to = row.to};
        const struct cs_transfer *found = t->n ? bsearch(&key, t->list, t->n, sizeof key, by_place) : NULL;
        if (i == 0 || row.burst != last)
            w->number[(*n_bursts)++] = row.burst;
        last = row.burst;
        row.burst = *n_bursts - 1;
        row.transfer = found ? (uint32_t)(found - t->list) : 0;
        if (found)
            w->rows[kept++] = row;
    }
    w->n = kept;
    return 0;
}

static int by_target(const void *a, const void *b, void *list)
{
    const struct cs_transfer *t = list, *x = &t[*(const uint32_t *)a], *y = &t[*(const uint32_t *)b];
    if (x->to_image != y->to_image)
        return x->to_image < y->to_image ? -1 : 1;
    if (x->to != y->to)
        return x->to < y->to ? -1 : 1;
    return (x > y) - (x < y);
}

size_t cs_transfers_to(const struct cs_transfers *t, uint32_t image, uint64_t to)
{
    size_t low = 0, high = t->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct cs_transfer *m = &t->list[t->by_to[middle]];
        if (m->to_image < image || (m->to_image == image && m->to < to))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t transfers_next_branch(const struct cs_transfers *t, uint32_t image, uint64_t offset)
{
    size_t low = 0, high = t->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct cs_transfer *m = &t->list[middle];
        if (m->image < image || (m->image == image && m->from < offset))
            low = middle + 1;
        else
            high = middle;
    }
    return low < t->n && t->list[low].image == image ? low : SIZE_MAX;
}

int transfers_read(struct cs_store *store, bool paths, struct cs_transfers *t, uint64_t *windows,
                   struct cs_error *err)
{
    const enum evidence order[] = {paths ? PATHS : WHOLE, paths ? BEGINNINGS : PATHS};
    struct loading l = {.t = t, .err = err};
    int rc = 0;
    /* The second where there is nothing of the first. */
    for (unsigned i = 0; i < 2 && rc == 0 && t->n == 0; i++) {
        l.evidence = order[i];
        l.windows = 0;
        t->user_ns = 0;
        rc = cs_store_each(store, visit_transfers, &l, err);
    }
    t->from_paths = l.evidence == PATHS && t->n > 0;
    *windows = l.windows;
    if (rc < 0)
        return rc;
    if (t->n > UINT32_MAX / 4)
        return cs_fail(err, E2BIG, "%s has too many edges for one analysis", cs_store_path(store));
    merge_equal(t);
    t->by_to = malloc((t->n + 1) * sizeof *t->by_to);
    if (!t->by_to)
        return cs_fail(err, ENOMEM, "no memory for %zu edges", t->n);
    for (size_t i = 0; i < t->n; i++)
        t->by_to[i] = (uint32_t)i;
    qsort_r(t->by_to, t->n, sizeof *t->by_to, by_target, t->list);
    return 0;
}

int transfers_read_windows(struct cs_store *store, struct cs_transfers *t, struct windows *w,
                           struct cs_error *err)
{
    struct loading l = {.t = t, .w = w, .err = err};
    int rc = cs_store_each(store, visit_windows, &l, err);
    if (rc == 0 && tie_windows(t, w, &t->n_bursts) < 0)
        rc = cs_fail(err, ENOMEM, "no memory for %zu edges of bursts", w->n);
    return rc;
}

int transfers_read_groups(struct cs_store *store, struct cs_transfers *t, struct path_groups *groups,
                          struct cs_error *err)
{
    struct loading l = {.t = t, .w = &groups->rows, .err = err};
    int rc = cs_store_each(store, visit_groups, &l, err);
    if (rc == 0 && tie_windows(t, &groups->rows, &groups->n) < 0)
        rc = cs_fail(err, ENOMEM, "no memory for %zu edges of paths", groups->rows.n);
    return rc;
}

void transfers_windows_fini(struct windows *w)
{
    free(w->samples);
    free(w->rows);
    free(w->number);
    free(w->beginnings);
}

int transfers_read_paces(struct cs_store *store, struct cs_transfers *t, struct paces *paces,
                         struct cs_error *err)
{
    struct loading l = {.t = t, .paces = paces, .err = err};
    return cs_store_each(store, visit_paces, &l, err);
}

uint32_t cs_transfers_image(const struct cs_transfers *t, const char *id)
{
    for (uint32_t i = 0; i < t->n_images; i++)
        if (strcmp(t->images[i], id) == 0)
            return i;
    return UINT32_MAX;
}

void cs_transfers_close(struct cs_transfers *t)
{
    if (!t)
        return;
    free(t->list);
    free(t->by_to);
    free(t->images);
    free(t);
}
