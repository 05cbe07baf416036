/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sum: where all cycles of a program went, by cause: figure 4 over every procedure. dcpi-1997 section 3. */
#include "analysis/culprit/evidence/evidence_model.h"
#include "cli/command/time_range.h"
#include "cli/procedure/finish_ahead.h"
#include "cli/procedure/sum_tables.h"
#include "cli/profile/ask_debuginfod.h"

#include "cli/profile/more_evidence.h"
#include "cli/profile/profile.h"
#include "store/base/order.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Procedures with fewer samples than this have too little to divide among causes. */
#define SAMPLES_MIN 10
/* Of functions with fewer, where these have most of the time, so many say what the model has of such code. */
#define POOLED_MAX 300
/* What is begun of procedures and kept until each is finished; the others are begun again. */
#define BEGUN_BYTES_MAX (160u << 20)
/* Images whose procedures are begun while those of another are finished. */
#define IMAGES_AHEAD 4

struct sum_work {
    const struct parsed *args;
    struct profile *profile;
    const struct profile_rows *rows;
    struct sum_tally *tally;
    const struct cs_edge_flow *flow;
    bool *pooled; /* of each row */
    double pooled_samples;
    struct cs_culprit_values values;
    uint64_t n_explained;
    size_t begun_bytes;
    struct cs_scheduler *scheduler; /* the last that was opened: it and the next share calls of the model */
    struct cs_experiments *experiments; /* of all images, from the first on that is code of this machine */
};

struct open_image {
    const struct profile_image *image; /* NULL = nothing open */
    struct cs_image_code *code;
    struct cs_culprit_evidence *evidence;
    struct cs_scheduler *scheduler;
    bool usable;
    size_t *row; /* those that are explained */
    size_t n_rows;
    struct cs_cycle_account_begun **begun; /* of each; NULL: it will be opened whole */
};

static void close_image(struct sum_work *w, struct open_image *o)
{
    if (w->scheduler == o->scheduler)
        w->scheduler = NULL;
    for (size_t i = 0; o->begun && i < o->n_rows; i++)
        cs_cycle_account_drop(o->begun[i]);
    cs_scheduler_close(o->scheduler);
    cs_culprit_evidence_close(o->evidence);
    if (o->code)
        cs_image_close(o->code);
    free(o->row);
    free(o->begun);
    *o = (struct open_image){0};
}

static int open_image(struct sum_work *w, struct open_image *o, struct cs_error *err)
{
    const struct cs_store_image *image = &o->image->image;
    int rc = cs_image_open(image, w->profile->store, &o->code, err);
    if (rc)
        return rc;
    o->usable = !*cs_image_trouble(o->code) && cs_image_isa(o->code) != CS_ISA_NONE;
    if (!o->usable)
        return 0;
    rc = cs_culprit_evidence_open(w->profile->store, w->flow, image->id, option(w->args, "event"),
                                  &o->evidence, err);
    if (rc == 0) {
        o->evidence->path_samples = CS_MODEL_PATH_SHARE * w->tally->samples;
        o->evidence->values = w->values;
        if (!w->experiments)
            w->experiments = calc_experiments(w->args, cs_image_isa(o->code), &o->evidence->machine,
                                              o->evidence->machine_recorded);
        o->evidence->experiments = w->experiments;
    }
    return rc ? rc
              : calc_scheduler(w->args, cs_image_isa(o->code), &o->evidence->machine, image->id,
                               &o->scheduler, err);
}

static void remember(struct sum_tally *t, const struct cs_cycle_account *a, const struct profile_row *row,
                     struct cs_image_code *code, const struct cs_culprit_evidence *evidence)
{
    char text[1200];
    const struct cs_culprit_verdict verdict = procedure_verdict(a, code);
    const enum verdict_lack lack =
        verdict.enough ? VERDICT_NONE : verdict_sentence(&verdict, evidence, t->samples, text, sizeof text);
    t->n_thin += lack == VERDICT_THIN;
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
    const struct worst_cause worst = worst_cause(a);
    if (verdict.enough)
        cause_sentence(&worst, code, text, sizeof text);
    h->name = strdup(row->name);
    h->image = strdup(image_name(&row->image->image));
    h->sentence = strdup(text);
    h->samples = a->summary.total;
    h->actual_cpi = summary_cpi(&a->summary, &h->best_cpi);
    h->enough = verdict.enough;
    h->lack = lack;
    h->bursts = verdict.bursts;
    h->first = verdict.first; /* what nothing explains included, as calc's sentence has it */
    h->first_share = verdict.first_share;
}

/* What is done with a row: NULL where it is explained, else the samples that it is counted among. */
static double *unexplained(struct sum_tally *t, const struct profile_row *row, double samples)
{
    enum cs_store_image_kind kind = row->image->image.kind;
    if (kind == CS_IMAGE_KERNEL || kind == CS_IMAGE_MODULE)
        return &t->kernel;
    if (!row->readable)
        return kind == CS_IMAGE_UNKNOWN ? &t->unknown : &t->opaque;
    return samples < SAMPLES_MIN ? &t->small : NULL;
}

/* What the model has of code that bursts saw run, in their unit of executions, which is that of all functions. */
static void add_model(struct sum_tally *t, const struct cs_cycle_account *a, double times)
{
    for (uint32_t b = 0; a->frequencies && b < a->cfg->n_blocks; b++)
        if (a->blocks[b].visits > 0 && a->blocks[b].best >= 0) {
            t->model_cycles += times * a->blocks[b].visits * a->blocks[b].best;
            t->model_operations += times * a->blocks[b].visits * a->blocks[b].operations;
        }
}

static void add_account(const struct sum_work *w, const struct open_image *o, size_t k,
                        const struct cs_cycle_account *a)
{
    struct sum_tally *t = w->tally;
    const struct profile_row *row = &w->rows->row[k];
    add_model(t, a, w->pooled[k] ? t->small / w->pooled_samples : 1);
    if (w->pooled[k])
        return;
    summary_add(&t->all, &a->summary);
    double hz = o->evidence->machine.core_hz;
    if (hz > 0)
        t->ms_a_sample = 1e3 * o->evidence->cycles_a_sample / hz;
    remember(t, a, row, o->code, o->evidence);
    t->n_procedures++;
    t->n_fitted += a->scale_fitted;
    t->n_blind += !a->frequencies;
}

static void begin(struct sum_work *w, struct open_image *o, size_t k)
{
    struct cs_error ignored = {0};
    const struct cs_image_procedure *procedure =
        cs_image_procedure_at(o->code, w->rows->row[o->row[k]].start);
    struct cs_cycle_account_begun *begun;
    if (!procedure || cs_cycle_account_begin(o->code, procedure, o->evidence, o->scheduler, &begun, &ignored))
        return;
    size_t bytes = cs_cycle_account_begun_bytes(begun);
    if (w->begun_bytes + bytes > BEGUN_BYTES_MAX) {
        cs_cycle_account_drop(begun);
        return;
    }
    o->begun[k] = begun;
    w->begun_bytes += bytes;
}

static bool explained(const struct sum_work *w, const struct profile_row *row)
{
    return w->pooled[row - w->rows->row] ||
           (row->image && !unexplained(w->tally, row, (double)row->samples[w->profile->main_event]));
}

/* Begins those of the rows from `first` on that are of its image. The static cycles that they will ask for are told to
 * the model. */
static int begin_image(struct sum_work *w, size_t first, struct open_image *o, struct cs_error *err)
{
    const struct profile_rows *rows = w->rows;
    *o = (struct open_image){.image = rows->row[first].image};
    for (size_t k = first; k < rows->n; k++)
        o->n_rows += rows->row[k].image == o->image && explained(w, &rows->row[k]);
    o->row = calloc(o->n_rows, sizeof *o->row);
    o->begun = calloc(o->n_rows, sizeof(*o->begun));
    if (!o->row || !o->begun)
        return cs_fail(err, ENOMEM, "no memory");
    for (size_t k = first, n = 0; k < rows->n; k++)
        if (rows->row[k].image == o->image && explained(w, &rows->row[k]))
            o->row[n++] = k;
    int rc = open_image(w, o, err);
    if (rc == 0 && o->usable && w->scheduler)
        cs_scheduler_join(o->scheduler, w->scheduler);
    if (rc == 0 && o->usable)
        w->scheduler = o->scheduler;
    for (size_t k = 0; k < o->n_rows && rc == 0 && o->usable; k++)
        begin(w, o, k);
    return rc;
}

static int open_account(const struct open_image *o, const struct profile_row *row,
                        struct cs_cycle_account **a)
{
    struct cs_error ignored = {0};
    const struct cs_image_procedure *procedure =
        o->usable ? cs_image_procedure_at(o->code, row->start) : NULL;
    return procedure ? cs_cycle_account_open(o->code, procedure, o->evidence, o->scheduler, NULL, a, &ignored)
                     : -1;
}

static int finish_image(struct sum_work *w, struct open_image *o, struct progress *bar, uint64_t *done,
                        struct cs_error *err)
{
    struct finish_ahead *finishing = NULL;
    for (size_t k = 0; k < o->n_rows; k++)
        w->begun_bytes -= o->begun[k] ? cs_cycle_account_begun_bytes(o->begun[k]) : 0;
    int rc = finish_ahead_open(&finishing, o->begun, o->n_rows, err);
    if (rc)
        return rc;
    free(o->begun); /* it has them */
    o->begun = NULL;
    for (size_t k = 0; k < o->n_rows; k++) {
        const struct profile_row *row = &w->rows->row[o->row[k]];
        struct cs_cycle_account *a = NULL;
        rc = finish_ahead_take(finishing, k, &a);
        if (rc == -ENOENT)
            rc = open_account(o, row, &a);
        if (rc == 0)
            add_account(w, o, o->row[k], a);
        else if (!w->pooled[o->row[k]])
            w->tally->opaque += (double)row->samples[w->profile->main_event];
        cs_cycle_account_close(a);
        progress_step(bar, ++*done);
    }
    finish_ahead_close(finishing);
    return 0;
}

/* Rows come hottest first, images mixed: each image is opened once, some ahead of the one whose procedures are
 * finished, so that the model's answers are there when it is their turn. */
static int take_images(struct sum_work *w, const size_t *first, size_t n, struct cs_error *err)
{
    struct open_image opened[IMAGES_AHEAD + 1] = {0};
    struct progress bar;
    uint64_t done = 0;
    size_t begun = 0;
    int rc = 0;
    progress_init(&bar, "explaining", "functions", w->n_explained);
    for (size_t i = 0; i < n && rc == 0; i++) {
        for (; begun < n && begun <= i + IMAGES_AHEAD && rc == 0; begun++)
            rc = begin_image(w, first[begun], &opened[begun % (IMAGES_AHEAD + 1)], err);
        if (rc == 0 && w->scheduler)
            cs_scheduler_ahead_run(w->scheduler);
        if (rc == 0)
            rc = finish_image(w, &opened[i % (IMAGES_AHEAD + 1)], &bar, &done, err);
        close_image(w, &opened[i % (IMAGES_AHEAD + 1)]);
    }
    progress_fini(&bar);
    for (size_t i = 0; i <= IMAGES_AHEAD; i++)
        close_image(w, &opened[i]);
    return rc;
}

/* Where functions with few samples have a third of the time or more: some of them, evenly over all. */
static void choose_pooled(struct sum_work *w, size_t n_small, double explained)
{
    const size_t each = (n_small + POOLED_MAX - 1) / POOLED_MAX;
    w->tally->flat = w->tally->small > explained / 2;
    for (size_t i = 0, k = 0; w->tally->flat && i < w->rows->n; i++) {
        const struct profile_row *row = &w->rows->row[i];
        double samples = (double)row->samples[w->profile->main_event];
        if (!row->image || unexplained(w->tally, row, samples) != &w->tally->small || samples <= 0 ||
            k++ % each)
            continue;
        w->pooled[i] = true;
        w->pooled_samples += samples;
        w->n_explained++;
    }
}

static int measure_flat(const struct sum_work *w, struct cs_error *err)
{
    struct sum_tally *t = w->tally;
    struct cs_machine machine;
    bool recorded;
    int rc = cs_culprit_evidence_machine(w->profile->store, &machine, &recorded, err);
    if (rc == 0)
        rc = cs_flat_measure(w->profile->store, w->flow, &machine, &t->flat_facts, err);
    if (rc)
        return rc;
    t->flat_facts.model_cycles = t->model_operations > 0 ? t->model_cycles / t->model_operations : 0;
    t->flat_verdict = cs_flat_verdict(&t->flat_facts, &machine);
    return 0;
}

static int take_all(const struct parsed *args, struct profile *p, struct profile_rows *rows,
                    struct sum_tally *t, struct cs_error *err)
{
    struct sum_work w = {.args = args, .profile = p, .rows = rows, .tally = t};
    size_t n_small = 0;
    double explained_samples = 0;
    struct cs_edge_flow *flow = NULL;
    size_t n = 0, *first = calloc(rows->n + 1, sizeof *first);
    bool *left = calloc(p->n_images + 1, sizeof *left); /* images with procedures that aren't begun */
    w.pooled = calloc(rows->n + 1, sizeof *w.pooled);
    int rc = first && left && w.pooled ? profile_edge_flow(p, &flow, err) : cs_fail(err, ENOMEM, "no memory");
    if (rc == 0)
        rc = cs_culprit_values(p->store, &w.values, err);
    for (size_t i = 0; i < rows->n && rc == 0; i++) {
        const struct profile_row *row = &rows->row[i];
        double samples = (double)row->samples[p->main_event];
        double *among = row->image ? unexplained(t, row, samples) : NULL;
        if (among)
            *among += samples;
        n_small += among == &t->small && samples > 0;
        if (!row->image || among)
            continue;
        explained_samples += samples;
        w.n_explained++;
    }
    if (rc == 0)
        choose_pooled(&w, n_small, explained_samples);
    for (size_t i = 0; i < rows->n && rc == 0; i++)
        if (explained(&w, &rows->row[i]))
            left[rows->row[i].image - p->images] = true;
    for (size_t i = 0; i < rows->n && rc == 0; i++) {
        const struct profile_image *image = rows->row[i].image;
        if (!image || !left[image - p->images])
            continue;
        left[image - p->images] = false;
        first[n++] = i;
    }
    w.flow = flow;
    if (rc == 0)
        rc = take_images(&w, first, n, err);
    if (rc == 0 && t->flat)
        rc = measure_flat(&w, err);
    cs_edge_flow_close(flow);
    cs_experiments_close(w.experiments);
    free(w.pooled);
    free(first);
    free(left);
    return rc;
}

CS_ORDER(by_samples, struct sum_procedure, cs_order(b->samples, a->samples))

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
    cs_sort(t->hot, t->n_hot, by_samples);
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
        return usage_error("sum takes no operand; calc explains one function");
    int rc = tally(args, recording_asked(args), &t, &err);
    if (rc == 0 && against)
        rc = tally(args, against, &other, &err);
    if (rc == 0) {
        struct output *out = output_open(args);
        if (against && (t.n_blind || other.n_blind))
            output_note(out,
                        "No burst saw %u function%s of this recording and %u of the other. Where bursts saw "
                        "only one of them, that by itself can make causes differ.",
                        t.n_blind, plural(t.n_blind), other.n_blind);
        if (against && (t.n_thin || other.n_thin))
            output_note(out,
                        "Too few bursts saw %u of %u function%s of this recording and %u of %u of the other "
                        "to name a cause. A difference in causes may come from that.",
                        t.n_thin, t.n_procedures, plural(t.n_procedures), other.n_thin, other.n_procedures);
        if (against) {
            summary_compare(out, &t.all, t.ms_a_sample, &other.all, other.ms_a_sample);
            if (t.n_hot)
                output_next(out, args, "next:", "calc", t.hot[0].name, "");
        } else {
            sum_print(args, out, &t);
        }
        rc = output_close(out);
    } else {
        rc = failed(&err);
    }
    tally_fini(&t);
    tally_fini(&other);
    return rc;
}

static const struct option_entry options[] = {
    OPTIONS_WHAT,
    {"beside", 0, "EPOCH", "a second recording (a name, -2, ...): show the difference in time by cause"},
    OPTION_ALL,
    OPTION_CPU,
    OPTION_NO_EXPERIMENTS,
    OPTION_STORE,
    {NULL, 0, NULL, NULL},
};

const struct command command_sum = {
    "sum",
    "",
    "where all cycles of a program went, by cause",
    "Explains every function that has samples as calc does, and adds up each dynamic and static cause with "
    "its range, unexplained stalls and execution. The rows add up to all samples explained.",
    options,
    run,
};
