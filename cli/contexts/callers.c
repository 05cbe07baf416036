/* SPDX-License-Identifier: GPL-2.0-or-later */
/* callers and callees: the parts of a procedure's total time by caller, or by callee. gprof's two tables, from samples. */
#include "cli/command/figures.h"
#include "cli/contexts/contexts.h"
#include "cli/profile/call_columns.h"
#include "store/base/order.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_SHOWN 10

struct row {
    uint32_t function; /* 0: the outermost frame's caller, that is none */
    uint64_t samples;
    const struct cs_call_count *count; /* of calls; NULL: not known, or none */
    const char *name;
};

CS_ORDER(greatest_first, struct row, cs_order(b->samples, a->samples),
         cs_order(b->count ? b->count->calls : 0, a->count ? a->count->calls : 0), strcmp(a->name, b->name))

static double share(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : (double)NAN;
}

/* The rows, sorted. NULL: out of memory. */
static struct row *make_rows(const struct chains *c, uint32_t function, bool callers, bool brief, size_t *n)
{
    uint64_t *by = callers ? cs_calls_callers(&c->calls, function) : cs_calls_callees(&c->calls, function);
    struct row *rows = by ? calloc(c->calls.n_functions + 1, sizeof *rows) : NULL;
    const struct cs_call_function *f = &c->calls.functions[function];
    *n = 0;
    for (uint32_t i = 0; rows && i < c->calls.n_functions; i++) {
        bool own = !callers && i == function;
        const char *name = own                 ? "[self]"
                           : callers && i == 0 ? "[nobody: outermost frame]"
                           : brief             ? c->calls.functions[i].brief
                                               : c->calls.functions[i].name;
        const struct cs_call_count *count =
            callers ? cs_call_count_of(&c->counts, i, function) : cs_call_count_of(&c->counts, function, i);
        if (by[i] || (count && !own))
            rows[(*n)++] = (struct row){i, by[i], own ? NULL : count, name};
        if (own && count) /* calls of itself: their time is in the other rows already */
            rows[(*n)++] = (struct row){i, 0, count, brief ? f->brief : f->name};
    }
    free(by);
    if (rows)
        cs_sort(rows, *n, greatest_first);
    return rows;
}

static void describe_calls(struct output *out, const struct chains *c, uint32_t function)
{
    struct cs_call_count all = cs_call_count_to(&c->counts, function);
    bool absolute = c->counts.executions > 0;
    char times[48], error[48] = "it may as well be twice as many, or hardly any";
    if (all.error < 1)
        snprintf(error, sizeof error, "± %.0f %%", 100 * all.error);
    output_line(out, "%s", "");
    if (!absolute)
        output_note(
            out,
            "Calls are relative numbers, because no burst measured time. Compare them with one another.");
    else if (all.calls > 0)
        output_line(out, "Called %s time%s (%s), estimated from %s call%s that bursts saw.",
                    figures(all.calls * c->counts.executions, 3, times),
                    plural(all.calls * c->counts.executions), error, thousands(all.seen).text,
                    plural(all.seen));
    call_advice(out, &c->counts);
    output_set(out, "calls",
               all.calls > 0 ? json_real(all.calls * (absolute ? c->counts.executions : 1)) : json_null());
    output_set(out, "calls_are", json_string(absolute ? "estimated" : "relative"));
    output_set(out, "cost_unit", json_text(c->profile.events[c->profile.main_event].unit));
}

static int report(const struct parsed *args, const struct chains *c, uint32_t function, bool callers)
{
    const struct cs_call_function *f = &c->calls.functions[function];
    struct column columns[] = {
        {.key = "samples", .head = "samples", .kind = COLUMN_COUNT},
        {.key = "percent", .head = "%", .kind = COLUMN_SHARE},
        {.key = "percent_of_all", .head = "% of all", .kind = COLUMN_SHARE, .plain = true},
        {.key = NULL},
        {.key = NULL},
        {.key = NULL},
        {.key = NULL},
        {.key = NULL},
        {.key = "procedure", .head = callers ? "called from" : "calls", .elastic = true},
        {.key = "image", .kind = COLUMN_TEXT},
        {.key = "image_name", .head = "image", .elastic = true},
    };
    call_columns(&c->counts, columns + 3);
    size_t n;
    const char *unit = c->profile.events[c->profile.main_event].unit;
    struct output *out = output_open(args);
    struct row *rows = make_rows(c, function, callers, output_form(out) == OUTPUT_TEXT, &n);
    if (!rows) {
        output_drop(out);
        return failed_with("out of memory for %" PRIu32 " functions", c->calls.n_functions);
    }
    if (c->calls.total)
        output_line(out, "%s, %s: %s sample%s of %s in all (%.1f %%), %s self (%.1f %%)", f->brief,
                    f->image ? f->image->path : "", thousands((double)f->total).text,
                    plural((double)f->total), c->event, share(f->total, c->calls.total),
                    thousands((double)f->self).text, share(f->self, c->calls.total));
    else
        output_line(out, "%s, %s: no samples of %s have call chains (record without --no-chains takes them)",
                    f->brief, f->image ? f->image->path : "", c->event);
    output_line(out, "%s", "");
    output_set(out, "procedure", json_text(f->name));
    output_set(out, "of_image", f->image ? json_text(f->image->path) : json_null());
    output_set(out, "event", json_text(c->event));
    output_set(out, "with_chains", json_integer((json_int_t)c->calls.total));
    output_set(out, "total", json_integer((json_int_t)f->total));
    output_set(out, "self", json_integer((json_int_t)f->self));
    struct table *table = output_table(out, "rows", columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < n; i++) {
        const struct cs_call_function *g = rows[i].function ? &c->calls.functions[rows[i].function] : NULL;
        table_count(table, rows[i].samples);
        table_number(table, share(rows[i].samples, f->total));
        table_number(table, share(rows[i].samples, c->calls.total));
        call_cells(table, &c->counts, rows[i].count, rows[i].samples, c->period, unit);
        table_text(table, rows[i].name);
        table_text(table, g && g->image ? g->image->path : NULL);
        table_text(table, g ? chains_image(g) : NULL);
    }
    table_limit(table, (uint64_t)option_number(args, "top", ROWS_SHOWN, 0, 1e12), "--top 0 shows all");
    if (c->counted)
        describe_calls(out, c, function);
    if (*c->calls.trouble)
        output_note(out, "%s", c->calls.trouble);
    output_line(out, "%s", "");
    output_next(out, args, "next:", callers ? "callees" : "callers", f->brief, "");
    if (f->total)
        output_next(out, args, "     ", "tree", f->brief, callers ? " --inverted" : "");
    free(rows);
    return output_close(out);
}

static int run(const struct parsed *args, bool callers)
{
    struct chains c;
    if (operand_count(args) > 1)
        return usage_error("%s: expected one function", operand(args, 1));
    struct cs_error err = {0};
    int rc = chains_open(&c, args, false, false);
    if (rc)
        return rc;
    if (chains_count(&c, args, &err) < 0) {
        chains_close(&c);
        return failed(&err);
    }
    uint32_t function = chains_function(&c, operand(args, 0));
    rc = function ? report(args, &c, function, callers) : CS_EXIT_FAILED;
    chains_close(&c);
    return rc;
}

static int run_callers(const struct parsed *args)
{
    return run(args, true);
}

static int run_callees(const struct parsed *args)
{
    return run(args, false);
}

static const struct option_entry options[] = {
    OPTION_EVENT,      OPTION_PROCESS, OPTION_EPOCH, OPTIONS_TIMES,
    OPTION_NO_INLINES, OPTION_TOP,     OPTION_STORE, {NULL, 0, NULL, NULL},
};

const struct command command_callers = {
    "callers",
    "[FUNCTION]",
    "who called a function, and how much of its time each caller caused",
    "Without an operand it takes the function with most self samples. Rows add up to the function's total: "
    "its self samples and those of its callees. In a recursion the outermost frame counts, so that each "
    "sample counts once.\n"
    "\n"
    "Example: which callers make compress_block expensive, and through which path?\n"
    "\n"
    "    cyclescope record -- ./server\n"
    "    cyclescope callers compress_block\n"
    "    cyclescope tree compress_block --inverted",
    options,
    run_callers,
};
const struct command command_callees = {
    "callees",
    "[FUNCTION]",
    "what a function calls, and how much of its time goes there",
    "Without an operand it takes the function with most self samples. Rows add up to the function's total; "
    "[self] is the time in its own instructions. In a recursion the innermost frame counts.\n"
    "\n"
    "Example: which of the calls in handle_request takes the time?\n"
    "\n"
    "    cyclescope callees handle_request",
    options,
    run_callees,
};
