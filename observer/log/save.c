/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Aggregates into the store (save.h says how). */
#include "observer/log/save.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

struct saving {
    struct cs_table *table;
    const struct cs_sink *sink;
    const struct cs_observe_save_names *names;
    int failed;
};

static void put(struct saving *k, const char *what, const char *of, uint64_t value, uint64_t bin,
                uint64_t number, uint64_t cycles, double events, double squares)
{
    int64_t what_text = cs_table_text(k->table, what), of_text = cs_table_text(k->table, of);
    if (what_text < 0 || of_text < 0) {
        k->failed = -ENOMEM;
        return;
    }
    uint64_t row[8] = {(uint64_t)what_text,      (uint64_t)of_text,        value, bin, number, cycles,
                       (uint64_t)(events + 0.5), (uint64_t)(squares + 0.5)};
    int rc = cs_table_add(k->table, row);
    k->failed = rc < 0 ? rc : k->failed;
}

static void put_rate(struct saving *k, const char *what, const char *of, uint64_t value,
                     const struct cs_tag_row *row, unsigned c)
{
    put(k, what, of, value, 0, row->kept, row->kept_cycles, (double)row->events[c], 1024 * row->squares[c]);
}

/* "A/B" of a ratio, whatever a report calls it. */
static const char *ratio_name(const struct saving *k, unsigned r, char to[160])
{
    const struct cs_ratio *ratio = &k->sink->ratios[r];
    snprintf(to, 160, "%s/%s", k->names->counters[ratio->of], k->names->counters[ratio->per]);
    return to;
}

/* Of one value of a tag, or of the whole run: `t` is then "". */
static void put_ratios(struct saving *k, const char *t, const char *of, const struct cs_tag_row *row,
                       const uint64_t *bins)
{
    const struct cs_sink *s = k->sink;
    for (unsigned r = 0; r < s->n_ratios && row->kept; r++) {
        const unsigned series = s->n_counters + r;
        char name[160], ratio[200], quotient[200];
        ratio_name(k, r, name);
        snprintf(ratio, sizeof ratio, "ratio %s%s", t, name);
        snprintf(quotient, sizeof quotient, "quotient %s%s", t, name);
        put(k, ratio, of, row->tag, 0, row->kept, row->events[s->ratios[r].per],
            (double)row->events[s->ratios[r].of], 1024 * row->squares[series]);
        for (unsigned b = 0; bins && b < CS_DTE_RATE_BINS; b++)
            if (bins[series * CS_DTE_RATE_BINS + b])
                put(k, quotient, of, row->tag, b, bins[series * CS_DTE_RATE_BINS + b], 0, 0, 0);
    }
}

/* Of the first tag they are the image's (add_names). */
static void put_name(struct saving *k, unsigned t, uint64_t value)
{
    const char *name = t && k->names->name ? k->names->name(k->names->arg, t, value) : NULL;
    char what[512];
    if (!name)
        return;
    snprintf(what, sizeof what, "name %u %s", t, name);
    put(k, what, k->names->tags[t], value, t, 1, 0, 0, 0);
}

static void put_row(struct saving *k, unsigned t, const struct cs_tag_row *row)
{
    const char *tag = k->names->tags[t];
    put(k, "tag", tag, row->tag, t, row->samples, row->half_cycles, (double)row->visits, 0);
    for (unsigned c = 0; c < k->sink->n_counters; c++) {
        char rate[128], bin[128];
        snprintf(rate, sizeof rate, "rate %u %s", t, k->names->counters[c]);
        snprintf(bin, sizeof bin, "bin %u %s", t, k->names->counters[c]);
        if (row->kept)
            put_rate(k, rate, tag, row->tag, row, c);
        snprintf(rate, sizeof rate, "edge %u %s", t, k->names->counters[c]);
        if (row->edge_cycles > 0)
            put(k, rate, tag, row->tag, 0, 0, (uint64_t)row->edge_cycles, row->edge_events[c],
                1024 * row->edge_others[c]);
        for (unsigned b = 0; row->bins && b < CS_DTE_RATE_BINS; b++)
            if (row->bins[c * CS_DTE_RATE_BINS + b])
                put(k, bin, tag, row->tag, b, row->bins[c * CS_DTE_RATE_BINS + b], 0, 0, 0);
    }
    put_ratios(k, (const char[]){(char)('0' + t), ' ', '\0'}, tag, row, row->bins);
    put_name(k, t, row->tag);
}

static void put_counters(struct saving *k)
{
    const struct cs_sink *s = k->sink;
    for (unsigned c = 0; c < s->n_counters; c++) {
        char rate[128], bin[128], joint[128];
        snprintf(rate, sizeof rate, "rate %s", k->names->counters[c]);
        snprintf(bin, sizeof bin, "bin %s", k->names->counters[c]);
        snprintf(joint, sizeof joint, "joint %s", k->names->counters[c]);
        put_rate(k, rate, "", 0, &s->whole_run, c);
        for (unsigned b = 0; b < CS_DTE_RATE_BINS; b++) {
            if (s->rates[c][b])
                put(k, bin, "", 0, b, s->rates[c][b], 0, 0, 0);
            if (s->n_counters > 1 && s->joint[b].cycles)
                put(k, joint, k->names->counters[0], 0, b, 0, s->joint[b].cycles,
                    (double)s->joint[b].events[c], 0);
        }
    }
    put_ratios(k, "", "", &s->whole_run, &s->rates[0][0]);
}

static void put_run(struct saving *k)
{
    const struct cs_sink *s = k->sink;
    put(k, "run", "", 0, 0, 1, s->unseen_cycles, k->names->cycles_per_second, (double)s->samples);
    for (enum cs_dte_verdict v = 0; v < CS_DTE_VERDICTS; v++)
        if (s->tally.intervals[v])
            put(k, "verdict", cs_dte_name(v), 0, 0, s->tally.intervals[v], s->tally.cycles[v], 0, 0);
    for (unsigned b = 0; b < CS_DTE_CYCLE_BINS; b++) {
        if (s->periods[b])
            put(k, "period", "", 0, b, s->periods[b], 0, 0, 0);
        if (s->gaps[b])
            put(k, "gap", "", 0, b, s->gaps[b], 0, 0, 0);
    }
}

static void tag_image(const char *program, struct cs_store_image *image)
{
    *image = (struct cs_store_image){.kind = CS_IMAGE_TAG, .path = program, .build_id = ""};
    snprintf(image->id, sizeof image->id, "x%016llx",
             (unsigned long long)(XXH64(program, strlen(program), 0) ^ 0x7461677374616773ull));
}

static int point(struct cs_table **table, uint64_t offset, uint64_t cycles)
{
    if (!*table && !(*table = cs_table_open(&cs_schema_points)))
        return -ENOMEM;
    return cs_table_add(*table, (uint64_t[]){offset, cycles});
}

static void cycles_head(struct cs_store_profile_head *head, uint64_t cycles)
{
    memset(head, 0, sizeof *head);
    strcpy(head->event, "observed-cycles");
    strcpy(head->unit, "cycles");
    head->period_sum = cycles;
}

#define IMAGES_MAX 64 /* of addresses in one run; further ones stay values */

struct placed {
    struct cs_store_image image;
    char path[512], build_id[96];
    struct cs_table *points;
    uint64_t cycles;
};

static struct placed *placed_in(struct placed *all, unsigned *n, const struct cs_store_image *image)
{
    for (unsigned i = 0; i < *n; i++)
        if (strcmp(all[i].image.id, image->id) == 0)
            return &all[i];
    if (*n == IMAGES_MAX)
        return NULL;
    struct placed *p = &all[(*n)++];
    p->image = *image;
    snprintf(p->path, sizeof p->path, "%s", image->path);
    snprintf(p->build_id, sizeof p->build_id, "%s", image->build_id);
    p->image.path = p->path;
    p->image.build_id = p->build_id;
    return p;
}

/* Cycles under each value of the first tag, as points of the images that addresses lie in, or of the tag
 * image. */
static int add_points(struct cs_store *store, const struct cs_sink *s,
                      const struct cs_observe_save_names *names, const struct cs_store_image *tags,
                      struct cs_error *err)
{
    static const struct placed none;
    struct placed *all = NULL, values = none;
    unsigned n = 0;
    int rc = 0;
    if (s->n_tags == 0)
        return 0;
    all = calloc(IMAGES_MAX, sizeof *all);
    if (!all)
        return cs_fail(err, ENOMEM, "no memory to store what was observed");
    for (uint32_t r = 0; rc == 0 && r < s->tags[0]->n_rows; r++) {
        const struct cs_tag_row *row = &s->tags[0]->rows[r];
        struct cs_store_image image;
        uint64_t offset = row->tag, cycles = row->half_cycles / 2;
        struct placed *p = &values;
        if (cycles == 0 || row->tag == UINT64_MAX) /* not running: no cycles of the program */
            continue;
        if (names->resolve && names->resolve(names->arg, 0, row->tag, &image, &offset))
            p = placed_in(all, &n, &image);
        if (!p) {
            p = &values;
            offset = row->tag;
        }
        rc = point(&p->points, offset, cycles);
        p->cycles += cycles;
    }
    if (rc < 0)
        cs_fail(err, -rc, "no memory to store what was observed");
    struct cs_store_profile_head head;
    for (unsigned i = 0; i < n; i++) {
        cycles_head(&head, all[i].cycles);
        if (rc == 0)
            rc = cs_store_merge(store, &all[i].image, &head, all[i].points, err);
        cs_table_close(all[i].points);
    }
    if (values.points) {
        cycles_head(&head, values.cycles);
        if (rc == 0)
            rc = cs_store_merge(store, tags, &head, values.points, err);
        cs_table_close(values.points);
    }
    free(all);
    return rc;
}

static int add_names(struct cs_store *store, const struct cs_sink *s,
                     const struct cs_observe_save_names *names, const struct cs_store_image *image,
                     struct cs_error *err)
{
    struct cs_table *all = cs_table_open(&cs_schema_names);
    uint32_t n = 0;
    int rc = all ? 0 : -ENOMEM;
    for (uint32_t r = 0; rc == 0 && names->name && s->n_tags && r < s->tags[0]->n_rows; r++) {
        const uint64_t value = s->tags[0]->rows[r].tag;
        const char *name = names->name(names->arg, 0, value);
        const int64_t text = name ? cs_table_text(all, name) : 0;
        if (name)
            rc = text < 0 ? (int)text : cs_table_add(all, (uint64_t[]){value, 1, (uint64_t)text});
        n += name != NULL;
    }
    if (rc < 0)
        rc = cs_fail(err, ENOMEM, "no memory to store the names of tags");
    else if (n > 0)
        rc = cs_store_merge_names(store, image, all, err);
    cs_table_close(all);
    return rc;
}

int cs_observe_save(struct cs_store *store, const struct cs_sink *sink,
                    const struct cs_observe_save_names *names, struct cs_error *err)
{
    assert(names->program);
    struct cs_store_image image;
    struct saving k = {cs_table_open(&cs_schema_observed), sink, names, 0};
    if (!k.table)
        return cs_fail(err, ENOMEM, "no memory to store what was observed");
    tag_image(names->program, &image);
    for (unsigned t = 0; t < sink->n_tags; t++) {
        for (uint32_t r = 0; r < sink->tags[t]->n_rows; r++)
            put_row(&k, t, &sink->tags[t]->rows[r]);
        if (sink->tags[t]->overflow)
            put_row(&k, t, &sink->tags[t]->rows[CS_TAG_ROWS - 1]);
    }
    put_counters(&k);
    put_run(&k);
    struct cs_store_profile_head head = {.event = "observed", .unit = ""};
    int rc = k.failed ? cs_fail(err, -k.failed, "no memory to store what was observed")
                      : cs_store_merge(store, &image, &head, k.table, err);
    if (rc == 0)
        rc = add_points(store, sink, names, &image, err);
    if (rc == 0)
        rc = add_names(store, sink, names, &image, err);
    if (rc == 0)
        rc = cs_store_count(store, "observed-samples", sink->samples, err);
    cs_table_close(k.table);
    return rc;
}
