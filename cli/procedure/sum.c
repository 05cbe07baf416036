/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sum: where all cycles of a program went, by cause: figure 4 over every procedure. dcpi-1997 section 3. */
#include "analysis/culprit/model.h"
#include "cli/procedure/calc.h"
#include "cli/profile/ask_debuginfod.h"

#include "cli/profile/more_evidence.h"
#include "cli/profile/profile.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Procedures with fewer samples than this have too little to divide among causes. */
#define SAMPLES_MIN 10

struct open_image {
    const struct cs_edge_flow *flow;
    double path_samples;               /* see cs_culprit_evidence */
    const struct profile_image *image; /* NULL = nothing open */
    struct cs_image_code *code;
    struct cs_culprit_evidence *evidence;
    struct cs_scheduler *scheduler;
    bool usable;
};

struct hot {
    double best_cpi, actual_cpi; /* NAN: not known */
    char *name, *image, *sentence;
    double samples, bursts;
    bool enough; /* evidence for the first cause */
    double misfit;
    enum cs_culprit_cause first;
    double first_share;
};

struct tally {
    struct cs_cycle_account_summary all;
    double samples;                        /* of all rows */
    double kernel, unknown, small, opaque; /* samples that are not explained, by why */
    struct hot hot[10];
    unsigned n_hot;
    unsigned n_procedures, n_fitted, n_blind, n_thin;
    double ms_a_sample; /* 0: not known */
    const char *remedy; /* where no burst saw a procedure */
};

static void close_image(struct open_image *o)
{
    cs_scheduler_close(o->scheduler);
    cs_culprit_evidence_close(o->evidence);
    if (o->code)
        cs_image_close(o->code);
    *o = (struct open_image){.flow = o->flow, .path_samples = o->path_samples};
}

static int open_image(const struct parsed *args, struct profile *p, const struct profile_image *image,
                      struct open_image *o, struct cs_error *err)
{
    if (o->image == image)
        return 0;
    close_image(o);
    o->image = image;
    int rc = cs_image_open(&image->image, p->store, &o->code, err);
    if (rc)
        return rc;
    o->usable = !*cs_image_trouble(o->code) && cs_image_isa(o->code) != CS_ISA_NONE;
    if (!o->usable)
        return 0;
    rc = cs_culprit_evidence_open(p->store, o->flow, image->image.id, option(args, "event"), &o->evidence,
                                  err);
    if (rc == 0)
        o->evidence->path_samples = o->path_samples;
    return rc ? rc
              : calc_scheduler(args, cs_image_isa(o->code), &o->evidence->machine, image->image.id,
                               &o->scheduler, err);
}

static void remember(struct tally *t, const struct cs_cycle_account *a, const struct profile_row *row,
                     struct cs_image_code *code, double cpu_seconds)
{
    struct hot *h = &t->hot[t->n_hot];
    if (t->n_hot < sizeof t->hot / sizeof t->hot[0]) {
        t->n_hot++;
    } else { /* images come one after the other: the coldest so far makes room */
        h = &t->hot[0];
        for (unsigned i = 1; i < t->n_hot; i++)
            if (t->hot[i].samples < h->samples)
                h = &t->hot[i];
        if (h->samples >= a->summary.total)
            return;
        free(h->name);
        free(h->image);
        free(h->sentence);
    }
    char text[1200];
    struct worst_cause worst = worst_cause(a);
    struct cs_culprit_verdict verdict = procedure_verdict(a, code);
    if (verdict.enough)
        cause_sentence(&worst, code, text, sizeof text);
    else
        verdict_sentence(&verdict, cpu_seconds, text, sizeof text);
    t->n_thin += !verdict.enough && verdict.misfit <= MISFIT_MAX;
    h->name = strdup(row->name);
    h->image = strdup(image_name(&row->image->image));
    h->sentence = strdup(text);
    h->samples = a->summary.total;
    h->actual_cpi = summary_cpi(&a->summary, &h->best_cpi);
    h->enough = verdict.enough;
    h->bursts = verdict.bursts;
    h->first = verdict.first; /* what nothing explains included, as calc's sentence has it */
    h->first_share = verdict.first_share;
    h->misfit = verdict.misfit;
}

/* What is done with a row: NULL where it is explained, else the samples that it is counted among. */
static double *unexplained(struct tally *t, const struct profile_row *row, double samples)
{
    enum cs_store_image_kind kind = row->image->image.kind;
    if (kind == CS_IMAGE_KERNEL || kind == CS_IMAGE_MODULE)
        return &t->kernel;
    if (kind != CS_IMAGE_ELF || !row->name)
        return kind == CS_IMAGE_UNKNOWN ? &t->unknown : &t->opaque;
    return samples < SAMPLES_MIN ? &t->small : NULL;
}

static int take_row(const struct parsed *args, struct profile *p, const struct profile_row *row,
                    struct open_image *o, struct tally *t, struct cs_error *err)
{
    double samples = (double)row->samples[p->main_event], *among = unexplained(t, row, samples);
    if (among) {
        *among += samples;
        return 0;
    }
    int rc = open_image(args, p, row->image, o, err);
    if (rc)
        return rc;
    const struct cs_image_procedure *procedure =
        o->usable ? cs_image_procedure_at(o->code, row->start) : NULL;
    struct cs_cycle_account *a = NULL;
    struct cs_error why = {0};
    if (!procedure || cs_cycle_account_open(o->code, procedure, o->evidence, o->scheduler, NULL, &a, &why)) {
        t->opaque += samples;
        return 0;
    }
    summary_add(&t->all, &a->summary);
    double hz = o->evidence->machine.core_hz;
    if (hz > 0)
        t->ms_a_sample = 1e3 * o->evidence->cycles_a_sample / hz;
    remember(t, a, row, o->code, hz > 0 ? t->samples * o->evidence->cycles_a_sample / hz : 0);
    t->n_procedures++;
    t->n_fitted += a->scale_fitted;
    t->n_blind += !a->frequencies;
    cs_cycle_account_close(a);
    return 0;
}

/* The static cycles that its procedures will ask for, in a few large questions. */
static int look_ahead(const struct parsed *args, struct profile *p, const struct profile_rows *rows,
                      size_t first, struct open_image *o, struct tally *t, struct cs_error *err)
{
    const struct profile_image *image = rows->row[first].image;
    struct cs_error ignored = {0};
    for (size_t k = first; k < rows->n; k++) {
        const struct profile_row *row = &rows->row[k];
        if (row->image != image || unexplained(t, row, (double)row->samples[p->main_event]))
            continue;
        int rc = open_image(args, p, image, o, err);
        if (rc || !o->usable)
            return rc;
        const struct cs_image_procedure *procedure = cs_image_procedure_at(o->code, row->start);
        if (procedure)
            (void)cs_cycle_account_ahead(o->code, procedure, o->evidence, o->scheduler, &ignored);
    }
    if (o->image == image && o->usable)
        cs_scheduler_ahead_run(o->scheduler);
    return 0;
}

/* Rows come hottest first, images mixed: go image by image, so that each is opened once. */
static int take_all(const struct parsed *args, struct profile *p, struct profile_rows *rows, struct tally *t,
                    struct cs_error *err)
{
    struct open_image o = {.path_samples = CS_MODEL_PATH_SHARE * t->samples};
    struct cs_edge_flow *flow = NULL;
    struct progress bar;
    uint64_t done = 0;
    int rc = profile_edge_flow(p, &flow, err);
    if (rc)
        return rc;
    o.flow = flow;
    bool *taken = calloc(rows->n + 1, sizeof *taken);
    if (!taken)
        return cs_fail(err, 12, "no memory");
    progress_init(&bar, "explaining", "procedures", rows->n);
    for (size_t i = 0; i < rows->n && rc == 0; i++) {
        if (!taken[i] && rows->row[i].image)
            rc = look_ahead(args, p, rows, i, &o, t, err);
        for (size_t k = i; k < rows->n && rc == 0; k++) {
            if (taken[k] || rows->row[k].image != rows->row[i].image)
                continue;
            taken[k] = true;
            if (rows->row[k].image)
                rc = take_row(args, p, &rows->row[k], &o, t, err);
            progress_step(&bar, ++done);
        }
    }
    progress_fini(&bar);
    close_image(&o);
    cs_edge_flow_close(flow);
    free(taken);
    return rc;
}

static void print_rest(struct output *out, const struct tally *t)
{
    const struct {
        const char *what, *key;
        double samples;
    } rest[] = {
        {"in the kernel", "kernel", t->kernel},
        {"that could not be placed", "unknown", t->unknown},
        {"in code without bytes or names", "opaque", t->opaque},
        {"in procedures with few samples", "small", t->small},
    };
    for (size_t i = 0; i < sizeof rest / sizeof rest[0]; i++) {
        if (rest[i].samples > 0)
            output_line(out, "*** and %.0f sample%s %s", rest[i].samples, plural(rest[i].samples),
                        rest[i].what);
        output_set(out, rest[i].key, json_real(rest[i].samples));
    }
}

static void print_hot(struct output *out, const struct tally *t)
{
    static const struct column columns[] = {
        {.key = "samples", .head = "samples", .kind = COLUMN_COUNT},
        {.key = "percent", .head = "%", .kind = COLUMN_SHARE},
        {.key = "best_cpi", .head = "best CPI", .kind = COLUMN_NUMBER, .digits = 2},
        {.key = "actual_cpi", .head = "CPI", .kind = COLUMN_NUMBER, .digits = 2},
        {.key = "first", .head = "first cause", .kind = COLUMN_TEXT},
        {.key = "first_percent", .head = "% of it", .kind = COLUMN_SHARE},
        {.key = "procedure", .head = "procedure", .kind = COLUMN_TEXT, .elastic = true},
        {.key = "image", .head = "image", .kind = COLUMN_TEXT, .elastic = true},
        {.key = "sentence", .kind = COLUMN_TEXT},
    };
    struct table *table = output_table(out, "procedures", columns, sizeof columns / sizeof *columns);
    for (unsigned i = 0; i < t->n_hot; i++) {
        const struct hot *h = &t->hot[i];
        char name[1024], brief[1024];
        table_count(table, (uint64_t)h->samples);
        table_number(table, t->all.total > 0 ? 100 * h->samples / t->all.total : 0);
        table_number(table, h->best_cpi);
        table_number(table, h->actual_cpi);
        table_text(table, h->misfit > MISFIT_MAX   ? "the model doesn't fit"
                          : !h->enough             ? "too few bursts"
                          : h->first < CS_N_CAUSES ? cs_culprit_cause_names[h->first].words
                          : h->first_share > 0     ? "unexplained stall"
                                                   : "none");
        table_number(table, h->enough ? 100 * h->first_share : (double)NAN);
        table_names(table, cs_image_demangle(h->name, name, sizeof name),
                    cs_image_short_name(h->name, brief, sizeof brief));
        table_text(table, h->image);
        table_text(table, h->sentence);
    }
}

static int by_samples(const void *p, const void *q)
{
    double x = ((const struct hot *)p)->samples, y = ((const struct hot *)q)->samples;
    return (x < y) - (x > y);
}

/* Explains all of one recording. */
static int tally(const struct parsed *args, const char *epoch, struct tally *t, struct cs_error *err)
{
    struct profile p;
    struct profile_rows rows;
    const struct profile_filter filter = {
        .image = option(args, "image"), .epoch = epoch, .main_event = option(args, "event")};
    int rc = profile_open(&p, store_location(args), &filter, err);
    if (rc)
        return rc;
    rc = profile_needs_code(&p, err);
    if (rc == 0)
        ask_debuginfod(&p);
    if (rc == 0)
        rc = profile_sum(&p, BY_PROCEDURE, &rows, err);
    if (rc == 0) {
        t->samples = (double)rows.total[p.main_event];
        rc = take_all(args, &p, &rows, t, err);
        profile_rows_fini(&rows);
    }
    t->remedy = more_evidence(p.store);
    profile_close(&p);
    qsort(t->hot, t->n_hot, sizeof t->hot[0], by_samples);
    return rc;
}

static void tally_fini(struct tally *t)
{
    for (unsigned i = 0; i < t->n_hot; i++) {
        free(t->hot[i].name);
        free(t->hot[i].image);
        free(t->hot[i].sentence);
    }
}

static void print_notes(struct output *out, const struct tally *t)
{
    if (t->n_blind)
        output_note(out,
                    "No burst saw %u of %u procedure%s: their suspects are cleared by the program's text "
                    "alone (%s)",
                    t->n_blind, t->n_procedures, plural(t->n_procedures), t->remedy);
    if (t->n_thin)
        output_note(out,
                    "Too few bursts saw %u of %u procedure%s to name a cause (record longer, or with "
                    "a higher --burst-rate; calc PROCEDURE says how much)",
                    t->n_thin, t->n_procedures, plural(t->n_procedures));
}

static void print_tally(const struct parsed *args, struct output *out, const struct tally *t)
{
    output_line(out, "*** %u procedure%s, %.0f sample%s explained", t->n_procedures, plural(t->n_procedures),
                t->all.total, plural(t->all.total));
    print_rest(out, t);
    print_notes(out, t);
    summary_print(out, &t->all, option_given(args, "all"));
    output_line(out, "%s", "");
    if (t->n_hot || output_form(out) != OUTPUT_TEXT)
        print_hot(out, t);
    else
        output_note(out,
                    "No procedure has samples enough and code that can be read: there is nothing to add up "
                    "(cyclescope prof shows what there is)");
    if (t->n_hot)
        output_next(out, args, "next:", "calc", t->hot[0].name, "");
    output_set(out, "summary", summary_json(&t->all));
}

static int run(const struct parsed *args)
{
    struct cs_error err = {0};
    struct tally t = {0}, other = {0};
    const char *against = option(args, "beside");
    if (operand_count(args) > 0)
        return usage_error("sum takes no operand; calc explains one procedure");
    int rc = tally(args, option(args, "epoch"), &t, &err);
    if (rc == 0 && against)
        rc = tally(args, against, &other, &err);
    if (rc == 0) {
        struct output *out = output_open(args);
        if (against && (t.n_blind || other.n_blind))
            output_note(
                out,
                "No burst saw %u procedure%s of this recording and %u of the other: where only one was seen "
                "causes differ by that, too.",
                t.n_blind, plural(t.n_blind), other.n_blind);
        if (against && (t.n_thin || other.n_thin))
            output_note(out,
                        "Too few bursts saw %u of %u procedure%s of this recording and %u of %u of the other "
                        "to name a cause: a difference in causes may be theirs.",
                        t.n_thin, t.n_procedures, plural(t.n_procedures), other.n_thin, other.n_procedures);
        if (against)
            summary_compare(out, &t.all, t.ms_a_sample, &other.all, other.ms_a_sample);
        else
            print_tally(args, out, &t);
        rc = output_close(out);
    } else {
        rc = failed(&err);
    }
    tally_fini(&t);
    tally_fini(&other);
    return rc;
}

static const struct option_entry options[] = {
    OPTION_EVENT,
    OPTION_IMAGE,
    OPTION_EPOCH,
    {"beside", 0, "EPOCH",
     "a second recording (a name, -2, ...): which causes the difference in time is made of"},
    OPTION_ALL,
    OPTION_CPU,
    OPTION_STORE,
    {NULL, 0, NULL, NULL},
};

extern const struct command command_sum;
const struct command command_sum = {
    "sum",
    "",
    "where all cycles of a program went, by cause",
    "Explains every procedure that has samples as calc does, and adds up: each dynamic and static cause with "
    "its range, "
    "what stays unexplained, execution. The rows add up to all samples explained.",
    options,
    run,
};
