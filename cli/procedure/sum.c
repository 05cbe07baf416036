/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sum: where all cycles of a program went, by cause: figure 4 over every procedure. dcpi-1997 section 3. */
#include "analysis/culprit/model.h"
#include "cli/procedure/sum_tables.h"
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
/* What is begun of procedures and kept until each is finished; the others are begun again. */
#define BEGUN_BYTES_MAX (128u << 20)

struct open_image {
    const struct cs_edge_flow *flow;
    double path_samples;               /* see cs_culprit_evidence */
    const struct profile_image *image; /* NULL = nothing open */
    struct cs_image_code *code;
    struct cs_culprit_evidence *evidence;
    struct cs_scheduler *scheduler;
    bool usable;
    struct cs_cycle_account_begun **begun; /* by row; all of the image that is open */
    size_t n_begun, begun_bytes;
};

static void close_image(struct open_image *o)
{
    for (size_t i = 0; o->begun_bytes && i < o->n_begun; i++) {
        cs_cycle_account_drop(o->begun[i]);
        o->begun[i] = NULL;
    }
    cs_scheduler_close(o->scheduler);
    cs_culprit_evidence_close(o->evidence);
    if (o->code)
        cs_image_close(o->code);
    *o = (struct open_image){
        .flow = o->flow, .path_samples = o->path_samples, .begun = o->begun, .n_begun = o->n_begun};
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

static void remember(struct sum_tally *t, const struct cs_cycle_account *a, const struct profile_row *row,
                     struct cs_image_code *code, double cpu_seconds)
{
    struct sum_procedure *h = &t->hot[t->n_hot];
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
static double *unexplained(struct sum_tally *t, const struct profile_row *row, double samples)
{
    enum cs_store_image_kind kind = row->image->image.kind;
    if (kind == CS_IMAGE_KERNEL || kind == CS_IMAGE_MODULE)
        return &t->kernel;
    if (kind != CS_IMAGE_ELF || !row->name)
        return kind == CS_IMAGE_UNKNOWN ? &t->unknown : &t->opaque;
    return samples < SAMPLES_MIN ? &t->small : NULL;
}

static int account_of(struct open_image *o, const struct profile_row *row, size_t i,
                      struct cs_cycle_account **out)
{
    struct cs_error ignored = {0};
    struct cs_cycle_account_begun *begun = o->begun[i];
    o->begun[i] = NULL;
    if (begun) {
        o->begun_bytes -= cs_cycle_account_begun_bytes(begun);
        return cs_cycle_account_finish(begun, out, &ignored);
    }
    const struct cs_image_procedure *procedure =
        o->usable ? cs_image_procedure_at(o->code, row->start) : NULL;
    return procedure
               ? cs_cycle_account_open(o->code, procedure, o->evidence, o->scheduler, NULL, out, &ignored)
               : -1;
}

static int take_row(const struct parsed *args, struct profile *p, const struct profile_rows *rows, size_t i,
                    struct open_image *o, struct sum_tally *t, struct cs_error *err)
{
    const struct profile_row *row = &rows->row[i];
    double samples = (double)row->samples[p->main_event], *among = unexplained(t, row, samples);
    if (among) {
        *among += samples;
        return 0;
    }
    int rc = open_image(args, p, row->image, o, err);
    if (rc)
        return rc;
    struct cs_cycle_account *a = NULL;
    if (account_of(o, row, i, &a)) {
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

static void begin(struct open_image *o, const struct cs_image_procedure *procedure, size_t i)
{
    struct cs_error ignored = {0};
    struct cs_cycle_account_begun *begun;
    if (cs_cycle_account_begin(o->code, procedure, o->evidence, o->scheduler, &begun, &ignored))
        return;
    size_t bytes = cs_cycle_account_begun_bytes(begun);
    if (o->begun_bytes + bytes > BEGUN_BYTES_MAX) {
        cs_cycle_account_drop(begun);
        return;
    }
    o->begun[i] = begun;
    o->begun_bytes += bytes;
}

/* The static cycles that its procedures will ask for, in a few large questions. */
static int look_ahead(const struct parsed *args, struct profile *p, const struct profile_rows *rows,
                      size_t first, struct open_image *o, struct sum_tally *t, struct cs_error *err)
{
    const struct profile_image *image = rows->row[first].image;
    for (size_t k = first; k < rows->n; k++) {
        const struct profile_row *row = &rows->row[k];
        if (row->image != image || unexplained(t, row, (double)row->samples[p->main_event]))
            continue;
        int rc = open_image(args, p, image, o, err);
        if (rc || !o->usable)
            return rc;
        const struct cs_image_procedure *procedure = cs_image_procedure_at(o->code, row->start);
        if (procedure && !o->begun[k])
            begin(o, procedure, k);
    }
    if (o->image == image && o->usable)
        cs_scheduler_ahead_run(o->scheduler);
    return 0;
}

/* Rows come hottest first, images mixed: go image by image, so that each is opened once. */
static int take_all(const struct parsed *args, struct profile *p, struct profile_rows *rows,
                    struct sum_tally *t, struct cs_error *err)
{
    struct open_image o = {.path_samples = CS_MODEL_PATH_SHARE * t->samples, .n_begun = rows->n};
    struct cs_edge_flow *flow = NULL;
    struct progress bar;
    uint64_t done = 0;
    int rc = profile_edge_flow(p, &flow, err);
    if (rc)
        return rc;
    o.flow = flow;
    bool *taken = calloc(rows->n + 1, sizeof *taken);
    o.begun = calloc(rows->n + 1, sizeof(*o.begun));
    if (!taken || !o.begun)
        rc = cs_fail(err, 12, "no memory");
    progress_init(&bar, "explaining", "procedures", rows->n);
    for (size_t i = 0; i < rows->n && rc == 0; i++) {
        if (!taken[i] && rows->row[i].image)
            rc = look_ahead(args, p, rows, i, &o, t, err);
        for (size_t k = i; k < rows->n && rc == 0; k++) {
            if (taken[k] || rows->row[k].image != rows->row[i].image)
                continue;
            taken[k] = true;
            if (rows->row[k].image)
                rc = take_row(args, p, rows, k, &o, t, err);
            progress_step(&bar, ++done);
        }
    }
    progress_fini(&bar);
    close_image(&o);
    cs_edge_flow_close(flow);
    free(o.begun);
    free(taken);
    return rc;
}

static int by_samples(const void *p, const void *q)
{
    double x = ((const struct sum_procedure *)p)->samples, y = ((const struct sum_procedure *)q)->samples;
    return (x < y) - (x > y);
}

/* Explains all of one recording. */
static int tally(const struct parsed *args, const char *epoch, struct sum_tally *t, struct cs_error *err)
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

static void tally_fini(struct sum_tally *t)
{
    for (unsigned i = 0; i < t->n_hot; i++) {
        free(t->hot[i].name);
        free(t->hot[i].image);
        free(t->hot[i].sentence);
    }
}

static int run(const struct parsed *args)
{
    struct cs_error err = {0};
    struct sum_tally t = {0}, other = {0};
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
            sum_print(args, out, &t);
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
