/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/procedure/sum_tables.h"
#include "cli/command/figures.h"

#include <assert.h>
#include <math.h>

static void print_rest(struct output *out, const struct sum_tally *t)
{
    const struct {
        const char *what, *key;
        double samples;
    } rest[] = {
        {"in the kernel", "kernel", t->kernel},
        {"that could not be placed", "unknown", t->unknown},
        {"in code without bytes or names", "opaque", t->opaque},
        {"in functions with few samples", "small", t->small},
    };
    for (size_t i = 0; i < sizeof rest / sizeof rest[0]; i++) {
        if (rest[i].samples > 0)
            output_line(out, "and %s sample%s %s", thousands(rest[i].samples).text, plural(rest[i].samples),
                        rest[i].what);
        output_set(out, rest[i].key, json_real(rest[i].samples));
    }
}

static const char *const lack_words[] = {[VERDICT_MISFIT] = "the model doesn't fit",
                                         [VERDICT_NONE] = "none named",
                                         [VERDICT_SEVERAL] = "several",
                                         [VERDICT_THIN] = "too few bursts"};

static void print_hot(struct output *out, const struct sum_tally *t)
{
    static const struct column columns[] = {
        {.key = "samples", .head = "samples", .kind = COLUMN_COUNT},
        {.key = "percent", .head = "%", .kind = COLUMN_SHARE},
        {.key = "best_cpi", .head = "best CPI", .kind = COLUMN_NUMBER, .digits = 2},
        {.key = "actual_cpi", .head = "CPI", .kind = COLUMN_NUMBER, .digits = 2},
        {.key = "first", .head = "largest cause", .kind = COLUMN_TEXT},
        {.key = "first_percent", .head = "its %", .kind = COLUMN_SHARE},
        {.key = "procedure", .head = "function", .kind = COLUMN_TEXT, .elastic = true},
        {.key = "image", .head = "image", .kind = COLUMN_TEXT, .elastic = true},
        {.key = "sentence", .kind = COLUMN_TEXT},
    };
    struct table *table = output_table(out, "procedures", columns, sizeof columns / sizeof *columns);
    for (unsigned i = 0; i < t->n_hot; i++) {
        const struct sum_procedure *h = &t->hot[i];
        char name[1024], brief[1024];
        table_count(table, (uint64_t)h->samples);
        table_number(table, t->all.total > 0 ? 100 * h->samples / t->all.total : 0);
        table_number(table, h->best_cpi);
        table_number(table, h->actual_cpi);
        table_text(table, !h->enough               ? lack_words[h->lack]
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

/* The program as one function. The sentence comes first: the table above is of the few functions that are explained. */
static void print_flat(struct output *out, const struct sum_tally *t)
{
    const struct cs_flat_facts *f = &t->flat_facts;
    const struct cs_flat_verdict *v = &t->flat_verdict;
    json_t *parts = json_object();
    for (int p = 0; p < CS_N_FLAT && v->first != CS_N_FLAT; p++)
        json_object_set_new(parts, cs_flat_names[p].name,
                            json_pack("{s:f, s:f, s:f}", "percent", 100 * v->share[p], "low", 100 * v->low[p],
                                      "high", 100 * v->high[p]));
    output_set(out, "flat",
               json_pack("{s:b, s:s?, s:s?, s:o, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}",
                         "enough", v->enough, "first", v->enough ? cs_flat_names[v->first].name : NULL,
                         "missing", v->missing, "parts", parts, "unexplained", 100 * v->unexplained, "cpi",
                         f->cycles, "model_cpi", f->model_cycles, "bursts", f->bursts, "timed", f->timed,
                         "code_bytes", f->code_bytes, "targets", f->targets, "code_misses", f->l1_misses,
                         "targets_unknown", f->targets_unknown, "mispredicted", f->guesses, "data_bytes",
                         f->data_bytes, "data_lines", f->data_lines));
    if (v->enough)
        output_line(out,
                    "The program as a whole: %s (%.0f %% of its time, %.0f to %.0f). %.0f KB of code and "
                    "%.0f KB of data "
                    "are in use.",
                    cs_flat_names[v->first].words, 100 * v->share[v->first], 100 * v->low[v->first],
                    100 * v->high[v->first], f->code_bytes / 1024, f->data_bytes / 1024);
    else
        output_line(out, "Not enough evidence for a first cause of the program as a whole: %s.",
                    v->missing ? v->missing : "nothing was measured");
    if (!v->enough && f->bursts >= 1)
        output_line(
            out, "In use are about %s KB of code, %s targets of indirect jumps and calls, and %s KB of data.",
            thousands(ceil(f->code_bytes / 1024)).text, thousands(f->targets).text,
            thousands(ceil(f->data_bytes / 1024)).text);
}

static void print_notes(struct output *out, const struct sum_tally *t)
{
    if (t->small > t->all.total)
        output_note(out, "Functions with few samples have more of the time than all functions that are "
                         "explained. The causes hold for the explained functions only. Record longer to "
                         "explain more of them.");
    if (t->n_blind)
        output_note(
            out,
            "No burst saw %u of %u function%s. There only the instructions themselves rule causes out (%s).",
            t->n_blind, t->n_procedures, plural(t->n_procedures), t->remedy);
    if (t->n_thin)
        output_note(out,
                    "Too few bursts saw %u of %u function%s to name a cause. Record longer, or with a higher "
                    "--burst-rate; calc FUNCTION says how much.",
                    t->n_thin, t->n_procedures, plural(t->n_procedures));
}

void sum_print(const struct parsed *args, struct output *out, const struct sum_tally *t)
{
    assert(t->n_hot <= sizeof t->hot / sizeof *t->hot);
    output_line(out, "%s function%s, %s sample%s explained", thousands(t->n_procedures).text,
                plural(t->n_procedures), thousands(t->all.total).text, plural(t->all.total));
    print_rest(out, t);
    summary_print(out, &t->all, option_given(args, "all"));
    if (t->flat)
        print_flat(out, t);
    output_line(out, "%s", "");
    if (t->n_hot || output_form(out) != OUTPUT_TEXT)
        print_hot(out, t);
    else
        output_note(out, "No function has both enough samples and readable code: there is nothing to add up "
                         "(cyclescope prof shows all samples)");
    print_notes(out, t);
    if (t->n_hot)
        output_next(out, args, "next:", "calc", t->hot[0].name, "");
    output_set(out, "summary", summary_json(&t->all));
}
