/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/culprit/evidence/image_evidence.h"
#include "analysis/culprit/evidence/evidence_model.h"
#include "analysis/culprit/evidence/footprints.h"
#include "analysis/culprit/evidence/sharing.h"
#include "store/base/bisect.h"

#include "store/base/array.h"
#include "store/catalog.h"
#include "store/merged.h"
#include "store/table/burst_schemas.h"

#include <assert.h>
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SMALL_BYTES 4096.0
#define HUGE_BYTES (2 * 1024 * 1024.0)

/* ---- loading ---- */

/* An event bounds a cause by the executions of those recordings alone that counted it. */
struct counted_epoch {
    char name[96];
    double time; /* period sum of the time event */
    bool kinds[CS_N_COUNTED];
};

struct loading {
    struct cs_culprit_evidence *e;
    int rank;                /* of the time event that was chosen */
    struct cs_table *points; /* its samples */
    double period_sum;
    char unit[16];
    const char *event;         /* that was asked for; NULL: the best */
    double sums[CS_N_COUNTED]; /* of periods */
    double none
        [CS_N_COUNTED]; /* a period for an event of which this image has no sample; 0: it wasn't counted */
    CS_ARRAY(struct counted_epoch) epochs;
    struct cs_error *err;
};

int cs_culprit_time_event(const char *name)
{
    static const struct {
        const char *name;
        int rank;
    } events[] = {{"cycles", 3}, {"cpu-cycles", 3}, {"cpu-clock", 2}, {"task-clock", 1}};
    const char *slash = strncmp(name, "cpu", 3) == 0 ? strchr(name, '/') : NULL; /* "cpu_core/cycles/P" */
    name = slash ? slash + 1 : name;
    size_t n = strcspn(name, ":/,");
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        if (strlen(events[i].name) == n && !strncmp(name, events[i].name, n))
            return events[i].rank;
    return 0;
}

/* The best; of equals the one whose name comes first, so that the order of files doesn't matter. Of counted events of one
 * kind likewise: they count different things, and aren't added. */
static void choose(struct loading *l, const char *event)
{
    unsigned order;
    enum cs_counted kind = cs_counted_kind(event, &order);
    if (kind < CS_N_COUNTED) {
        struct cs_culprit_counted *k = &l->e->events[kind];
        if (!*k->event || order < k->rank || (order == k->rank && strcmp(event, k->event) < 0)) {
            k->rank = order;
            snprintf(k->event, sizeof k->event, "%s", event);
        }
    }
    int rank = l->event ? 0 : cs_culprit_time_event(event);
    if (rank > l->rank || (rank && rank == l->rank && strcmp(event, l->e->event) < 0)) {
        l->rank = rank;
        snprintf(l->e->event, sizeof l->e->event, "%s", event);
    }
}

static struct counted_epoch *epoch_of(struct loading *l, const char *name)
{
    for (size_t i = 0; i < l->epochs.n; i++)
        if (strcmp(l->epochs.at[i].name, name) == 0)
            return &l->epochs.at[i];
    if (cs_array_reserve(&l->epochs, l->epochs.n + 1) < 0)
        return NULL;
    struct counted_epoch *e = &l->epochs.at[l->epochs.n++];
    memset(e, 0, sizeof *e);
    snprintf(e->name, sizeof e->name, "%s", name);
    return e;
}

/* Events of a profile, those too that weren't counted while others had the counter. */
static double whole(const struct cs_store_profile_head *h)
{
    bool shared = h->running_ns && h->enabled_ns > h->running_ns;
    return (double)h->period_sum * (shared ? (double)h->enabled_ns / (double)h->running_ns : 1);
}

static int take_points(struct loading *l, const struct cs_store_profile_ref *ref)
{
    const char *event = ref->head->event;
    struct counted_epoch *epoch = epoch_of(l, ref->epoch);
    if (!epoch)
        return cs_fail(l->err, ENOMEM, "no memory for the recordings of an image");
    if (!strcmp(event, l->e->event)) {
        epoch->time += whole(ref->head);
        l->period_sum += whole(ref->head);
        snprintf(l->unit, sizeof l->unit, "%s", ref->head->unit);
        return cs_store_load_into(ref, &l->points, l->err);
    }
    unsigned rank;
    enum cs_counted kind = cs_counted_kind(event, &rank);
    if (kind == CS_N_COUNTED || strcmp(event, l->e->events[kind].event) != 0)
        return 0;
    const struct cs_store_profile_head *h = ref->head;
    epoch->kinds[kind] = true;
    l->sums[kind] += whole(h);
    return cs_store_load_into(ref, &l->e->events[kind].table, l->err);
}

static int load_points(struct loading *l, struct cs_store *store, const char *image_id)
{
    const struct cs_query points = {.kind = CS_KIND_POINTS, .image_id = image_id};
    const struct cs_catalog *catalog;
    const struct cs_store_profile_ref *ref;
    int rc = cs_store_catalog(store, &catalog, l->err);
    for (size_t at = 0; rc == 0 && (ref = cs_catalog_next(catalog, &points, &at));)
        choose(l, ref->head->event);
    for (size_t at = 0; rc == 0 && (ref = cs_catalog_next(catalog, &points, &at));)
        rc = take_points(l, ref);
    return rc;
}

/* An event that was counted: what a sample of it stands for in other images, or what its few events do that gave none. */
static int take_none(struct loading *l, struct cs_store *store, const char *event)
{
    const struct cs_query points = {.kind = CS_KIND_POINTS, .event = event};
    struct cs_store_profile_head head;
    struct cs_table *samples = NULL;
    char name[80];
    uint64_t counted = 0, events = 0;
    unsigned rank;
    enum cs_counted kind = cs_counted_kind(event, &rank);
    if (kind == CS_N_COUNTED || *l->e->events[kind].event)
        return 0;
    snprintf(name, sizeof name, "counted.%s", event);
    int rc = cs_store_counter(store, name, &counted, l->err);
    snprintf(name, sizeof name, "events.%s", event);
    if (rc == 0)
        rc = cs_store_counter(store, name, &events, l->err);
    if (rc == 0 && counted)
        rc = cs_store_select(store, &points, &samples, &head, l->err);
    if (rc == 0 && counted)
        l->none[kind] = samples ? whole(&head) / (double)cs_table_sum(samples, 1)
                                : fmax(1, (double)events / cs_counted_most(0));
    cs_table_close(samples);
    return rc;
}

/* Where one recording is read: in others another event may stand for the same. */
static int load_none(struct loading *l, struct cs_store *store)
{
    const struct cs_store_epoch *epochs;
    size_t n, i;
    json_t *event;
    int rc = cs_store_epochs(store, &epochs, &n, l->err);
    for (size_t e = 0; rc == 0 && l->epochs.n == 1 && e < n; e++) {
        json_t *meta = strcmp(epochs[e].name, l->epochs.at[0].name) == 0
                           ? json_loads(epochs[e].meta ? epochs[e].meta : "", 0, NULL)
                           : NULL;
        json_array_foreach(json_object_get(meta, "events"), i, event) if (rc == 0 && json_is_string(event))
            rc = take_none(l, store, json_string_value(event));
        json_decref(meta);
    }
    return rc;
}

static int load_bursts(struct cs_culprit_evidence *e, struct cs_store *store, const char *image_id,
                       struct cs_error *err)
{
    const struct {
        enum cs_kind kind;
        const char *event;
        struct cs_table **table;
    } bursts[] = {{CS_KIND_MEMORY, "burst-memory", &e->memory},
                  {CS_KIND_POINTS, "burst-crowded", &e->crowded},
                  {CS_KIND_BRANCHES, "burst-branches", &e->branches},
                  {CS_KIND_CODE_LINES, "burst-lines", &e->lines},
                  {CS_KIND_FOOTPRINTS, "burst-footprints", &e->footprints},
                  {CS_KIND_SHARING, "burst-sharing", &e->sharing},
                  {CS_KIND_PAGE_SIZES, "burst-page-sizes", &e->page_sizes}};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < sizeof bursts / sizeof *bursts; i++) {
        const struct cs_query query = {
            .kind = bursts[i].kind, .image_id = image_id, .event = bursts[i].event};
        rc = cs_store_select(store, &query, bursts[i].table, NULL, err);
    }
    return rc;
}

/* Lines of code that ran in at least every twentieth burst of those that saw the most-seen line: what runs
 * over and over. */
static void measure_code(struct cs_culprit_evidence *e)
{
    uint64_t most = 0, page = UINT64_MAX;
    size_t n = e->lines ? cs_table_rows(e->lines) : 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t bursts = cs_table_row(e->lines, i)[CS_CODE_LINE_BURSTS];
        most = bursts > most ? bursts : most;
    }
    for (size_t i = 0; i < n; i++) {
        const uint64_t *row = cs_table_row(e->lines, i);
        if (row[CS_CODE_LINE_BURSTS] * CS_MODEL_CODE_SELDOM < most)
            continue;
        e->code_bytes += 64;
        e->code_pages += row[CS_CODE_LINE_OFFSET] / 4096 != page;
        page = row[CS_CODE_LINE_OFFSET] / 4096;
    }
}

static bool machine_of(const char *json, struct cs_machine *machine)
{
    json_t *meta = json_loads(json, 0, NULL);
    char *text = json_dumps(json_object_get(meta, "machine"), 0);
    bool found = text && cs_machine_from_json(text, machine) == 0 && machine->core_hz > 0;
    free(text);
    /* Imported from perf.data, and of another machine than this one, which can be measured. */
    const char *cpuid = json_string_value(json_object_get(meta, "cpuid"));
    const char *cpu = json_string_value(json_object_get(meta, "cpu"));
    const char *host = json_string_value(json_object_get(meta, "host"));
    char ours[256] = "";
    gethostname(ours, sizeof ours - 1);
    if (!found && cpuid && *cpuid && host && strcmp(host, ours) != 0)
        found = cs_machine_from_stated(cpuid, cpu ? cpu : "", machine) == 0;
    json_decref(meta);
    return found;
}

int cs_culprit_evidence_machine(struct cs_store *store, struct cs_machine *out, bool *recorded,
                                struct cs_error *err)
{
    const struct cs_store_epoch *epochs;
    size_t n;
    int rc = cs_store_epochs(store, &epochs, &n, err);
    *recorded = false;
    for (size_t i = 0; i < n && !*recorded; i++)
        *recorded =
            *epochs[i].meta && cs_store_sees(store, epochs[i].name) && machine_of(epochs[i].meta, out);
    if (rc < 0 || *recorded)
        return rc;
    double ignored_age_s;
    cs_machine_detect(out);
    return cs_machine_recall(out, &ignored_age_s, err);
}

bool cs_culprit_met_denormals(const struct cs_culprit_values *values, double bursts)
{
    const double met = (double)values->denormal;
    return met > 0 && met >= CS_MODEL_DENORMAL_BURSTS * fmin(bursts, (double)values->looked);
}

int cs_culprit_values(struct cs_store *store, struct cs_culprit_values *out, struct cs_error *err)
{
    int rc = cs_store_counter(store, "burst-values", &out->looked, err);
    return rc < 0 ? rc : cs_store_counter(store, "burst-denormal", &out->denormal, err);
}

/* The newest epoch says it for all. */
static double burst_rate_hz(struct cs_store *store)
{
    const struct cs_store_epoch *epochs;
    struct cs_error ignored;
    size_t n, i = 0;
    if (cs_store_epochs(store, &epochs, &n, &ignored) < 0)
        return 0;
    while (i < n && !(*epochs[i].meta && cs_store_sees(store, epochs[i].name)))
        i++;
    json_t *meta = i < n ? json_loads(epochs[i].meta, 0, NULL) : NULL;
    double hz = json_number_value(json_object_get(meta, "burst_rate_hz"));
    json_decref(meta);
    return hz;
}

/* What a sample of each counted event stands for. */
static void take_periods(const struct loading *l)
{
    for (int c = 0; c < CS_N_COUNTED; c++) {
        struct cs_culprit_counted *k = &l->e->events[c];
        if (l->none[c] > 0) {
            k->table = cs_table_open(&cs_schema_points);
            k->period = l->none[c];
            continue;
        }
        double samples = k->table ? (double)cs_table_sum(k->table, 1) : 0, all = 0, covered = 0;
        for (size_t i = 0; i < l->epochs.n; i++) {
            all += l->epochs.at[i].time;
            covered += l->epochs.at[i].kinds[c] ? l->epochs.at[i].time : 0;
        }
        if (!(samples > 0) || (all > 0 && !(covered > 0))) { /* nothing to compare it with */
            cs_table_close(k->table);
            k->table = NULL;
            continue;
        }
        k->exact = l->sums[c] <= samples;
        k->period = l->sums[c] / samples * (covered > 0 ? all / covered : 1);
        k->precise = cs_counted_is_precise(k->event);
    }
}

int cs_culprit_evidence_open(struct cs_store *store, const struct cs_edge_flow *flow, const char *image_id,
                             const char *event, struct cs_culprit_evidence **out, struct cs_error *err)
{
    struct cs_culprit_evidence *e = calloc(1, sizeof *e);
    *out = e;
    if (!e)
        return cs_fail(err, ENOMEM, "no memory for the profiles of an image");
    struct loading l = {.e = e, .event = event, .err = err};
    if (event)
        snprintf(e->event, sizeof e->event, "%s", event);
    int rc = load_points(&l, store, image_id);
    if (rc == 0)
        rc = load_none(&l, store);
    if (rc == 0)
        rc = load_bursts(e, store, image_id, err);
    if (rc == 0)
        rc = cs_frequency_evidence_init(&e->flow, l.points, flow, image_id, err);
    cs_table_close(l.points);
    if (rc == 0)
        take_periods(&l);
    cs_array_free(&l.epochs);
    e->burst_rate_hz = burst_rate_hz(store);
    if (rc == 0)
        rc = cs_culprit_evidence_machine(store, &e->machine, &e->machine_recorded, err);
    if (rc) {
        cs_culprit_evidence_close(e);
        *out = NULL;
        return rc;
    }
    double period = e->flow.samples > 0 ? l.period_sum / e->flow.samples : 0;
    e->cycles_a_sample = strcmp(l.unit, "ns") ? period : period * 1e-9 * e->machine.core_hz;
    e->bursts = e->flow.edges->n_own > 0;
    measure_code(e);
    for (int c = 0; c < CS_N_COUNTED; c++) /* threads may read them */
        cs_table_sort(e->events[c].table);
    return 0;
}

void cs_culprit_evidence_close(struct cs_culprit_evidence *e)
{
    if (!e)
        return;
    cs_frequency_evidence_fini(&e->flow);
    cs_table_close(e->memory);
    cs_table_close(e->crowded);
    cs_table_close(e->branches);
    cs_table_close(e->lines);
    cs_table_close(e->footprints);
    cs_table_close(e->sharing);
    cs_table_close(e->page_sizes);
    for (int c = 0; c < CS_N_COUNTED; c++)
        cs_table_close(e->events[c].table);
    free(e);
}

/* ---- looking up ---- */

/* First row whose first key is at least `key`. */
static size_t row_at(struct cs_table *table, uint64_t key)
{
    return cs_bisect(table ? cs_table_rows(table) : 0, i, cs_table_row(table, i)[0] < key);
}

static const uint64_t *row_of(struct cs_table *table, uint64_t key)
{
    size_t i = row_at(table, key);
    if (!table || i == cs_table_rows(table))
        return NULL;
    const uint64_t *row = cs_table_row(table, i);
    return row[0] == key ? row : NULL;
}

uint64_t cs_culprit_evidence_samples(const struct cs_culprit_evidence *e, uint64_t offset)
{
    return (uint64_t)cs_frequency_samples(&e->flow.input, offset, offset + 1);
}

double cs_culprit_evidence_events(const struct cs_culprit_evidence *e, enum cs_counted kind, uint64_t offset)
{
    assert(kind < CS_N_COUNTED);
    const uint64_t *row = row_of(e->events[kind].table, offset);
    return row ? (double)row[1] : 0;
}

double cs_culprit_evidence_events_between(const struct cs_culprit_evidence *e, enum cs_counted kind,
                                          uint64_t start, uint64_t end)
{
    struct cs_table *table = e->events[kind].table;
    double samples = 0;
    for (size_t i = row_at(table, start); table && i < cs_table_rows(table); i++) {
        const uint64_t *row = cs_table_row(table, i);
        if (row[0] >= end)
            break;
        samples += (double)row[1];
    }
    return samples;
}

/* More lines in few sets than these hold are new each time that another line is touched. Not where no line is touched twice, or
 * their pages outnumber the last-level TLB: then other sets wouldn't help. */
static void take_sets(const struct cs_culprit_evidence *e, uint64_t offset, const uint64_t *row,
                      struct cs_culprit_memory *f)
{
    const bool steps = f->steady >= CS_MODEL_STEPS && f->new_pages >= CS_MODEL_STEPS;
    double lines, sets = culprit_measure_sets(e->footprints, offset, steps, &lines);
    const double ways = (double)e->machine.l1d.bytes / 4096, strides = (double)row[CS_MEMORY_STRIDES];
    if (sets <= 0 || ways <= 0 || lines < 2 * ways * sets || f->footprint_pages > e->machine.stlb_entries ||
        strides <= 0 ||
        (double)row[CS_MEMORY_LINES] > CS_MODEL_SETS_COME_BACK * (double)row[CS_MEMORY_EXECUTIONS])
        return;
    f->sets = sets;
    f->new_lines =
        fmax(f->new_lines, 1 - (double)(row[CS_MEMORY_STRIDE_ZERO] + row[CS_MEMORY_STRIDE_LINE]) / strides);
}

/* A huge page takes one entry of the TLBs, as a small one does. Where a hypervisor splits it, it takes as many as small ones do,
 * and spares a part of the walk only. */
static void take_page_sizes(const struct cs_culprit_evidence *e, uint64_t offset, struct cs_culprit_memory *f)
{
    const uint64_t *row = row_of(e->page_sizes, offset);
    const double asked = row ? (double)row[CS_PAGE_SIZES_ASKED] : 0, left = cs_machine_huge_walk(&e->machine);
    if (asked <= 0)
        return;
    f->huge = fmin(1, (double)row[CS_PAGE_SIZES_HUGE] / asked);
    if (left > 0) {
        f->spared = f->huge * (1 - left);
    } else if (f->footprint_bytes / HUGE_BYTES <= e->machine.stlb_entries) {
        f->spared = f->huge;
        f->footprint_pages *= 1 - f->huge * (1 - SMALL_BYTES / HUGE_BYTES);
    }
}

struct cs_culprit_memory cs_culprit_evidence_memory(const struct cs_culprit_evidence *e, uint64_t offset)
{
    struct cs_culprit_memory f = {0};
    const uint64_t *row = row_of(e->memory, offset);
    if (!row || row[CS_MEMORY_EXECUTIONS] == 0)
        return f;
    double n = (double)row[CS_MEMORY_EXECUTIONS], bursts = (double)row[CS_MEMORY_BURSTS];
    double strides = (double)row[CS_MEMORY_STRIDES];
    f.seen = true;
    f.executions = n;
    culprit_take_sharing(e->sharing, offset, &f);
    f.new_lines = ((double)row[CS_MEMORY_FIRST_LINES] + (double)row[CS_MEMORY_FAR_LINES]) / n;
    f.far_lines = (double)row[CS_MEMORY_FAR_LINES] / n;
    const uint64_t *crowded = row_of(e->crowded, offset);
    f.crowded = crowded ? (double)crowded[1] / n : 0;
    f.new_lines += f.crowded;
    f.new_pages = ((double)row[CS_MEMORY_FIRST_PAGES] + (double)row[CS_MEMORY_FAR_PAGES]) / n;
    f.far_pages = (double)row[CS_MEMORY_FAR_PAGES] / n;
    double loads = (double)row[CS_MEMORY_LOADS];
    if (loads > 0) {
        f.pointer = fmin(1, (double)row[CS_MEMORY_POINTER] / loads);
        f.blocked = fmin(1, (double)row[CS_MEMORY_BLOCKED] / loads);
        f.aliased = fmin(1, (double)row[CS_MEMORY_ALIASED] / loads);
        f.forwarded = fmin(1, (double)row[CS_MEMORY_FORWARDED] / loads);
    }
    if (strides > 0) {
        f.steady = (double)row[CS_MEMORY_STRIDE_SAME] / strides;
        f.same_line = (double)row[CS_MEMORY_STRIDE_LINE] / strides;
    }
    f.split = (double)row[CS_MEMORY_SPLIT] / n;
    f.page_split = (double)row[CS_MEMORY_PAGE_SPLIT] / n;
    if (bursts > 0) {
        double lines = cs_culprit_evidence_population(n / bursts, (double)row[CS_MEMORY_LINES] / bursts);
        double pages = cs_culprit_evidence_population(n / bursts, (double)row[CS_MEMORY_PAGES] / bursts);
        f.footprint_bytes = lines * 64;
        f.footprint_pages = pages;
        culprit_measure_footprint(e->footprints, offset, bursts, &f);
    }
    take_page_sizes(e, offset, &f);
    if (bursts > 0)
        take_sets(e, offset, row, &f);
    return f;
}

struct cs_culprit_branch cs_culprit_evidence_branch(const struct cs_culprit_evidence *e, uint64_t offset)
{
    struct cs_culprit_branch f = {0};
    const uint64_t *row = row_of(e->branches, offset);
    if (!row || row[CS_BRANCH_EXECUTIONS] == 0)
        return f;
    double n = (double)row[CS_BRANCH_EXECUTIONS], missed = (double)row[CS_BRANCH_MISSED];
    if (row[CS_BRANCH_KIND] >= 3) { /* nothing to learn; the first ones of a burst aren't judged */
        f.seen = true;
        f.executions = n;
        f.taken = (double)row[CS_BRANCH_TAKEN] / n;
        f.too_deep = (double)row[CS_BRANCH_MISSED_LOCAL] / n;
        f.missed = f.missed_raw = f.missed_most = fmax(0, missed / n - f.too_deep);
        return f;
    }
    if (row[CS_BRANCH_MISSED_LOCAL] < row[CS_BRANCH_MISSED])
        missed = (double)row[CS_BRANCH_MISSED_LOCAL];
    if ((double)row[CS_BRANCH_MISSED_GLOBAL] < missed)
        missed = (double)row[CS_BRANCH_MISSED_GLOBAL];
    /* Each burst begins with empty tables, which a branch that always goes one way fills in as many steps as
     * the longer history has bits: these guesses say nothing. */
    f.missed_raw = fmax(0, missed - CS_MODEL_PREDICTOR_COLD_MIN * (double)row[CS_BRANCH_BURSTS]) / n;
    missed -= CS_MODEL_PREDICTOR_COLD * (double)row[CS_BRANCH_BURSTS];
    f.seen = true;
    f.executions = n;
    f.taken = (double)row[CS_BRANCH_TAKEN] / n;
    f.missed = missed > 0 ? missed / n : 0;
    /* That allowance is for one direction. A jump with many targets has as many guesses to learn as contexts,
     * which nobody counted: between none of them and all were the burst's beginning. */
    bool indirect = row[CS_BRANCH_KIND] == 1 || row[CS_BRANCH_KIND] == 2;
    f.missed_most = indirect && f.missed_raw > f.missed ? f.missed_raw : f.missed;
    return f;
}

struct cs_culprit_fetch cs_culprit_evidence_fetch(const struct cs_culprit_evidence *e, uint64_t offset)
{
    struct cs_culprit_fetch f = {0};
    const uint64_t *row = row_of(e->lines, offset & ~UINT64_C(63));
    if (!row || row[CS_CODE_LINE_VISITS] == 0)
        return f;
    double n = (double)row[CS_CODE_LINE_VISITS];
    f.seen = true;
    f.new_lines = ((double)row[CS_CODE_LINE_FIRST] + (double)row[CS_CODE_LINE_FAR]) / n;
    f.new_pages = ((double)row[CS_CODE_LINE_PAGE_FIRST] + (double)row[CS_CODE_LINE_PAGE_FAR]) / n;
    return f;
}

struct cs_culprit_branch cs_culprit_evidence_returns(const struct cs_culprit_evidence *e, uint64_t offset,
                                                     uint64_t *from)
{
    const struct cs_edge_profile *edges = e->flow.edges;
    const uint64_t *returned = row_of(e->branches, offset - 1);
    struct cs_culprit_branch all = {0};
    double most = 0;
    *from = 0;
    if (!returned || returned[CS_BRANCH_KIND] != 4)
        return all;
    all = cs_culprit_evidence_branch(e, offset - 1);
    for (size_t i = edges ? cs_edge_profile_to(edges, offset) : 0; edges && i < edges->n_by_to; i++) {
        const struct cs_seen_edge *edge = &edges->by_from[edges->by_to[i]];
        if (edge->to != offset)
            break;
        const uint64_t *row = edge->from_image ? NULL : row_of(e->branches, edge->from);
        if (!row || row[CS_BRANCH_KIND] != 3 || edge->count <= most)
            continue;
        most = edge->count;
        *from = edge->from;
    }
    return all;
}
