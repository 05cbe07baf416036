/* SPDX-License-Identifier: GPL-2.0-or-later */
/* list: source with samples, or instructions where there is no source. After dcpilist and gprof's annotated
 * listing (sprof-1998 section 3): the lines, then the top lines, then a summary. */
#include "cli/command/figures.h"
#include "cli/command/time_range.h"
#include "cli/output/output.h"
#include "cli/procedure/accesses.h"
#include "cli/procedure/executions.h"
#include "cli/profile/ask_debuginfod.h"
#include "cli/profile/lines/inlined.h"
#include "cli/profile/more_evidence.h"
#include "store/base/order.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CONTEXT 3 /* lines shown around one with samples */
#define TOP_LINES 10

#define LINE_COLUMNS 8
#define INSN_COLUMNS 7

struct listing {
    struct profile profile;
    struct profile_rows rows;
    struct cs_image_code *code;
    struct annotation a;
    const struct profile_row *row; /* NULL: a file */
    struct profile_row caller;     /* of one without samples */
    struct executions e;
    struct column line_columns[LINE_COLUMNS], insn_columns[INSN_COLUMNS];
};

static const struct column line_columns[] = {
    {.key = "samples", .head = "samples", .kind = COLUMN_COUNT},
    {.key = "percent", .head = "%", .kind = COLUMN_SHARE},
    {.key = "total", .kind = COLUMN_COUNT},
    {.key = "total_percent", .head = "total %", .kind = COLUMN_SHARE},
    {.key = "executions", .head = "executions", .kind = COLUMN_NUMBER, .digits = -1},
    {.key = "confidence", .head = "confidence", .kind = COLUMN_TEXT},
    {.key = "line", .head = "line", .kind = COLUMN_COUNT},
    {.key = "source", .head = "source", .kind = COLUMN_TEXT, .elastic = true},
};

static const struct column insn_columns[] = {
    {.key = "samples", .head = "samples", .kind = COLUMN_COUNT},
    {.key = "percent", .head = "%", .kind = COLUMN_SHARE},
    {.key = "executions", .head = "executions", .kind = COLUMN_NUMBER, .digits = -1},
    {.key = "confidence", .head = "confidence", .kind = COLUMN_TEXT},
    {.key = "offset", .head = "offset", .kind = COLUMN_HEX},
    {.key = "line", .head = "line", .kind = COLUMN_COUNT},
    {.key = "instruction", .head = "instruction", .kind = COLUMN_TEXT, .elastic = true},
};

static uint64_t of_event(const uint64_t *samples, unsigned event)
{
    return samples ? samples[event] : 0;
}

static void counts(struct table *table, const struct annotation *a, const uint64_t *samples, unsigned event,
                   bool code)
{
    uint64_t n = of_event(samples, event);
    if (!n && !code) {
        table_none(table, 2);
        return;
    }
    table_count(table, n);
    table_number(table, a->total[event] ? 100.0 * (double)n / (double)a->total[event] : (double)NAN);
}

/* Both cells: how often, and how sure that is. */
static void times(struct table *table, const struct listing *l, const struct execution *e)
{
    if (l->e.edges_seen > 0 && !isnan(e->times)) {
        table_number(table, e->times);
        table_text(table, cs_confidence_name(e->sureness));
    } else {
        table_none(table, 2);
    }
}

/* Columns for which there is nothing stay out of the text. */
static void choose_columns(const struct listing *l, const struct column *from, struct column *to, unsigned n)
{
    memcpy(to, from, n * sizeof *to);
    for (unsigned i = 0; i < n; i++)
        if (!(l->e.edges_seen > 0) &&
            (strcmp(to[i].key, "executions") == 0 || strcmp(to[i].key, "confidence") == 0))
            to[i].head = NULL;
    for (unsigned i = 0; i < n && !l->a.in_all; i++)
        if (strcmp(to[i].key, "total_percent") == 0)
            to[i].head = NULL;
}

/* With call chains: what was sampled in the line and in what it called. */
static void total_cells(struct table *table, const struct annotation *a, const struct annotated_line *at)
{
    if (!at || !at->total || !a->in_all) {
        table_none(table, 2);
        return;
    }
    table_count(table, at->total);
    table_number(table, 100.0 * (double)at->total / (double)a->in_all);
}

static void line_row(struct table *table, const struct listing *l, unsigned line)
{
    const struct annotation *a = &l->a;
    const struct annotated_line *at = line < a->n_line ? &a->line[line] : NULL;
    counts(table, a, at ? at->samples : NULL, l->profile.main_event, at && at->code);
    total_cells(table, a, at);
    times(table, l, at ? &l->e.line[line] : &(struct execution){.times = (double)NAN});
    table_count(table, line);
    table_text(table, source_line(&a->source, line));
}

static bool near_samples(const struct annotation *a, unsigned line, unsigned context)
{
    unsigned from = line > context ? line - context : 1;
    for (unsigned i = from; i <= line + context && i < a->n_line; i++)
        if (a->line[i].samples || a->line[i].total)
            return true;
    return false;
}

static void list_lines(struct output *out, const struct listing *l, bool all)
{
    const struct annotation *a = &l->a;
    struct table *table = output_table(out, "lines", l->line_columns, LINE_COLUMNS);
    unsigned first = a->name ? (a->first > 2 ? a->first - 2 : 1) : 1;
    unsigned last = a->name || a->last > a->source.n_lines ? a->last : (unsigned)a->source.n_lines;
    bool skipped = false;
    for (unsigned line = first; line <= last; line++) {
        if (!all && !near_samples(a, line, CONTEXT)) {
            skipped = true;
            continue;
        }
        if (skipped && output_form(out) == OUTPUT_TEXT) {
            table_none(table, LINE_COLUMNS - 1);
            table_text(table, "...");
        }
        skipped = false;
        line_row(table, l, line);
    }
}

static void list_instructions(struct output *out, const struct listing *l, bool all)
{
    const struct annotation *a = &l->a;
    struct table *table = output_table(out, "instructions", l->insn_columns, INSN_COLUMNS);
    size_t last_shown = SIZE_MAX;
    for (size_t i = 0; i < a->n_insns; i++) {
        bool close = all || output_form(out) != OUTPUT_TEXT;
        for (size_t k = i > 4 ? i - 4 : 0; !close && k < i + 4 && k < a->n_insns; k++)
            close = a->insn[k].samples != NULL;
        if (!close)
            continue;
        if (last_shown != SIZE_MAX && last_shown + 1 != i && output_form(out) == OUTPUT_TEXT) {
            table_none(table, INSN_COLUMNS - 1);
            table_text(table, "...");
        }
        last_shown = i;
        counts(table, a, a->insn[i].samples, l->profile.main_event, true);
        times(table, l, &l->e.insn[i]);
        table_count(table, a->insn[i].offset);
        table_count_if(table, a->insn[i].line, a->insn[i].line);
        table_text(table, a->insn[i].text);
    }
}

struct ranked {
    unsigned line;
    uint64_t total, samples; /* total: with what the line called, where call chains say it */
};

CS_ORDER(by_samples, struct ranked, cs_order(b->total, a->total), cs_order(b->samples, a->samples),
         cs_order(a->line, b->line))

static void summarise(struct output *out, const struct listing *l)
{
    const struct annotation *a = &l->a;
    unsigned event = l->profile.main_event;
    struct ranked *top = malloc((a->n_line + 1) * sizeof *top);
    size_t n_top = 0, n_code = 0, n_sampled = 0, n_ran = 0;
    double executions = 0;
    for (unsigned i = 1; top && i < a->n_line; i++) {
        n_code += a->line[i].code || (l->e.edges_seen > 0 && !isnan(l->e.line[i].times));
        if (l->e.edges_seen > 0 && l->e.line[i].times > 0) { /* NAN is not */
            n_ran++;
            executions += l->e.line[i].times;
        }
        const uint64_t samples = of_event(a->line[i].samples, event) ? a->line[i].samples[event] : 0,
                       total = a->in_all ? a->line[i].total : 0;
        n_sampled += samples > 0;
        if (samples || total)
            top[n_top++] = (struct ranked){i, total, samples};
    }
    if (!top)
        return;
    cs_sort(top, n_top, by_samples);
    output_line(out, "%s", "");
    output_line(out, "%s", a->in_all ? "top lines, by total %" : "top lines");
    struct table *table = output_table(out, "top_lines", l->line_columns, LINE_COLUMNS);
    for (size_t i = 0; i < n_top && i < TOP_LINES; i++)
        line_row(table, l, top[i].line);
    free(top);
    output_line(out, "%s", "");
    output_line(out, "%zu line%s with code, %zu of them with samples (%.1f %%); %s sample%s, %.1f per line",
                n_code, plural((double)n_code), n_sampled,
                n_code ? 100.0 * (double)n_sampled / (double)n_code : 0.0,
                thousands((double)a->total[event]).text, plural((double)a->total[event]),
                n_code ? (double)a->total[event] / (double)n_code : 0.0);
    if (l->e.edges_seen > 0)
        output_line(out,
                    "%zu line%s ran (%.1f %%), %s execution%s, %.1f per line: relative numbers, estimated "
                    "from %s edge%s that we followed",
                    n_ran, plural((double)n_ran), n_code ? 100.0 * (double)n_ran / (double)n_code : 0.0,
                    thousands(executions).text, plural(executions),
                    n_code ? executions / (double)n_code : 0.0, thousands(l->e.edges_seen).text,
                    plural(l->e.edges_seen));
    else
        output_line(out, "how often lines ran is not known: %s", more_evidence(l->profile.store));
    output_set(out, "summary",
               json_pack("{s:I, s:I, s:I, s:I, s:f}", "lines_with_code", (json_int_t)n_code,
                         "lines_with_samples", (json_int_t)n_sampled, "samples", (json_int_t)a->total[event],
                         "lines_that_ran", (json_int_t)n_ran, "executions", executions));
    output_set(out, "edges_seen", json_real(l->e.edges_seen));
}

static int report(const struct parsed *args, struct listing *l)
{
    const struct annotation *a = &l->a;
    struct output *out = output_open(args);
    char name[1024] = "";
    if (a->name)
        cs_image_demangle(a->name, name, sizeof name);
    const char *event = l->profile.events[l->profile.main_event].name;
    output_line(out, "%s%s%s, %s: %s sample%s of %s", name, a->name && a->file ? ", " : "",
                a->file ? a->file : "", a->image->image.path,
                thousands((double)a->total[l->profile.main_event]).text,
                plural((double)a->total[l->profile.main_event]), event);
    if (a->in_all)
        output_line(out, "%s sample%s with what it called; total %% is a share of these",
                    thousands((double)a->in_all).text, plural((double)a->in_all));
    output_set(out, "total", a->in_all ? json_integer((json_int_t)a->in_all) : json_null());
    output_set(out, "procedure", a->name ? json_text(name) : json_null());
    output_set(out, "image", json_text(a->image->image.path));
    output_set(out, "file", a->file ? json_text(a->file) : json_null());
    output_set(out, "event", json_text(event));
    bool all = option_given(args, "all"),
         lines = a->source.n_lines > 0 && !option_given(args, "instructions");
    choose_columns(l, line_columns, l->line_columns, LINE_COLUMNS);
    choose_columns(l, insn_columns, l->insn_columns, INSN_COLUMNS);
    if (*a->trouble)
        output_note(out, "%s", a->trouble);
    else if (!a->file)
        output_note(out, "%s has no line information: instructions instead.", image_name(&a->image->image));
    char lacks[512];
    if (l->code && cs_image_lacks_inlines(l->code, lacks, sizeof lacks))
        output_note(out, "%s", lacks);
    output_line(out, "%s", "");
    if (lines)
        list_lines(out, l, all);
    if (a->n_insns && (!lines || output_form(out) == OUTPUT_JSON))
        list_instructions(out, l, all);
    if (a->file)
        summarise(out, l);
    const struct cs_image_procedure *p =
        l->row && l->code ? cs_image_procedure_at(l->code, l->row->start) : NULL;
    struct cs_error err = {0};
    if (p && accesses_print(out, l->profile.store, l->row->image->image.id, l->code, p,
                            all ? 0 : ACCESSES_SHOWN, &err) < 0)
        output_note(out, "%s", err.text);
    if (p && l->row && l->row->name && !*cs_image_trouble(l->code) && cs_image_isa(l->code) != CS_ISA_NONE) {
        output_line(out, "%s", "");
        output_next(out, args, "next:", "calc", l->row->name, "      (why it is slow)");
    }
    return output_close(out);
}

/* A procedure that has no samples of its own, but called what has: the call chains know it. */
static int find_caller(struct listing *l, const struct cs_calls_wanted *wanted, const char *name,
                       struct cs_error *err)
{
    struct cs_calls calls;
    int rc = cs_calls_open(&calls, l->profile.store, wanted, err);
    if (rc < 0)
        return rc;
    const struct cs_call_function *f = &calls.functions[cs_calls_find(&calls, name, NULL)];
    const struct profile_image *image = NULL;
    for (size_t i = 0; f->known && f->start && i < l->profile.n_images && !image; i++)
        if (strcmp(l->profile.images[i].image.id, f->image->id) == 0)
            image = &l->profile.images[i];
    l->caller = (struct profile_row){.image = image, .start = f->start};
    l->row = image ? &l->caller : NULL;
    cs_calls_close(&calls);
    return 0;
}

static int find(const struct parsed *args, struct listing *l, const char *name, struct cs_error *err)
{
    int rc = profile_needs_code(&l->profile, err);
    if (rc < 0 || (rc = profile_sum(&l->profile, BY_PROCEDURE, &l->rows, err)) < 0)
        return rc;
    const char *root = option(args, "source");
    struct cs_calls_wanted wanted = {.event = l->profile.events[l->profile.main_event].name,
                                     .label = option(args, "process")};
    l->row = find_procedure(&l->rows, name);
    if (!l->row && name && !strchr(name, '.'))
        rc = find_caller(l, &wanted, name, err);
    if (rc < 0)
        return rc;
    if (!l->row && !name)
        return cs_fail(err, ENOENT,
                       "no samples in any function whose instructions are at hand: there is nothing to list");
    if (!l->row)
        rc = annotate_file(&l->profile, &wanted, name, root, &l->a, err);
    else if ((rc = cs_image_open(&l->row->image->image, l->profile.store, &l->code, err)) == 0)
        rc = annotate_procedure(&l->profile, l->row, l->code, root, &l->a, err);
    if (rc == 0 && l->row)
        rc = annotate_totals(&l->profile, &wanted, &l->a, NULL, err);
    struct inlined_into into = rc == -ENOENT ? inlined_into(&l->profile, name) : (struct inlined_into){""};
    if (*into.sentence)
        return cs_fail(err, ENOENT, "%s", into.sentence);
    if (rc == -ENOENT && !l->row && !strstr(err->text, "did you mean"))
        strncat(err->text, procedure_meant(&l->rows, name).text, sizeof err->text - strlen(err->text) - 1);
    return rc < 0 ? rc : executions_open(&l->e, &l->profile, &l->rows, l->row, &l->a, err);
}

static int run(const struct parsed *args)
{
    if (operand_count(args) > 1)
        return usage_error("%s: expected one function or source file", operand(args, 1));
    struct profile_filter filter = {.image = option(args, "image"),
                                    .label = option(args, "process"),
                                    .epoch = recording_asked(args),
                                    .main_event = option(args, "event")};
    struct listing l = {.code = NULL};
    struct cs_error err = {0};
    if (profile_open(&l.profile, store_location(args), &filter, &err) < 0)
        return failed(&err);
    ask_debuginfod(&l.profile);
    int rc = find(args, &l, operand(args, 0), &err);
    rc = rc < 0 ? failed(&err) : report(args, &l);
    executions_fini(&l.e);
    annotation_fini(&l.a);
    if (l.code)
        cs_image_close(l.code);
    profile_rows_fini(&l.rows);
    profile_close(&l.profile);
    return rc;
}

/* clang-format off */
static const struct option_entry options[] = {
    OPTION_EVENT,
    OPTION_IMAGE,
    OPTION_PROCESS,
    OPTIONS_WHEN,
    {"instructions", 'd', NULL, "instructions, even where there is source"},
    OPTION_ALL,
    OPTION_SOURCE,
    OPTION_STORE,
    {NULL, 0, NULL, NULL},
};
/* clang-format on */

const struct command command_list = {
    "list",
    "[FUNCTION|FILE]",
    "source lines or instructions with samples and execution counts, top lines, a summary",
    "Without an operand it takes the function with most samples. Samples of code that was inlined into a "
    "function count at the line that called it. In the listing of a FILE they count at the line they came "
    "from.\n"
    "\n"
    "An interrupt falls on the instruction after the one that took the time. A line has the samples of its "
    "own instructions' time, as in calc.\n"
    "\n"
    "Without source the listing shows instructions, with the samples where the interrupts fell.",
    options,
    run,
};
