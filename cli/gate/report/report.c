/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/gate/report/report.h"

#include <limits.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#define ROWS_SHOWN 10

const char *gate_relative(const char *file)
{
    char folder[PATH_MAX];
    size_t n = getcwd(folder, sizeof folder) ? strlen(folder) : 0;
    return n > 1 && strncmp(file, folder, n) == 0 && file[n] == '/' ? file + n + 1 : file;
}

static void put_checks(struct output *out, const struct parsed *args, const struct gate *gate)
{
    static const struct column columns[] = {
        {.key = "check", .head = "check", .kind = COLUMN_TEXT, .elastic = true},
        {.key = "verdict", .head = "verdict", .kind = COLUMN_TEXT},
        {.key = "base", .head = "base", .kind = COLUMN_NUMBER, .digits = 4},
        {.key = "head", .head = "head", .kind = COLUMN_NUMBER, .digits = 4},
        {.key = "change_percent", .head = "change %", .kind = COLUMN_NUMBER},
        {.key = "low_percent", .head = "from %", .kind = COLUMN_NUMBER},
        {.key = "high_percent", .head = "to %", .kind = COLUMN_NUMBER},
        {.key = "visible_percent", .head = "would see %", .kind = COLUMN_NUMBER},
        {.key = "what", .head = "of what", .kind = COLUMN_TEXT, .elastic = true, .spare = true},
        {.key = "unit", .kind = COLUMN_TEXT},
        {.key = "required", .kind = COLUMN_JSON},
        {.key = "chance", .kind = COLUMN_NUMBER},
        {.key = "runs_base", .kind = COLUMN_COUNT},
        {.key = "runs_head", .kind = COLUMN_COUNT},
        {.key = "in_turn", .kind = COLUMN_JSON},
        {.key = "machine_percent", .kind = COLUMN_NUMBER},
        {.key = "machine_removed", .kind = COLUMN_JSON},
        {.key = "sentence", .kind = COLUMN_TEXT},
    };
    struct table *table = output_table(out, "checks", columns, 18);
    table_limit(table, (uint64_t)option_number(args, "top", ROWS_SHOWN, 0, 1e12), "--top 0 shows all");
    for (size_t i = 0; i < gate->n_checks; i++) {
        const struct gate_check *c = &gate->check[i];
        const struct gate_estimate *e = &c->estimate;
        const double scale = c->known ? 100 : (double)NAN;
        table_text(table, c->name);
        table_text(table, gate_verdict_names[c->verdict]);
        table_number(table, c->base);
        table_number(table, c->head);
        table_number(table, scale * e->change);
        table_number(table, scale * e->low);
        table_number(table, scale * e->high);
        table_number(table, scale * e->visible);
        table_text(table, c->what);
        table_text(table, c->unit);
        table_json(table, json_boolean(c->required));
        table_number(table, c->known ? e->chance : (double)NAN);
        table_count(table, e->runs[0]);
        table_count(table, e->runs[1]);
        table_json(table, json_boolean(e->in_turn));
        table_number(table, scale * e->machine);
        table_json(table, json_boolean(e->machine_removed));
        table_text(table, c->sentence);
    }
    output_line(out, "%s", "");
}

static void put_guilty(struct output *out, const struct gate *gate)
{
    static const struct column columns[] = {
        {.key = "growth_percent", .head = "growth %", .kind = COLUMN_NUMBER},
        {.key = "base", .head = "base s", .kind = COLUMN_NUMBER, .digits = 3},
        {.key = "head", .head = "head s", .kind = COLUMN_NUMBER, .digits = 3},
        {.key = "ratio", .head = "ratio", .kind = COLUMN_NUMBER},
        {.key = "kind", .head = "what", .kind = COLUMN_TEXT},
        {.key = "function", .head = "function", .kind = COLUMN_TEXT, .elastic = true},
        {.key = "image", .head = "image", .kind = COLUMN_TEXT, .elastic = true, .spare = true},
        {.key = "line", .head = "source line", .kind = COLUMN_TEXT, .elastic = true, .keep_end = true},
        {.key = "cause_text", .head = "cause", .kind = COLUMN_TEXT, .elastic = true},
        {.key = "cause", .kind = COLUMN_TEXT},
        {.key = "line_significant", .kind = COLUMN_JSON},
        {.key = "significant", .kind = COLUMN_JSON},
    };
    if (!gate->n_guilty && output_form(out) == OUTPUT_TEXT)
        return;
    struct table *table = output_table(out, "guilty", columns, 12);
    for (size_t i = 0; i < gate->n_guilty; i++) {
        const struct gate_guilty *g = &gate->guilty[i];
        char line[1200];
        snprintf(line, sizeof line, "%.1100s:%u", g->file ? g->file : "", g->line);
        table_number(table, g->share);
        table_number(table, g->base);
        table_number(table, g->head);
        table_number(table, g->ratio);
        table_text(table, g->kind);
        table_text(table, g->function);
        table_text(table, g->image);
        table_text(table, g->file ? line : NULL);
        table_text(table, *g->cause_text ? g->cause_text : NULL);
        table_text(table, *g->cause ? g->cause : NULL);
        table_json(table, json_boolean(g->line_sure));
        table_json(table, json_boolean(!g->candidate));
    }
    output_line(out, "%s", "");
}

static void put_layouts(struct output *out, const struct gate *gate)
{
    static const struct column columns[] = {
        {.key = "layout", .head = "layout", .kind = COLUMN_COUNT},
        {.key = "change_percent", .head = "change %", .kind = COLUMN_NUMBER},
        {.key = "low_percent", .head = "from %", .kind = COLUMN_NUMBER},
        {.key = "high_percent", .head = "to %", .kind = COLUMN_NUMBER},
        {.key = "runs", .head = "runs", .kind = COLUMN_COUNT},
    };
    if (!gate->relinks || (!gate->n_layouts && output_form(out) == OUTPUT_TEXT))
        return;
    struct table *table = output_table(out, "layouts", columns, sizeof columns / sizeof columns[0]);
    for (size_t i = 0; i < gate->n_layouts; i++) {
        const struct gate_estimate *e = &gate->layout[i].estimate;
        table_count(table, gate->layout[i].number);
        table_number(table, 100 * e->change);
        table_number(table, 100 * e->low);
        table_number(table, 100 * e->high);
        table_count(table, e->runs[1]);
    }
    output_line(out, "%s", "");
}

int gate_report(const struct parsed *args, const struct gate *gate)
{
    struct output *out = output_open(args);
    char sentence[1024];
    gate_sentence(gate, sentence, sizeof sentence);
    output_line(out, "%s", sentence);
    output_line(out, "%s", "");
    output_set(out, "verdict", json_text(gate_verdict_names[gate->verdict]));
    output_set(out, "sentence", json_text(sentence));
    output_set(out, "base", json_text(gate->base));
    output_set(out, "head", json_text(gate->head));
    output_set(out, "ignore_below_percent", json_real(gate->limits.ignore_below));
    output_set(out, "must_see_percent", json_real(gate->limits.must_see));
    if (gate->builds)
        gate_report_builds(out, gate->builds);
    put_checks(out, args, gate);
    put_guilty(out, gate);
    put_layouts(out, gate);
    for (size_t i = 0, shown = 0; i < gate->n_checks && shown < ROWS_SHOWN; i++) {
        const struct gate_check *c = &gate->check[i];
        if (c->verdict == GATE_CANT_TELL || c->verdict == GATE_SLOWER || c->verdict == GATE_LAYOUT) {
            output_line(out, "%s: %s: %s.", c->name, gate_verdict_names[c->verdict], c->sentence);
            shown++;
        }
    }
    for (size_t i = 0; i < gate->n_notes; i++)
        output_note(out, "%s", gate->note[i]);
    if (gate->n_guilty_all > gate->n_guilty)
        output_note(out, "%zu more grew, and less.", gate->n_guilty_all - gate->n_guilty);
    char why[CS_IMAGE_ID_MAX + 80] = "";
    if (gate->builds)
        snprintf(why, sizeof why, " --epoch all --image %s", gate->builds->side[1]->id);
    strcat(why, "      (why it takes its time in the head)");
    if (gate->n_guilty &&
        (strcmp(gate->guilty[0].kind, "function") == 0 || strcmp(gate->guilty[0].kind, GATE_IN_KERNEL) == 0))
        output_hint(out, "next:", "calc", gate->guilty[0].function, "--store", gate->head, why);
    return output_close(out);
}
