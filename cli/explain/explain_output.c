/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The order is that of a reader's questions: what, how sure, where, what not, what to do, what it brings, how to check. */
#include "cli/explain/explain.h"
#include "cli/output/source.h"
#include "store/base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json_t *number_or_null(double number)
{
    return isfinite(number) ? json_real(number) : json_null();
}

static json_t *text_or_null(const char *text)
{
    return text && *text ? json_text(text) : json_null();
}

static void put_evidence(struct output *out, const struct explanation *e)
{
    static const struct column columns[] = {
        {.key = "what", .head = "evidence", .kind = COLUMN_TEXT},
        {.key = "value", .head = "value", .kind = COLUMN_NUMBER},
        {.key = "low", .head = "low", .kind = COLUMN_NUMBER},
        {.key = "high", .head = "high", .kind = COLUMN_NUMBER},
        {.key = "unit", .head = "unit", .kind = COLUMN_TEXT},
        {.key = "text", .head = "text", .kind = COLUMN_TEXT, .elastic = true, .spare = true},
    };
    struct table *table = output_table(out, "evidence", columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < e->n_evidence; i++) {
        const struct explain_evidence *x = &e->evidence[i];
        table_text(table, x->what);
        table_number(table, x->value);
        table_number(table, x->low);
        table_number(table, x->high);
        table_text(table, *x->unit ? x->unit : NULL);
        table_text(table, *x->text ? x->text : NULL);
    }
    output_line(out, "%s", "");
}

static void put_places(struct output *out, const struct explanation *e)
{
    static const struct column columns[] = {
        {.key = "percent", .head = "%", .kind = COLUMN_SHARE},
        {.key = "kind", .kind = COLUMN_TEXT},
        {.key = "function", .kind = COLUMN_TEXT},
        {.key = "file", .kind = COLUMN_TEXT},
        {.key = "line", .kind = COLUMN_COUNT},
        {.key = "saves_percent", .kind = COLUMN_NUMBER},
        {.key = "turns", .kind = COLUMN_NUMBER},
        {.key = "per_second", .kind = COLUMN_NUMBER},
        {.key = "bytes", .kind = COLUMN_NUMBER},
        {.key = "advice", .kind = COLUMN_TEXT},
        {.key = "what", .kind = COLUMN_TEXT},
        {.key = "text", .head = "what stands out", .kind = COLUMN_TEXT, .wraps = true},
    };
    if (!e->places.n) {
        output_set(out, "stands_out", json_array());
        return;
    }
    struct table *table = output_table(out, "stands_out", columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < e->places.n; i++) {
        const struct stand_out *p = &e->places.at[i];
        table_number(table, p->percent);
        table_text(table, p->kind);
        table_text(table, *p->function ? p->function : NULL);
        table_text(table, *p->file ? p->file : NULL);
        table_count_if(table, p->line, p->line);
        table_number(table, p->saves);
        table_number(table, p->turns);
        table_number(table, p->a_second);
        table_number(table, p->bytes);
        table_text(table, p->advice);
        table_text(table, p->what);
        if (p->line)
            table_textf(table, "%s (%s:%u): %s", p->function, cs_base_name(p->file), p->line, p->what);
        else
            table_textf(table, "%s: %s", p->function, p->what);
    }
    output_line(out, "%s", "");
}

static void put_source(struct output *out, const struct parsed *args, const struct explanation *e)
{
    struct source source;
    json_t *lines = json_array();
    if (!*e->file || !e->line) {
        output_set(out, "source", lines);
        return;
    }
    source_read(&source, e->file, option(args, "source"));
    output_line(out, "%s:%u%s", e->file, e->line, *source.trouble ? "" : ":");
    const unsigned from = e->line > EXPLAIN_CONTEXT ? e->line - EXPLAIN_CONTEXT : 1;
    for (unsigned n = from; n <= e->line + EXPLAIN_CONTEXT && n <= source.n_lines; n++) {
        output_line(out, "%s %5u  %.300s", n == e->line ? ">" : " ", n, source_line(&source, n));
        json_array_append_new(lines, json_pack("{s:I, s:o, s:b}", "line", (json_int_t)n, "text",
                                               json_text(source_line(&source, n)), "here", n == e->line));
    }
    if (*source.trouble)
        output_note(out, "%s", source.trouble);
    output_line(out, "%s", "");
    output_set(out, "source", lines);
    source_fini(&source);
}

static void put_ruled_out(struct output *out, const struct explanation *e)
{
    json_t *all = json_array();
    char text[1200] = "";
    double most = 0;
    for (size_t i = 0; i < e->n_ruled_out; i++) {
        const struct explain_ruled_out *r = &e->ruled_out[i];
        const size_t n = strlen(text);
        snprintf(text + n, sizeof text - n, "%s%s", n ? ", " : "", r->words);
        most = fmax(most, r->most);
        json_array_append_new(
            all, json_pack("{s:s, s:s, s:f}", "cause", r->cause, "words", r->words, "most_percent", r->most));
    }
    if (e->n_ruled_out)
        output_line(out, "Ruled out (each at most %.1f %%): %s.", most, text);
    output_set(out, "ruled_out", all);
}

static json_t *gain_json(const struct explain_gain *g)
{
    return json_pack("{s:o, s:o, s:o}", "likely", number_or_null(g->likely), "low", number_or_null(g->low),
                     "high", number_or_null(g->high));
}

static void put_gain(struct output *out, const struct explanation *e)
{
    const struct explain_gain *f = &e->of_function, *p = &e->of_program;
    const bool shared = strcmp(e->cause, "false-sharing") == 0 || strcmp(e->cause, "true-sharing") == 0;
    if (e->gain_elsewhere)
        output_line(out,
                    "Expected gain: at least %.0f %% of the program's CPU time. Mispredicted calls also lose "
                    "time in the functions that they call, which isn't in this figure.",
                    p->low);
    else if (isfinite(f->likely))
        output_line(out,
                    "Expected gain, of this cause only: %.0f %% of the function's time (%.0f to %.0f), %.0f "
                    "%% of the program's CPU time (%.0f to %.0f). Less work gains more.",
                    f->likely, f->low, f->high, p->likely, p->low, p->high);
    else if (shared && isfinite(p->high))
        output_line(out,
                    "Expected gain: %.0f to %.0f %% of the program's CPU time. It depends on the processor "
                    "and on how often the threads run at the same time.",
                    p->low, p->high);
    else if (isfinite(p->high) && e->about == EXPLAIN_CALL)
        output_line(out, "Expected gain: up to about %.0f %% of the program's CPU time, if these calls go.",
                    p->high);
    else if (isfinite(p->high) && e->from_list && e->about == EXPLAIN_CODE)
        output_line(out, "Expected gain: up to about %.0f %% of the program's CPU time, if this cost goes.",
                    p->high);
    else if (isfinite(p->high) && e->about == EXPLAIN_CODE)
        output_line(out, "Expected gain: up to about %.0f %% of the program's CPU time, if %s.", p->high,
                    strcmp(e->cause, "copy") == 0 ? "the copies go" : "the thread sleeps in place of that");
    else if (isfinite(p->high))
        output_line(out, "Expected gain: between %.0f and %.0f %% of all threads' time.", p->low, p->high);
    output_set(out, "gain", json_pack("{s:o, s:o}", "function", gain_json(f), "program", gain_json(p)));
}

static json_t *place_json(const struct explanation *e)
{
    char address[24];
    snprintf(address, sizeof address, "0x%" PRIx64, e->address);
    return json_pack("{s:o, s:o, s:o}", "file", text_or_null(e->file), "line",
                     e->line ? json_integer(e->line) : json_null(), "address",
                     e->address ? json_string(address) : json_null());
}

void explanation_print(struct output *out, const struct parsed *args, const struct explanation *e)
{
    static const char *const names[] = {[EXPLAIN_NOTHING] = "nothing",
                                        [EXPLAIN_CODE] = "code",
                                        [EXPLAIN_CALL] = "call",
                                        [EXPLAIN_WAIT] = "wait"};
    output_line(out, "%s.", *e->claim ? e->claim : e->missing);
    if (*e->absence)
        output_note(out, "%s", e->absence);
    output_line(out, "%s", "");
    put_places(out, e);
    if (e->n_evidence)
        put_evidence(out, e);
    put_source(out, args, e);
    if (*e->machine)
        output_note(out, "%s", e->machine);
    put_ruled_out(out, e);
    if (e->advice)
        output_line(out, "What to try: %s.", e->advice);
    put_gain(out, e);
    if (e->verify)
        output_line(out, "After the change: %s", e->verify);
    output_set(out, "version", json_integer(EXPLAIN_VERSION));
    output_set(out, "about", json_string(names[e->about]));
    output_set(out, "claim", text_or_null(e->claim));
    output_set(out, "missing", text_or_null(e->missing));
    output_set(out, "function", text_or_null(e->function));
    output_set(out, "image", text_or_null(e->image));
    output_set(out, "cause", text_or_null(e->cause));
    output_set(out, "cause_words", text_or_null(e->words));
    output_set(out, "place", place_json(e));
    output_set(out, "advice", text_or_null(e->advice));
    output_set(out, "verify", text_or_null(e->verify));
}

void explanation_print_next(struct output *out, const struct parsed *args, const struct explanation *e)
{
    if (e->about == EXPLAIN_WAIT)
        output_next(out, args, "next:", "waits", NULL, " --critical-path      (what it would save)");
    else if (e->about == EXPLAIN_CALL)
        output_next(out, args, "next:", "callees", e->function, "      (all that it calls)");
    else if (*e->function)
        output_next(out, args, "next:", "calc", e->function, "      (instruction by instruction)");
}
