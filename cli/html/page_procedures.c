/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The page's table of procedures, and the annotated source, instructions and culprits of the hottest ones. */
#include "cli/command/figures.h"
#include "cli/html/page.h"
#include "cli/html/page_images.h"
#include "cli/procedure/calc.h"
#include "cli/profile/lines/annotate.h"
#include "store/base/clock.h"
#include "store/base/order.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LINES_MAX 3000
#define INSNS_MAX 4000
#define ROWS_MAX 20000u     /* of the table: the rest is counted */
#define TEXT_ROWS_MAX 60000 /* lines and instructions of all details: some 6 MB */
#define CONTEXT 4
#define EXPLAIN_SECONDS                                                                                      \
    5.0 /* then the remaining procedures get no culprits: a page is built in under ten                       \
         */

#define DRAW_SECONDS 0.7 /* spent on graphs: the others get none */

struct subject {
    struct profile *profile;
    const struct profile_row *row;
    struct cs_image_code *code;
    const struct annotation *a;
    unsigned event;
};

static uint64_t of_event(const uint64_t *samples, unsigned event)
{
    return samples ? samples[event] : 0;
}

static json_t *lines_json(const struct subject *s)
{
    json_t *lines = json_array();
    const struct annotation *a = s->a;
    unsigned first = a->first > CONTEXT ? a->first - CONTEXT : 1;
    for (unsigned i = first; a->source.n_lines && i <= a->last && i - first < LINES_MAX; i++) {
        uint64_t n = i < a->n_line ? of_event(a->line[i].samples, s->event) : 0;
        json_array_append_new(
            lines, json_pack("[i, I, o]", (int)i, (json_int_t)n, json_text(source_line(&a->source, i))));
    }
    return lines;
}

static json_t *suspects_json(const struct cs_culprit_classification *v)
{
    json_t *all = json_array();
    for (unsigned i = 0; i < v->n && i < 3; i++) {
        const struct cs_culprit_suspect *x = &v->suspects[i];
        if (x->share < 0.5)
            continue;
        char text[200];
        snprintf(text, sizeof text, "%c %s %.1f cycles%s%s", cs_culprit_cause_names[x->cause].letter,
                 cs_culprit_cause_names[x->cause].words, x->share, *x->reason ? ": " : "", x->reason);
        json_array_append_new(all, json_text(text));
    }
    return all;
}

static json_t *instructions_json(const struct subject *s, const struct cs_cycle_account *account)
{
    json_t *list = json_array();
    const struct annotation *a = s->a;
    uint32_t k = 0;
    for (size_t i = 0; i < a->n_insns && i < INSNS_MAX; i++) {
        const struct annotated_insn *insn = &a->insn[i];
        const struct cs_cycle_account_insn *more = NULL;
        while (account && k < account->cfg->n_insns && account->insns[k].op.offset < insn->offset)
            k++;
        if (account && k < account->cfg->n_insns && account->insns[k].op.offset == insn->offset)
            more = &account->insns[k];
        char offset[24];
        snprintf(offset, sizeof offset, "%" PRIx64, insn->offset);
        bool cycles = more && isfinite(more->cycles) && !more->fused;
        json_array_append_new(list,
                              json_pack("[s, I, i, o, o, o]", offset,
                                        (json_int_t)of_event(insn->samples, s->event), (int)insn->line,
                                        json_text(insn->text), cycles ? json_real(more->cycles) : json_null(),
                                        more ? suspects_json(more->classification) : json_array()));
    }
    return list;
}

CS_ORDER(by_percent, const json_t *,
         cs_order(json_number_value(json_array_get(*b, 1)), json_number_value(json_array_get(*a, 1))))

static void cause_row(json_t **rows, unsigned *n, const char *words, double share, double low, double high,
                      double total)
{
    if (share > 0.005 * total)
        rows[(*n)++] = isnan(low) ? json_pack("[s, f, n, n]", words, 100 * share / total)
                                  : json_pack("[s, f, f, f]", words, 100 * share / total, 100 * low / total,
                                              100 * fmin(high, total) / total);
}

static json_t *causes_json(const struct cs_cycle_account_summary *s)
{
    json_t *rows[2 * CS_N_CAUSES + 4], *all = json_array();
    unsigned n = 0;
    char words[CS_N_CAUSES][64];
    double none = (double)NAN;
    for (int c = 0; c < CS_N_CAUSES && s->total > 0; c++) {
        cause_row(rows, &n, cs_culprit_cause_names[c].words, s->share[c], s->low[c], s->high[c], s->total);
        snprintf(words[c], sizeof words[c], "%s (static)", cs_culprit_cause_names[c].words);
        cause_row(rows, &n, words[c], s->statics[c], none, none, s->total);
    }
    if (s->total > 0) {
        cause_row(rows, &n, "unexplained", s->unexplained, none, none, s->total);
        cause_row(rows, &n, "execution", s->execution, none, none, s->total);
        cause_row(rows, &n, "frequency not known", s->unattributed, none, none, s->total);
    }
    cs_sort(rows, n, by_percent);
    for (unsigned i = 0; i < n; i++)
        json_array_append_new(all, rows[i]);
    return all;
}

/* Culprits of one procedure; without them the page still has its samples. */
static struct cs_cycle_account *explain(const struct subject *s, const struct page_image *image,
                                        json_t *detail)
{
    struct cs_error ignored = {0};
    const struct cs_culprit_evidence *evidence = image->evidence;
    struct cs_cycle_account *account = NULL;
    const struct cs_image_procedure *procedure = cs_image_procedure_at(s->code, s->row->start);
    if (procedure && evidence &&
        cs_cycle_account_open(s->code, procedure, evidence, image->scheduler, NULL, &account, &ignored) ==
            0) {
        struct worst_cause worst = worst_cause(account);
        char sentence[1200];
        struct cs_culprit_verdict verdict = procedure_verdict(account, s->code);
        const char *advice = verdict.enough ? cause_advice(&worst, account) : NULL;
        double samples = (double)s->profile->events[s->event].samples;
        if (verdict.enough)
            cause_sentence(&worst, s->code, sentence, sizeof sentence);
        else
            verdict_sentence(&verdict, evidence, samples, sentence, sizeof sentence);
        json_object_set_new(detail, "sentence", json_text(sentence));
        json_object_set_new(detail, "advice", advice ? json_string(advice) : json_null());
        json_object_set_new(detail, "causes", causes_json(&account->summary));
    }
    return account;
}

static json_t *detail_json(const struct parsed *args, struct profile *p, const struct profile_row *row,
                           const struct cs_edge_flow *flow, struct page_images *images, double until,
                           double *draw_s)
{
    struct cs_error ignored = {0};
    struct annotation a;
    struct page_image *image = page_images_open(images, args, p, row->image, flow);
    struct subject s = {.profile = p, .row = row, .code = image->code, .a = &a, .event = p->main_event};
    if (!s.code || annotate_procedure(p, row, s.code, option(args, "source"), &a, &ignored) < 0)
        return NULL;
    json_t *detail = json_object();
    struct cs_cycle_account *account = cs_monotonic_seconds() < until ? explain(&s, image, detail) : NULL;
    json_object_set_new(detail, "samples", json_integer((json_int_t)a.total[p->main_event]));
    double began = cs_monotonic_seconds();
    const struct analysed_image *analysed =
        *draw_s > 0 && cs_image_isa(s.code) != CS_ISA_NONE ? page_image_analysed(image, p, flow) : NULL;
    json_object_set_new(detail, "cfg", analysed ? page_cfg(analysed, row) : json_null());
    *draw_s -= cs_monotonic_seconds() - began;
    json_object_set_new(detail, "file", a.file ? json_text(a.file) : json_null());
    json_object_set_new(detail, "trouble", json_text(a.trouble));
    json_object_set_new(detail, "lines", lines_json(&s));
    json_object_set_new(detail, "instructions", instructions_json(&s, account));
    cs_cycle_account_close(account);
    annotation_fini(&a);
    return detail;
}

/* What the page has no room for, in words. */
static json_t *cut_json(const struct profile_rows *rows, unsigned event, size_t undetailed)
{
    json_t *cut = json_array();
    char text[200];
    uint64_t left = 0;
    for (size_t i = ROWS_MAX; i < rows->n; i++)
        left += rows->row[i].samples[event];
    if (rows->n > ROWS_MAX) {
        snprintf(
            text, sizeof text,
            "%s more functions, with %.2f %% of the samples, are not shown here: cyclescope prof --top 0.",
            thousands((double)(rows->n - ROWS_MAX)).text,
            rows->total[event] ? 100 * (double)left / (double)rows->total[event] : 0);
        json_array_append_new(cut, json_text(text));
    }
    if (undetailed) {
        snprintf(text, sizeof text, "%zu more would have details, but the page has %d lines of code already.",
                 undetailed, TEXT_ROWS_MAX);
        json_array_append_new(cut, json_text(text));
    }
    return cut;
}

int page_procedures(json_t *page, const struct parsed *args, struct profile *p, struct profile_rows *rows,
                    unsigned n_details, struct cs_error *err)
{
    struct cs_error ignored = {0};
    struct cs_edge_flow *flow = NULL;
    (void)err;
    (void)profile_edge_flow(p, &flow, &ignored);
    json_t *events = json_array(), *totals = json_array(), *images = json_array(), *table = json_array();
    json_t *details = json_array();
    unsigned main_event = 0;
    for (unsigned e = 0; e < p->n_events; e++) {
        if (e == p->main_event)
            main_event = (unsigned)json_array_size(events);
        else if (profile_is_inner(p->events[e].name))
            continue;
        json_array_append_new(events, json_text(p->events[e].name));
        json_array_append_new(totals, json_integer((json_int_t)rows->total[e]));
    }
    for (size_t i = 0; i < p->n_images; i++)
        json_array_append_new(images, json_text(image_name(&p->images[i].image)));
    double until = cs_monotonic_seconds() + EXPLAIN_SECONDS, draw_s = DRAW_SECONDS;
    struct page_images opened = {.n = 0};
    page_images_ahead(&opened, args, p, rows, n_details, flow);
    struct progress bar;
    progress_init(&bar, "functions", "rows", rows->n);
    size_t text_rows = 0, undetailed = 0;
    for (size_t i = 0; i < rows->n && i < ROWS_MAX; i++) {
        const struct profile_row *r = &rows->row[i];
        char name[1024] = "", brief[1024];
        json_t *row = json_array();
        json_array_append_new(row, r->name ? json_text(cs_image_demangle(r->name, name, sizeof name))
                                           : json_null());
        json_array_append_new(row, json_integer(r->image - p->images));
        for (unsigned e = 0; e < p->n_events; e++)
            if (e == p->main_event || !profile_is_inner(p->events[e].name))
                json_array_append_new(row, json_integer((json_int_t)r->samples[e]));
        json_t *detail = NULL;
        bool wanted = json_array_size(details) + undetailed < n_details && page_row_explained(r);
        if (wanted && text_rows < TEXT_ROWS_MAX)
            detail = detail_json(args, p, r, flow, &opened, until, &draw_s);
        else if (wanted)
            undetailed++;
        text_rows += json_array_size(json_object_get(detail, "lines")) +
                     json_array_size(json_object_get(detail, "instructions"));
        json_array_append_new(row, json_integer(detail ? (json_int_t)json_array_size(details) : -1));
        json_array_append_new(row, json_null()); /* page_chains knows it */
        cs_image_short_name(r->name ? r->name : "", brief, sizeof brief);
        json_array_append_new(row, r->name && strcmp(brief, name) != 0 ? json_text(brief) : json_null());
        if (detail)
            json_array_append_new(details, detail);
        json_array_append_new(table, row);
        progress_step(&bar, i);
    }
    progress_fini(&bar);
    page_images_close(&opened);
    if (flow)
        cs_edge_flow_close(flow);
    json_object_set_new(page, "cut", cut_json(rows, p->main_event, undetailed));
    json_object_set_new(page, "events", events);
    json_object_set_new(page, "totals", totals);
    json_object_set_new(page, "main_event", json_integer((json_int_t)main_event));
    json_object_set_new(page, "images", images);
    json_object_set_new(page, "rows", table);
    json_object_set_new(page, "details", details);
    return 0;
}
