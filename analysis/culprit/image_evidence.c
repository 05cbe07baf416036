/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/culprit/image_evidence.h"

#include "analysis/frequency/frequency.h"
#include "store/burst_schemas.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- loading ---- */

/* Events that count what a cause does, by the beginnings of their names (perf's and libpfm4's). */
static const struct {
    const char *begins;
    enum cs_cause cause;
} event_causes[] = {
    {"cache-misses", CS_CAUSE_DCACHE},
    {"L1-dcache-load-misses", CS_CAUSE_DCACHE},
    {"LLC-load-misses", CS_CAUSE_DCACHE},
    {"MEM_LOAD_RETIRED:L1_MISS", CS_CAUSE_DCACHE},
    {"dTLB-load-misses", CS_CAUSE_DTLB},
    {"L1-icache-load-misses", CS_CAUSE_ICACHE},
    {"iTLB-load-misses", CS_CAUSE_ITLB},
    {"branch-misses", CS_CAUSE_MISPREDICT},
    {"BR_MISP_RETIRED", CS_CAUSE_MISPREDICT},
    {"page-faults", CS_CAUSE_PAGE_FAULT},
    {"PERF_COUNT_SW_PAGE_FAULTS", CS_CAUSE_PAGE_FAULT},
};

struct loading {
    struct cs_testimony *e;
    const char *image_id, *event;
    uint64_t cycles_samples; /* to choose the time event */
    double period_sum, samples;
    char unit[16];
    double event_sum[CS_N_CAUSES], event_samples[CS_N_CAUSES];
    struct cs_error *err;
};

static bool is_time_event(const char *name)
{
    return !strncmp(name, "cycles", 6) || !strncmp(name, "cpu-clock", 9) ||
           !strncmp(name, "task-clock", 10) || !strncmp(name, "cpu-cycles", 10);
}

static int take(struct cs_table **into, const struct cs_profile_ref *ref, double *samples,
                struct cs_error *err)
{
    struct cs_table *table = NULL;
    int rc = cs_store_load(ref, &table, err);
    if (rc)
        return rc;
    if (samples)
        *samples += (double)cs_table_sum(table, 1);
    if (!*into) {
        *into = table;
        return 0;
    }
    rc = cs_table_merge(*into, table);
    cs_table_close(table);
    return rc ? cs_fail(err, -rc, "profiles of %s can't be added: their columns differ", ref->file) : 0;
}

static int choose(const struct cs_profile_ref *ref, void *arg)
{
    struct loading *l = arg;
    if (strcmp(ref->image->id, l->image_id) || strcmp(ref->kind, "points") ||
        !is_time_event(ref->head->event))
        return 0;
    bool better =
        !l->e->event[0] || (strncmp(l->e->event, "c", 1) == 0 && !strncmp(ref->head->event, "cycles", 6));
    if (better)
        snprintf(l->e->event, sizeof l->e->event, "%s", ref->head->event);
    return 0;
}

static int take_points(struct loading *l, const struct cs_profile_ref *ref)
{
    const char *event = ref->head->event;
    if (!strcmp(event, l->e->event)) {
        l->period_sum += (double)ref->head->period_sum;
        snprintf(l->unit, sizeof l->unit, "%s", ref->head->unit);
        return take(&l->e->points, ref, &l->samples, l->err);
    }
    for (size_t i = 0; i < sizeof event_causes / sizeof event_causes[0]; i++) {
        enum cs_cause cause = event_causes[i].cause;
        if (strncmp(event, event_causes[i].begins, strlen(event_causes[i].begins)))
            continue;
        l->event_sum[cause] += (double)ref->head->period_sum;
        return take(&l->e->events[cause], ref, &l->event_samples[cause], l->err);
    }
    return 0;
}

static int visit(const struct cs_profile_ref *ref, void *arg)
{
    struct loading *l = arg;
    struct cs_testimony *e = l->e;
    if (strcmp(ref->image->id, l->image_id))
        return 0;
    if (!strcmp(ref->kind, "points"))
        return take_points(l, ref);
    if (!strcmp(ref->head->event, "burst-memory"))
        return take(&e->memory, ref, NULL, l->err);
    if (!strcmp(ref->head->event, "burst-branches"))
        return take(&e->branches, ref, NULL, l->err);
    if (!strcmp(ref->head->event, "burst-lines"))
        return take(&e->lines, ref, NULL, l->err);
    if (!strcmp(ref->head->event, "burst-footprints"))
        return take(&e->footprints, ref, NULL, l->err);
    return 0;
}

/* Lines of code that ran in at least every twentieth burst of those that saw the most-seen line: what runs
 * over and over. */
static void measure_code(struct cs_testimony *e)
{
    uint64_t most = 0, page = UINT64_MAX;
    size_t n = e->lines ? cs_table_rows(e->lines) : 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t bursts = cs_table_row(e->lines, i)[CS_CODE_LINE_BURSTS];
        most = bursts > most ? bursts : most;
    }
    for (size_t i = 0; i < n; i++) {
        const uint64_t *row = cs_table_row(e->lines, i);
        if (row[CS_CODE_LINE_BURSTS] * 20 < most)
            continue;
        e->code_bytes += 64;
        e->code_pages += row[CS_CODE_LINE_OFFSET] / 4096 != page;
        page = row[CS_CODE_LINE_OFFSET] / 4096;
    }
}

struct newest {
    char epoch[256];
};

static int remember_epoch(const struct cs_profile_ref *ref, void *arg)
{
    struct newest *newest = arg;
    if (strcmp(ref->epoch, newest->epoch) > 0)
        snprintf(newest->epoch, sizeof newest->epoch, "%s", ref->epoch);
    return 0;
}

static bool machine_of_epoch(struct cs_store *store, const char *epoch, struct cs_machine *out)
{
    char path[4096];
    struct cs_profile_head head;
    struct cs_table *facts = NULL;
    struct cs_error ignored = {0};
    bool found = false;
    snprintf(path, sizeof path, "%s/%s/epoch.meta", cs_store_path(store), epoch);
    if (cs_store_load_file(path, &head, &facts, &ignored))
        return false;
    for (size_t i = 0; i < cs_table_rows(facts) && !found; i++) {
        const uint64_t *row = cs_table_row(facts, i);
        if (strcmp(cs_table_string(facts, row[0]), "meta"))
            continue;
        json_t *meta = json_loads(cs_table_string(facts, row[1]), 0, NULL);
        char *text = json_dumps(json_object_get(meta, "machine"), 0);
        found = text && cs_machine_from_json(text, out) == 0 && out->core_hz > 0;
        free(text);
        json_decref(meta);
    }
    cs_table_close(facts);
    return found;
}

int cs_testimony_machine(struct cs_store *store, struct cs_machine *out, bool *recorded, struct cs_error *err)
{
    struct newest newest = {""};
    int rc = cs_store_each(store, remember_epoch, &newest, err);
    if (rc)
        return rc;
    *recorded = newest.epoch[0] && machine_of_epoch(store, newest.epoch, out);
    if (*recorded)
        return 0;
    cs_machine_detect(out);
    return cs_machine_measure(out, err);
}

static int list_samples(struct cs_testimony *e, struct cs_error *err)
{
    e->n_samples = e->points ? cs_table_rows(e->points) : 0;
    e->sample_offset = calloc(e->n_samples + 1, sizeof *e->sample_offset);
    e->sample_count = calloc(e->n_samples + 1, sizeof *e->sample_count);
    if (!e->sample_offset || !e->sample_count)
        return cs_fail(err, ENOMEM, "no memory for %zu sampled places", e->n_samples);
    for (size_t i = 0; i < e->n_samples; i++) {
        const uint64_t *row = cs_table_row(e->points, i);
        e->sample_offset[i] = row[0];
        e->sample_count[i] = (double)row[1];
    }
    return 0;
}

int cs_testimony_open(struct cs_store *store, const struct cs_transfers *transfers, const char *image_id,
                      const char *event, struct cs_testimony **out, struct cs_error *err)
{
    struct cs_testimony *e = calloc(1, sizeof *e);
    *out = e;
    if (!e)
        return cs_fail(err, ENOMEM, "no memory for the profiles of an image");
    e->transfers = transfers;
    struct loading l = {.e = e, .image_id = image_id, .event = event, .err = err};
    if (event)
        snprintf(e->event, sizeof e->event, "%s", event);
    int rc = event ? 0 : cs_store_each_of(store, image_id, choose, &l, err);
    if (rc == 0)
        rc = cs_store_each_of(store, image_id, visit, &l, err);
    if (rc == 0)
        rc = cs_transfers_profile(transfers, e->image = cs_transfers_image(transfers, image_id), &e->edges,
                                  err);
    if (rc == 0)
        rc = list_samples(e, err);
    if (rc == 0)
        rc = cs_testimony_machine(store, &e->machine, &e->machine_recorded, err);
    if (rc) {
        cs_testimony_close(e);
        *out = NULL;
        return rc;
    }
    double period = l.samples > 0 ? l.period_sum / l.samples : 0;
    e->samples = (uint64_t)l.samples;
    e->cycles_a_sample = strcmp(l.unit, "ns") ? period : period * 1e-9 * e->machine.core_hz;
    for (int c = 0; c < CS_N_CAUSES; c++)
        e->event_period[c] = l.event_samples[c] > 0 ? l.event_sum[c] / l.event_samples[c] : 0;
    e->bursts = e->edges->n_own > 0;
    measure_code(e);
    return 0;
}

void cs_testimony_close(struct cs_testimony *e)
{
    if (!e)
        return;
    cs_table_close(e->points);
    cs_table_close(e->memory);
    cs_table_close(e->branches);
    cs_table_close(e->lines);
    cs_table_close(e->footprints);
    for (int c = 0; c < CS_N_CAUSES; c++)
        cs_table_close(e->events[c]);
    if (e->edges)
        cs_edge_profile_close(e->edges);
    free(e->sample_offset);
    free(e->sample_count);
    free(e);
}

/* ---- looking up ---- */

/* First row whose first key is at least `key`. */
static size_t row_at(struct cs_table *table, uint64_t key)
{
    size_t low = 0, high = table ? cs_table_rows(table) : 0;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (cs_table_row(table, middle)[0] < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static const uint64_t *row_of(struct cs_table *table, uint64_t key)
{
    size_t i = row_at(table, key);
    if (!table || i == cs_table_rows(table))
        return NULL;
    const uint64_t *row = cs_table_row(table, i);
    return row[0] == key ? row : NULL;
}

uint64_t cs_testimony_samples(const struct cs_testimony *e, uint64_t offset)
{
    const uint64_t *row = row_of(e->points, offset);
    return row ? row[1] : 0;
}

double cs_testimony_events(const struct cs_testimony *e, enum cs_cause cause, uint64_t offset)
{
    if (!e->events[cause])
        return -1;
    const uint64_t *row = row_of(e->events[cause], offset);
    return row ? (double)row[1] * e->event_period[cause] : 0;
}

/* d = n (1 - exp(-e/n)), solved for n by halving; needs an eighth of the draws to be repeats. */
double cs_testimony_population(double executions, double distinct)
{
    if (executions <= 0 || distinct > 0.875 * executions)
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

double cs_testimony_meetings(double draws, double bursts, double meetings, double *at_least)
{
    double pairs = bursts > 1 ? draws * draws / 2 * (1 - 1 / bursts) : 0;
    *at_least = pairs / 8;
    return meetings >= 5 ? pairs / meetings : 0;
}

struct footprint {
    double draws, distinct, once, twice; /* lines that one burst drew, that two drew */
    double meetings;
};

static void count_line(struct footprint *f, double same)
{
    f->meetings += same * (same - 1) / 2;
    f->distinct += same > 0;
    f->once += same == 1;
    f->twice += same == 2;
}

/* Adds an instruction's draws; `shift` makes pages of lines. Rows ascend by line. */
static struct footprint meetings_of(struct cs_table *table, uint64_t offset, unsigned shift)
{
    struct footprint f = {0};
    uint64_t key = UINT64_MAX;
    double same = 0;
    for (size_t i = row_at(table, offset); table && i < cs_table_rows(table); i++) {
        const uint64_t *row = cs_table_row(table, i);
        if (row[CS_FOOTPRINT_OFFSET] != offset)
            break;
        if (row[CS_FOOTPRINT_LINE] >> shift != key) {
            count_line(&f, same);
            same = 0;
            key = row[CS_FOOTPRINT_LINE] >> shift;
        }
        same += (double)row[CS_FOOTPRINT_BURSTS];
        f.draws += (double)row[CS_FOOTPRINT_BURSTS];
    }
    count_line(&f, same);
    return f;
}

/* The whole footprint, over all bursts, from how often two of them drew the same line, or the same page. */
static void measure_footprint(const struct cs_testimony *e, uint64_t offset, double bursts,
                              struct cs_memory_facts *f)
{
    double lines_least, pages_least;
    struct footprint l = meetings_of(e->footprints, offset, 0), p = meetings_of(e->footprints, offset, 6);
    if (l.draws < 8)
        return;
    /* Draws of one burst may share a page: these are no meetings of two bursts. */
    double within = f->footprint_pages > 0 ? l.draws * 7.5 / f->footprint_pages : 0;
    double lines = cs_testimony_meetings(l.draws, bursts, l.meetings, &lines_least);
    double pages =
        cs_testimony_meetings(l.draws, bursts, p.meetings > within ? p.meetings - within : 0, &pages_least);
    f->footprint_pages = pages > 0 ? pages : pages_least;
    f->footprint_bytes = lines > 0 ? lines * 64 : fmax(lines_least * 64, pages * 4096);
    if (f->footprint_bytes < f->footprint_pages * 64) /* a line a page at least */
        f->footprint_bytes = f->footprint_pages * 64;
    f->footprint_least = lines <= 0 && pages <= 0;
    /* Meetings find the lines that are used most. Those drawn once say how often the next line is one that no
     * burst drew (Good 1953), and with those drawn twice how many there are at least (Chao 1984). */
    double chao = (l.distinct + l.once * l.once / (2 * fmax(1, l.twice))) * 64;
    if (lines > 0 && chao > 2 * f->footprint_bytes) {
        f->cold = l.once / l.draws;
        f->cold_bytes = chao;
    }
}

struct cs_memory_facts cs_testimony_memory(const struct cs_testimony *e, uint64_t offset)
{
    struct cs_memory_facts f = {0};
    const uint64_t *row = row_of(e->memory, offset);
    if (!row || row[CS_MEMORY_EXECUTIONS] == 0)
        return f;
    double n = (double)row[CS_MEMORY_EXECUTIONS], bursts = (double)row[CS_MEMORY_BURSTS];
    double strides = (double)row[CS_MEMORY_STRIDES];
    f.seen = true;
    f.executions = n;
    f.new_lines = ((double)row[CS_MEMORY_FIRST_LINES] + (double)row[CS_MEMORY_FAR_LINES]) / n;
    f.far_lines = (double)row[CS_MEMORY_FAR_LINES] / n;
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
        double lines = cs_testimony_population(n / bursts, (double)row[CS_MEMORY_LINES] / bursts);
        double pages = cs_testimony_population(n / bursts, (double)row[CS_MEMORY_PAGES] / bursts);
        f.footprint_bytes = lines * 64;
        f.footprint_pages = pages;
        measure_footprint(e, offset, bursts, &f);
    }
    return f;
}

struct cs_branch_facts cs_testimony_branch(const struct cs_testimony *e, uint64_t offset)
{
    struct cs_branch_facts f = {0};
    const uint64_t *row = row_of(e->branches, offset);
    if (!row || row[CS_BRANCH_EXECUTIONS] == 0)
        return f;
    double n = (double)row[CS_BRANCH_EXECUTIONS], missed = (double)row[CS_BRANCH_MISSED];
    if (row[CS_BRANCH_MISSED_LOCAL] < row[CS_BRANCH_MISSED])
        missed = (double)row[CS_BRANCH_MISSED_LOCAL];
    if ((double)row[CS_BRANCH_MISSED_GLOBAL] < missed)
        missed = (double)row[CS_BRANCH_MISSED_GLOBAL];
    /* Each burst begins with empty tables, which a branch that always goes one way fills in as many steps as
     * the longer history has bits: these guesses say nothing. */
    f.missed_raw = fmax(0, missed - 2 * (double)row[CS_BRANCH_BURSTS]) / n;
    missed -= 14 * (double)row[CS_BRANCH_BURSTS];
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

struct cs_fetch_facts cs_testimony_fetch(const struct cs_testimony *e, uint64_t offset)
{
    struct cs_fetch_facts f = {0};
    const uint64_t *row = row_of(e->lines, offset & ~UINT64_C(63));
    if (!row || row[CS_CODE_LINE_VISITS] == 0)
        return f;
    double n = (double)row[CS_CODE_LINE_VISITS];
    f.seen = true;
    f.new_lines = ((double)row[CS_CODE_LINE_FIRST] + (double)row[CS_CODE_LINE_FAR]) / n;
    f.new_pages = ((double)row[CS_CODE_LINE_PAGE_FIRST] + (double)row[CS_CODE_LINE_PAGE_FAR]) / n;
    return f;
}
