/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Aggregates out of the store: all epochs' profiles of one program merged, then turned back into a sink. */
#include "observer/log/save.h"
#include "store/base/text.h"
#include "store/catalog.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct finding {
    const char *wanted;
    struct cs_observe_saved *kept;
    char chosen[CS_IMAGE_ID_MAX];
    uint64_t most;
    char ids[64][CS_IMAGE_ID_MAX];
};

static bool is_wanted(const char *wanted, const char *path)
{
    return !wanted || strcmp(wanted, path) == 0 || strcmp(wanted, cs_base_name(path)) == 0;
}

static void count_program(struct finding *f, const char *id)
{
    for (unsigned i = 0; i < f->kept->programs && i < 64; i++)
        if (strcmp(f->ids[i], id) == 0)
            return;
    if (f->kept->programs < 64)
        strcpy(f->ids[f->kept->programs], id);
    f->kept->programs++;
}

/* The program with most cycles, of those that are wanted. */
static int choose_program(struct finding *f, const struct cs_catalog *catalog, const struct cs_query *query,
                          struct cs_error *err)
{
    const struct cs_store_profile_ref *ref;
    for (size_t at = 0; (ref = cs_catalog_next(catalog, query, &at));) {
        struct cs_table *table;
        count_program(f, ref->image->id);
        if (!is_wanted(f->wanted, ref->image->path))
            continue;
        int rc = cs_store_load(ref, &table, err);
        if (rc < 0)
            return rc;
        uint64_t cycles = cs_table_sum(table, offsetof(struct cs_observed_row, cycles) / 8);
        cs_table_close(table);
        if (*f->chosen && cycles <= f->most)
            continue;
        f->most = cycles;
        strcpy(f->chosen, ref->image->id);
        snprintf(f->kept->program, sizeof f->kept->program, "%s", ref->image->path);
    }
    return 0;
}

/* Index of a name in a list that grows; -1 when full. */
static int index_of(char (*names)[64], unsigned *n, unsigned max, const char *name)
{
    for (unsigned i = 0; i < *n; i++)
        if (strcmp(names[i], name) == 0)
            return (int)i;
    if (*n == max)
        return -1;
    snprintf(names[*n], sizeof names[*n], "%s", name);
    return (int)(*n)++;
}

struct reading {
    struct cs_observe_saved *kept;
    struct cs_table *table;
    unsigned n_tags, n_counters, n_ratios;
    struct cs_ratio ratios[CS_RATIOS_MAX];
    char ratio_names[CS_RATIOS_MAX][160];
};

static void name_columns(struct reading *r)
{
    for (size_t i = 0; i < cs_table_rows(r->table); i++) {
        const struct cs_observed_row *row = cs_table_at(r->table, i);
        const char *what = cs_table_string(r->table, row->what), *of = cs_table_string(r->table, row->of);
        if (strcmp(what, "tag") == 0 && row->bin < CS_TAGS_MAX) {
            snprintf(r->kept->tags[row->bin], sizeof r->kept->tags[0], "%s", of);
            if (row->bin >= r->n_tags)
                r->n_tags = (unsigned)row->bin + 1;
        } else if (strncmp(what, "rate ", 5) == 0 && !*of) {
            index_of(r->kept->counters, &r->n_counters, CS_COUNTERS_MAX, what + 5);
        }
    }
}

/* Those whose counters are there, in the order of their names: counters have been named. */
static void name_ratios(struct reading *r)
{
    const char *counters[CS_COUNTERS_MAX];
    for (unsigned c = 0; c < r->n_counters; c++)
        counters[c] = r->kept->counters[c];
    for (size_t i = 0; i < cs_table_rows(r->table) && r->n_ratios < CS_RATIOS_MAX; i++) {
        const struct cs_observed_row *row = cs_table_at(r->table, i);
        const char *what = cs_table_string(r->table, row->what);
        if (strncmp(what, "ratio ", 6) == 0 && !*cs_table_string(r->table, row->of) &&
            cs_ratio_parse(what + 6, counters, r->n_counters, &r->ratios[r->n_ratios]))
            snprintf(r->ratio_names[r->n_ratios++], sizeof r->ratio_names[0], "%s", what + 6);
    }
}

/* The series of a ratio by the name that a row has; -1: none. */
static int ratio_of(const struct reading *r, const char *name)
{
    for (unsigned i = 0; i < r->n_ratios; i++)
        if (strcmp(r->ratio_names[i], name) == 0)
            return (int)(r->n_counters + i);
    return -1;
}

/* A row of a ratio, of the whole run or of a value of a tag; false: it is something else. */
static bool take_ratio(struct reading *r, const char *what, const char *of, const struct cs_observed_row *row)
{
    struct cs_sink *s = r->kept->sink;
    const bool sums = strncmp(what, "ratio ", 6) == 0;
    if (!sums && strncmp(what, "quotient ", 9) != 0)
        return false;
    const char *name = what + (sums ? 6 : 9);
    struct cs_tag_row *to = &s->whole_run;
    uint64_t *bins = &s->rates[0][0];
    if (*of) {
        unsigned t = (unsigned)(name[0] - '0');
        if (t >= r->n_tags || name[1] != ' ')
            return true;
        to = cs_tags_find(s->tags[t], row->value);
        bins = to->bins;
        name += 2;
    }
    int series = ratio_of(r, name);
    if (series >= 0 && sums)
        to->squares[series] = (double)row->squares / 1024;
    else if (series >= 0 && bins && row->bin < CS_DTE_RATE_BINS)
        bins[(unsigned)series * CS_DTE_RATE_BINS + row->bin] = row->number;
    return true;
}

static void take_rate(struct cs_tag_row *to, unsigned c, const struct cs_observed_row *row)
{
    to->kept = row->number;
    to->kept_cycles = row->cycles;
    to->events[c] = row->events;
    to->squares[c] = (double)row->squares / 1024;
}

/* "rate T name", "bin T name": index of the counter, and the tag; -1 where it isn't one. */
static int split(struct reading *r, const char *what, size_t word, unsigned *tag)
{
    if (what[word] < '0' || what[word] >= '0' + CS_TAGS_MAX || what[word + 1] != ' ')
        return -1;
    *tag = (unsigned)(what[word] - '0');
    unsigned n = r->n_counters;
    return *tag < r->n_tags ? index_of(r->kept->counters, &n, r->n_counters, what + word + 2) : -1;
}

/* "name T TEXT" */
static int take_name(struct reading *r, const char *what, const struct cs_observed_row *row)
{
    if (what[5] < '1' || what[5] >= '0' + CS_TAGS_MAX || what[6] != ' ')
        return 0;
    struct cs_observe_saved_name *one = cs_array_add(&r->kept->names);
    if (!one || !(one->text = strdup(what + 7)))
        return -ENOMEM;
    one->tag = (unsigned)(what[5] - '0');
    one->value = row->value;
    return 0;
}

static void take_of_tag(struct reading *r, const char *what, const struct cs_observed_row *row)
{
    struct cs_sink *s = r->kept->sink;
    unsigned t;
    int c;
    if (strcmp(what, "tag") == 0 && row->bin < r->n_tags) {
        struct cs_tag_row *to = cs_tags_find(s->tags[row->bin], row->value);
        to->samples += row->number;
        to->half_cycles += row->cycles;
        to->visits += row->events;
    } else if (strncmp(what, "rate ", 5) == 0 && (c = split(r, what, 5, &t)) >= 0) {
        take_rate(cs_tags_find(s->tags[t], row->value), (unsigned)c, row);
    } else if (strncmp(what, "edge ", 5) == 0 && (c = split(r, what, 5, &t)) >= 0) {
        struct cs_tag_row *to = cs_tags_find(s->tags[t], row->value);
        to->edge_cycles = (double)row->cycles;
        to->edge_events[c] = (double)row->events;
        to->edge_others[c] = (double)row->squares / 1024;
    } else if (strncmp(what, "bin ", 4) == 0 && (c = split(r, what, 4, &t)) >= 0) {
        struct cs_tag_row *to = cs_tags_find(s->tags[t], row->value);
        if (to->bins && row->bin < CS_DTE_RATE_BINS)
            to->bins[(unsigned)c * CS_DTE_RATE_BINS + row->bin] =
                row->number < UINT32_MAX ? (uint32_t)row->number : UINT32_MAX;
    }
}

static void take_of_run(struct reading *r, const char *what, const char *of,
                        const struct cs_observed_row *row)
{
    struct cs_sink *s = r->kept->sink;
    unsigned n = r->n_counters;
    int c = -1;
    const char *space = strchr(what, ' ');
    if (space)
        c = index_of(r->kept->counters, &n, r->n_counters, space + 1);
    if (strcmp(what, "run") == 0) {
        r->kept->runs = row->number;
        s->unseen_cycles = row->cycles;
        r->kept->cycles_per_second = row->number ? (double)row->events / (double)row->number : 0;
        s->samples = row->squares;
    } else if (strcmp(what, "verdict") == 0) {
        of = strcmp(of, "away") == 0 ? cs_dte_name(CS_DTE_DESCHEDULED) : of; /* its name until 2026-11 */
        for (enum cs_dte_verdict v = 0; v < CS_DTE_VERDICTS; v++)
            if (strcmp(of, cs_dte_name(v)) == 0) {
                s->tally.intervals[v] += row->number;
                s->tally.cycles[v] += row->cycles;
            }
    } else if (strcmp(what, "period") == 0 && row->bin < CS_DTE_CYCLE_BINS) {
        s->periods[row->bin] = row->number;
    } else if (strcmp(what, "gap") == 0 && row->bin < CS_DTE_CYCLE_BINS) {
        s->gaps[row->bin] = row->number;
    } else if (c >= 0 && strncmp(what, "rate ", 5) == 0) {
        take_rate(&s->whole_run, (unsigned)c, row);
    } else if (c >= 0 && strncmp(what, "bin ", 4) == 0 && row->bin < CS_DTE_RATE_BINS) {
        s->rates[c][row->bin] = row->number;
    } else if (c >= 0 && strncmp(what, "joint ", 6) == 0 && row->bin < CS_DTE_RATE_BINS) {
        s->joint[row->bin].cycles = row->cycles;
        s->joint[row->bin].events[c] = row->events;
    }
}

int cs_observe_load(struct cs_store *store, const char *program, struct cs_observe_saved *kept,
                    struct cs_error *err)
{
    memset(kept, 0, sizeof *kept);
    struct finding *f = calloc(1, sizeof *f);
    struct cs_table *sum = NULL;
    int rc;
    if (!f)
        return cs_fail(err, ENOMEM, "no memory to read %s", cs_store_path(store));
    struct cs_query query = {.kind = CS_KIND_OBSERVED, .event = "observed"};
    const struct cs_catalog *catalog;
    f->wanted = program;
    f->kept = kept;
    rc = cs_store_catalog(store, &catalog, err);
    rc = rc < 0 ? rc : choose_program(f, catalog, &query, err);
    if (rc == 0 && !*f->chosen)
        rc = program && kept->programs
                 ? cs_fail(err, ENOENT, "%s was not observed in %s", program, cs_store_path(store))
                 : cs_fail(err, ENOENT, "nothing was observed in %s: cyclescope observe -o fills it",
                           cs_store_path(store));
    query.image_id = f->chosen;
    rc = rc < 0 ? rc : cs_store_select(store, &query, &sum, NULL, err);
    if (rc == 0) {
        struct reading r = {.kept = kept, .table = sum};
        struct cs_dte_rule rule = cs_dte_paper_rule();
        strcpy(kept->image_id, f->chosen);
        name_columns(&r);
        name_ratios(&r);
        rc = cs_sink_open(r.n_tags, r.n_counters, r.ratios, r.n_ratios, &rule, &kept->sink, err);
        for (size_t i = 0; rc == 0 && i < cs_table_rows(r.table); i++) {
            const struct cs_observed_row *row = cs_table_at(r.table, i);
            const char *what = cs_table_string(r.table, row->what), *of = cs_table_string(r.table, row->of);
            if (take_ratio(&r, what, of, row))
                continue;
            if (strncmp(what, "name ", 5) == 0 && *of)
                rc = take_name(&r, what, row) < 0 ? cs_fail(err, ENOMEM, "no memory for names") : 0;
            else if (strcmp(what, "verdict") != 0 && strncmp(what, "joint ", 6) != 0 && *of)
                take_of_tag(&r, what, row);
            else
                take_of_run(&r, what, of, row);
        }
    }
    cs_table_close(sum);
    free(f);
    return rc;
}

void cs_observe_saved_fini(struct cs_observe_saved *kept)
{
    for (size_t i = 0; i < kept->names.n; i++)
        free(kept->names.at[i].text);
    cs_array_free(&kept->names);
    cs_sink_close(kept->sink);
    kept->sink = NULL;
}
