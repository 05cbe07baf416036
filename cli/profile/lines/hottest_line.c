/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A return differs from other exits of a procedure by its target: the middle of another procedure. */
#include "cli/profile/lines/hottest_line.h"
#include "cli/command/figures.h"
#include "cli/output/output.h"
#include "cli/profile/called/chain_line.h"
#include "store/base/array.h"
#include "store/base/text.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_TRIED 10
#define CALLERS_MAX 8 /* up the chain */
#define LINES_MAX 1024
#define SKID_BYTES                                                                                           \
    32U /* some eight instructions: of those that end together an interrupt names the one behind */
#define SECOND_SHARE 0.25

/* Samples at the line that chains blame, or it isn't named; unit: samples; source: trial; shows: guilty */
#ifndef CS_MODEL_GUILTY_SAMPLES_MIN
#define CS_MODEL_GUILTY_SAMPLES_MIN 20
#endif
/* The same as a share of all; unit: 1; source: trial; shows: guilty */
#ifndef CS_MODEL_GUILTY_SHARE_MIN
#define CS_MODEL_GUILTY_SHARE_MIN 0.05
#endif
/* It has so many times the samples of the top row's own line, or that is named; unit: 1; source: trial; shows: guilty */
#ifndef CS_MODEL_GUILTY_MORE
#define CS_MODEL_GUILTY_MORE 1.2
#endif

struct line_of {
    char *file;
    unsigned line;
    char function[256];
    double samples;
    uint64_t peak, at_peak; /* the address with most of them, and how many */
};

struct tally {
    const struct profile *profile;
    struct cs_image_code *code;
    const struct cs_image_procedure *procedure;
    struct line_of line[LINES_MAX];
    unsigned n, event;
    double whole;
};

static void add_line(unsigned event, const char *label, uint64_t offset, uint64_t samples, void *arg)
{
    struct tally *t = arg;
    struct cs_image_frame frame;
    (void)label;
    if (event != t->event || cs_image_procedure_at(t->code, offset) != t->procedure)
        return;
    t->whole += (double)samples;
    if (!chain_line_frame(t->code, profile_charged(t->profile, event, t->code, offset), &frame))
        return;
    unsigned i = 0;
    while (i < t->n && (t->line[i].line != frame.line || strcmp(t->line[i].file, frame.file) != 0))
        i++;
    if (i == LINES_MAX)
        return;
    if (i == t->n) {
        t->line[i] = (struct line_of){.file = strdup(frame.file), .line = frame.line};
        if (!t->line[i].file)
            return;
        cs_image_short_name(frame.function, t->line[i].function, sizeof t->line[i].function);
        t->n++;
    }
    t->line[i].samples += (double)samples;
    if (samples > t->line[i].at_peak) {
        t->line[i].peak = offset;
        t->line[i].at_peak = samples;
    }
}

/* A sample's address is a few instructions off: what waited may be the line before or after (docs/sampling.md). NULL: none that counts. */
static const struct line_of *as_likely(const struct tally *t, const struct line_of *most)
{
    const struct line_of *found = NULL;
    for (unsigned i = 0; i < t->n; i++) {
        const struct line_of *l = &t->line[i];
        const uint64_t apart = l->peak > most->peak ? l->peak - most->peak : most->peak - l->peak;
        if (l != most && apart <= SKID_BYTES && l->samples >= SECOND_SHARE * most->samples &&
            strcmp(l->file, most->file) == 0 && (!found || l->samples > found->samples))
            found = l;
    }
    return found;
}

static struct cs_image_code *open_code(const struct profile *profile, const struct profile_image *image)
{
    return image && (image->image.kind == CS_IMAGE_ELF || image->image.kind == CS_IMAGE_JIT)
               ? profile_code(profile, image)
               : NULL;
}

bool hottest_line_of(const struct profile *profile, const struct profile_row *row, struct hottest_line *out)
{
    struct cs_image_code *code = row->name ? open_code(profile, row->image) : NULL;
    struct tally *t = code ? calloc(1, sizeof *t) : NULL;
    bool found = false;
    struct cs_image_frame frame;
    struct cs_error ignored = {0};
    if (!t || !(t->procedure = cs_image_procedure_at(code, row->start)) ||
        !chain_line_frame(code, row->start, &frame)) /* cheaply: nearly all rows without source end here */
        goto out;
    t->profile = profile;
    t->code = code;
    t->event = profile->main_event;
    (void)profile_points(row->image, (int)t->event, add_line, t, &ignored);
    const struct line_of *most = NULL;
    for (unsigned i = 0; i < t->n; i++)
        if (!most || t->line[i].samples > most->samples)
            most = &t->line[i];
    if ((found = most != NULL)) {
        out->how = HOTTEST_OWN;
        out->row = row;
        out->line = most->line;
        out->samples = most->samples;
        out->of = t->whole;
        snprintf(out->file, sizeof out->file, "%s", most->file);
        snprintf(out->function, sizeof out->function, "%s", most->function);
        const struct line_of *second = as_likely(t, most);
        if (second) {
            out->second_line = second->line;
            out->second_samples = second->samples;
        }
    }
out:
    for (unsigned i = 0; t && i < t->n; i++)
        free(t->line[i].file);
    free(t);
    cs_image_close(code);
    return found;
}

/* Where a procedure's returns went. */
struct site {
    const struct profile_image *image;
    uint64_t offset; /* of the last byte of the call */
    double returns;
};

struct sites {
    struct site *list;
    size_t n;
};

static void add_site(struct sites *s, const struct profile_image *image, uint64_t offset, double returns)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->list[i].image == image && s->list[i].offset == offset) {
            s->list[i].returns += returns;
            return;
        }
    if (cs_array_resize(s->list, s->n + 1) < 0)
        return;
    s->list[s->n++] = (struct site){image, offset, returns};
}

/* `other` is the image that the last return to another went to: the next mostly goes there too. */
struct returning {
    const struct profile *profile;
    const struct profile_image *image, *other;
    struct cs_image_code *code, *other_code;
    const struct cs_image_procedure *procedure;
    struct sites sites;
};

static void add_return(struct returning *r, const char *to_id, uint64_t to, double count)
{
    const struct profile_image *image =
        !*to_id || strcmp(to_id, r->image->image.id) == 0 ? r->image : profile_image_of(r->profile, to_id);
    if (image != r->image && image != r->other) {
        cs_image_close(r->other_code);
        r->other_code = open_code(r->profile, r->other = image);
    }
    struct cs_image_code *code = image == r->image ? r->code : r->other_code;
    const struct cs_image_procedure *landed = code ? cs_image_procedure_at(code, to) : NULL;
    if (landed && landed != r->procedure && landed->start != to)
        add_site(&r->sites, image, to - 1, count);
}

static void add_returns(struct returning *r, struct cs_table *edges)
{
    for (size_t i = 0; i < cs_table_rows(edges); i++) {
        const uint64_t *row = cs_table_row(edges, i);
        if (cs_image_procedure_at(r->code, row[0]) == r->procedure)
            add_return(r, cs_table_string(edges, row[1]), row[2], (double)row[3]);
    }
}

/* Who called it most; false: nobody was seen to. */
static bool find_caller(const struct profile *profile, const struct profile_image *image,
                        struct cs_image_code *code, uint64_t start, struct site *most, double *all)
{
    struct returning r = {.profile = profile, .image = image, .code = code};
    r.procedure = cs_image_procedure_at(code, start);
    for (size_t i = 0; r.procedure && i < profile->n_edges; i++) {
        struct cs_error ignored = {0};
        struct cs_table *table;
        if (strcmp(profile->edges[i]->image->id, image->image.id) != 0 ||
            cs_store_load(profile->edges[i], &table, &ignored) < 0)
            continue;
        add_returns(&r, table);
        cs_table_close(table);
    }
    *most = (struct site){0};
    *all = 0;
    for (size_t i = 0; i < r.sites.n; i++) {
        *all += r.sites.list[i].returns;
        if (r.sites.list[i].returns > most->returns)
            *most = r.sites.list[i];
    }
    free(r.sites.list);
    cs_image_close(r.other_code);
    return most->returns > 0;
}

static const struct profile_row *row_of(const struct profile_rows *rows, const struct profile_image *image,
                                        uint64_t start)
{
    for (size_t i = 0; i < rows->n; i++)
        if (rows->row[i].image == image && rows->row[i].start == start && rows->row[i].name)
            return &rows->row[i];
    return NULL;
}

static bool look_at_callers(const struct profile *profile, const struct profile_rows *rows,
                            struct hottest_line *out)
{
    const struct profile_image *image = rows->row[0].image;
    uint64_t start = rows->row[0].start;
    struct cs_image_code *code = profile->n_edges ? open_code(profile, image) : NULL;
    bool found = false;
    for (unsigned level = 0; code && !found && level < CALLERS_MAX; level++) {
        struct site site;
        double all;
        struct cs_image_frame frame;
        if (!find_caller(profile, image, code, start, &site, &all))
            break;
        if (site.image != image) {
            cs_image_close(code);
            code = open_code(profile, image = site.image);
        }
        const struct cs_image_procedure *caller = code ? cs_image_procedure_at(code, site.offset) : NULL;
        if (!caller)
            break;
        start = caller->start;
        if ((found = chain_line_frame(code, site.offset, &frame))) {
            out->row = row_of(rows, image, start);
            out->line = frame.line;
            out->samples = site.returns;
            out->of = all;
            snprintf(out->file, sizeof out->file, "%s", frame.file);
            cs_image_short_name(*frame.function ? frame.function : caller->name, out->function,
                                sizeof out->function);
        }
    }
    cs_image_close(code);
    return found;
}

void hottest_line_find(struct profile *profile, const struct profile_rows *rows,
                       const struct cs_chains *chains, struct hottest_line *out)
{
    *out = (struct hottest_line){.how = HOTTEST_NOWHERE};
    if (rows->n == 0 || !rows->row[0].samples[profile->main_event])
        return;
    if (!hottest_line_of(profile, &rows->row[0], out) && look_at_callers(profile, rows, out))
        out->how = HOTTEST_CALLER;
    for (size_t i = 1; out->how == HOTTEST_NOWHERE && i < rows->n && i < ROWS_TRIED; i++)
        if (rows->row[i].samples[profile->main_event] && hottest_line_of(profile, &rows->row[i], out))
            out->how = HOTTEST_LATER;
    /* Libraries and runtimes work for a line of the program: it is guilty where that is clearly more than the top row's. */
    struct chain_line line;
    const double all = (double)rows->total[profile->main_event];
    if (profile->one_image || !chain_line_find(profile, chains, &line) ||
        line.samples < CS_MODEL_GUILTY_SAMPLES_MIN || line.samples < CS_MODEL_GUILTY_SHARE_MIN * all ||
        (out->how == HOTTEST_OWN && line.samples <= CS_MODEL_GUILTY_MORE * out->samples))
        return;
    *out = (struct hottest_line){
        .how = HOTTEST_CHAINS, .line = line.line, .begins = line.begins, .samples = line.samples, .of = all};
    memcpy(out->file, line.file, sizeof out->file);
    memcpy(out->function, line.function, sizeof out->function);
}

const char *hottest_line_file(const struct hottest_line *hottest)
{
    return cs_base_name(hottest->file);
}

void hottest_line_sentence(const struct hottest_line *hottest, const struct profile_row *top, char *text,
                           size_t capacity)
{
    assert(capacity > 0);
    char name[256];
    cs_image_short_name(top->name ? top->name : "[no symbol]", name, sizeof name);
    const char *file = hottest_line_file(hottest);
    *text = 0;
    double share = hottest->of > 0 ? 100 * hottest->samples / hottest->of : 0;
    if (hottest->how == HOTTEST_CHAINS && hottest->begins)
        snprintf(text, capacity,
                 "%.1f %% of the samples are in %s, which begins at %s:%u, or in what it calls.", share,
                 *hottest->function ? hottest->function : "a function without a name", file, hottest->line);
    else if (hottest->how == HOTTEST_CHAINS)
        snprintf(text, capacity, "%.1f %% of the samples are at %s:%u (%s), or in what that line calls.",
                 share, file, hottest->line, hottest->function);
    if (hottest->how == HOTTEST_OWN && hottest->second_line)
        snprintf(text, capacity,
                 "%s: most of it at %s:%u (%s of %s sample%s) or %s:%u (%s), a few instructions away.", name,
                 file, hottest->line, thousands(hottest->samples).text, thousands(hottest->of).text,
                 plural(hottest->of), file, hottest->second_line, thousands(hottest->second_samples).text);
    else if (hottest->how == HOTTEST_OWN)
        snprintf(text, capacity, "%s: most of it at %s:%u (%s of %s sample%s).", name, file, hottest->line,
                 thousands(hottest->samples).text, thousands(hottest->of).text, plural(hottest->of));
    else if (hottest->how == HOTTEST_CALLER)
        snprintf(text, capacity, "%s has no source here. %s calls it: %s:%u (%s of %s return%s followed).",
                 name, hottest->function, file, hottest->line, thousands(hottest->samples).text,
                 thousands(hottest->of).text, plural(hottest->of));
    else if (hottest->how == HOTTEST_LATER)
        snprintf(text, capacity,
                 "%s has no source here. The first with source is %s: %s:%u (%s of %s sample%s).", name,
                 hottest->function, file, hottest->line, thousands(hottest->samples).text,
                 thousands(hottest->of).text, plural(hottest->of));
}
