/* SPDX-License-Identifier: GPL-2.0-or-later */
/* diff: two profiles of the same program, by procedure, line or image, with the significance of each
 * difference.
 *
 * A difference counts when chance is unlikely to make it (false discovery rate below 1 %) and when it is
 * larger than
 * --least percent. Chance: counting noise, times the dispersion that the runs of one side show among
 * themselves. A machine that is a little faster or slower today changes all procedures alike: where at least
 * five can be compared and their median ratio is within 15 % of 1, it is taken out first, and said. */
#include "analysis/significance.h"
#include "cli/output.h"
#include "cli/runs.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SIGNIFICANT 0.01
#define LEAST_CHANGE 5.0        /* percent; two runs of one binary differ by that on quiet machines */
#define COMMON_FACTOR_MOST 1.15 /* beyond, it is the program that changed */
#define COMPARABLE_LEAST 5
#define ROWS_SHOWN 10

struct change {
    const struct run_row *row;
    double a, b;           /* samples of the whole side */
    double cost_a, cost_b; /* a run, in the unit of the period */
    double ratio, chance, discovery;
    bool significant;
};

struct side {
    double runs, total, period;
};

struct comparison {
    struct side side[2];
    double common_factor, dispersion, least;
    bool shares, time;
    struct change *change;
    size_t n, n_significant;
};

static void sum_sides(const struct runs *runs, struct comparison *c)
{
    for (size_t r = 0; r < runs->n_runs; r++) {
        struct side *s = &c->side[runs->run[r].set];
        s->period = (s->period * s->total + runs->run[r].period * runs->run[r].total) /
                    fmax(s->total + runs->run[r].total, 1);
        s->total += runs->run[r].total;
        s->runs++;
    }
}

/* Pooled variance over mean of a row's runs within a side, each run scaled to the same total: 1 = counting
 * noise. */
static double pooled_dispersion(const struct runs *runs)
{
    double chi = 0, freedom = 0;
    for (size_t i = 0; i < runs->n_rows; i++) {
        for (unsigned set = 0; set < 2; set++) {
            double sum = 0, total = 0, n = 0;
            for (size_t r = 0; r < runs->n_runs; r++) {
                if (runs->run[r].set == set) {
                    sum += runs->row[i].samples[r];
                    total += runs->run[r].total;
                    n++;
                }
            }
            if (n < 2 || sum / n < 20)
                continue;
            for (size_t r = 0; r < runs->n_runs; r++) {
                double expected = sum * runs->run[r].total / total;
                if (runs->run[r].set == set && expected > 0)
                    chi += pow(runs->row[i].samples[r] - expected, 2) / expected;
            }
            freedom += n - 1;
        }
    }
    return freedom >= 1 ? fmax(1, chi / freedom) : 1;
}

static double find_common_factor(const struct comparison *c)
{
    double *ratios = malloc((c->n + 1) * sizeof *ratios);
    size_t n = 0;
    for (size_t i = 0; ratios && i < c->n; i++)
        if (c->change[i].a + c->change[i].b > 0.01 * (c->side[0].total + c->side[1].total) &&
            c->change[i].a > 0)
            ratios[n++] = c->change[i].cost_b / c->change[i].cost_a;
    double median = n >= COMPARABLE_LEAST ? cs_median(ratios, n) : 1;
    free(ratios);
    return median > 1 / COMMON_FACTOR_MOST && median < COMMON_FACTOR_MOST ? median : 1;
}

static int by_change(const void *left, const void *right)
{
    const struct change *a = left, *b = right;
    if (a->significant != b->significant)
        return a->significant ? -1 : 1;
    double x = fabs(a->cost_b - a->cost_a), y = fabs(b->cost_b - b->cost_a);
    return (x < y) - (x > y);
}

static int compare(const struct runs *runs, struct comparison *c)
{
    sum_sides(runs, c);
    c->dispersion = pooled_dispersion(runs);
    c->time = !c->shares && c->side[0].period > 0 && c->side[1].period > 0;
    c->change = calloc(runs->n_rows + 1, sizeof *c->change);
    double *p = malloc((runs->n_rows + 1) * sizeof *p), *q = malloc((runs->n_rows + 1) * sizeof *q);
    if (!c->change || !p || !q) {
        free(p);
        free(q);
        return -ENOMEM;
    }
    /* What one sample of a side weighs in what is compared. */
    double weight[2];
    for (int s = 0; s < 2; s++)
        weight[s] =
            c->shares ? 100 / fmax(c->side[s].total, 1) : (c->time ? c->side[s].period : 1) / c->side[s].runs;
    for (size_t i = 0; i < runs->n_rows; i++) {
        struct change *x = &c->change[c->n++];
        *x = (struct change){.row = &runs->row[i]};
        for (size_t r = 0; r < runs->n_runs; r++)
            *(runs->run[r].set ? &x->b : &x->a) += runs->row[i].samples[r];
        x->cost_a = x->a * weight[0];
        x->cost_b = x->b * weight[1];
    }
    c->common_factor = c->shares ? 1 : find_common_factor(c);
    for (size_t i = 0; i < c->n; i++) {
        struct change *x = &c->change[i];
        x->ratio = x->cost_a > 0 ? x->cost_b / c->common_factor / x->cost_a : (double)INFINITY;
        double expect_a = 1 / weight[0], expect_b = c->common_factor / weight[1];
        p[i] = cs_binomial_two_sided(x->a / c->dispersion, (x->a + x->b) / c->dispersion,
                                     expect_a / (expect_a + expect_b));
        x->chance = p[i];
    }
    int rc = cs_false_discovery(p, c->n, q);
    for (size_t i = 0; i < c->n && rc == 0; i++) {
        struct change *x = &c->change[i];
        x->discovery = q[i];
        x->significant =
            q[i] < SIGNIFICANT && (x->ratio > 1 + c->least / 100 || x->ratio < 1 / (1 + c->least / 100));
        c->n_significant += x->significant;
    }
    qsort(c->change, c->n, sizeof *c->change, by_change);
    free(p);
    free(q);
    return rc;
}

static const struct column *columns_for(const struct comparison *c, bool lines)
{
    static struct column columns[] = {
        {.key = "a", .head = "A", .kind = COLUMN_NUMBER, .digits = 3},
        {.key = "b", .head = "B", .kind = COLUMN_NUMBER, .digits = 3},
        {.key = "change", .head = "B - A", .kind = COLUMN_NUMBER, .digits = 3},
        {.key = "ratio", .head = "B / A", .kind = COLUMN_NUMBER},
        {.key = "significant", .head = "real?", .kind = COLUMN_TEXT},
        {.key = "procedure", .head = "procedure", .kind = COLUMN_TEXT, .elastic = true},
        {.key = "line", .head = NULL, .kind = COLUMN_TEXT, .elastic = true},
        {.key = "image", .head = "image", .kind = COLUMN_TEXT, .elastic = true},
        {.key = "samples_a", .kind = COLUMN_NUMBER},
        {.key = "samples_b", .kind = COLUMN_NUMBER},
        {.key = "false_discovery", .kind = COLUMN_NUMBER},
    };
    columns[0].head = c->shares ? "A %" : c->time ? "A s" : "A";
    columns[1].head = c->shares ? "B %" : c->time ? "B s" : "B";
    columns[6].head = lines ? "source line" : NULL;
    return columns;
}

static void describe(struct output *out, const struct runs *runs, const struct comparison *c)
{
    for (unsigned s = 0; s < 2; s++) {
        const char *name = "";
        for (size_t r = 0; r < runs->n_runs; r++)
            if (runs->run[r].set == s)
                name = runs->run[r].name;
        output_line(out, "%c: %s%s, %.0f run%s, %.0f samples of %s", s ? 'B' : 'A', name,
                    c->side[s].runs > 1 ? " (and before)" : "", c->side[s].runs,
                    c->side[s].runs > 1 ? "s" : "", c->side[s].total, runs->event);
    }
    output_line(out, "%s", "");
    json_t *sides = json_array();
    for (int s = 0; s < 2; s++)
        json_array_append_new(sides, json_pack("{s:f, s:f, s:f}", "runs", c->side[s].runs, "samples",
                                               c->side[s].total, "period", c->side[s].period));
    output_set(out, "sides", sides);
    output_set(out, "event", json_string(runs->event));
    output_set(out, "unit", json_string(c->shares ? "%" : c->time ? runs->unit : "samples"));
    output_set(out, "common_factor", json_real(c->common_factor));
    output_set(out, "dispersion", json_real(c->dispersion));
    output_set(out, "significant", json_integer((json_int_t)c->n_significant));
}

static int report(const struct parsed *args, const struct runs *runs, struct comparison *c)
{
    struct output *out = output_open(args);
    describe(out, runs, c);
    bool all = option_given(args, "all"), text = output_form(out) == OUTPUT_TEXT;
    double scale = c->time && strcmp(runs->unit, "ns") == 0 ? 1e-9 : 1;
    if (c->time && scale == 1 && text)
        output_line(out, "costs in %s", *runs->unit ? runs->unit : "events");
    bool lines = option_given(args, "by") && strcmp(option(args, "by"), "line") == 0;
    struct sheet *sheet = NULL;
    if (!text || all || c->n_significant) {
        sheet = output_sheet(out, "rows", columns_for(c, lines), 11);
        sheet_limit(sheet, (uint64_t)option_number(args, "top", ROWS_SHOWN, 0, 1e12), "--top 0 shows all");
    }
    char name[1024];
    for (size_t i = 0; sheet && i < c->n; i++) {
        const struct change *x = &c->change[i];
        if (text && !all && !x->significant)
            break;
        sheet_number(sheet, x->cost_a * scale);
        sheet_number(sheet, x->cost_b * scale);
        sheet_number(sheet, (x->cost_b - x->cost_a) * scale);
        sheet_number(sheet, x->ratio);
        sheet_text(sheet, x->significant ? "yes" : "no");
        sheet_text(sheet, x->row->name ? cs_code_demangle(x->row->name, name, sizeof name) : NULL);
        sheet_text(sheet, x->row->where);
        sheet_text(sheet, x->row->image);
        sheet_number(sheet, x->a);
        sheet_number(sheet, x->b);
        sheet_number(sheet, x->discovery);
    }
    if (sheet)
        output_line(out, "%s", "");
    if (c->common_factor != 1)
        output_note(
            out,
            "All procedures together take %.1f %% %s in B: taken for the machine's and removed from B / A.",
            100 * fabs(c->common_factor - 1), c->common_factor > 1 ? "more" : "less");
    output_note(out, "%zu of %zu differ significantly (false discovery rate below 1 %%, change above %g %%).",
                c->n_significant, c->n, c->least);
    if (c->side[0].runs < 2 || c->side[1].runs < 2)
        output_note(
            out, "One run on a side: how much runs of one binary differ is not known, only counting noise is "
                 "taken into account. Record both sides several times into the same stores to be sure.");
    return output_close(out);
}

static int run(const struct parsed *args)
{
    const char *by = option_given(args, "by") ? option(args, "by") : "procedure";
    static const char *const names[] = {"image", "procedure", "line", NULL};
    static const enum profile_by kinds[] = {BY_IMAGE, BY_PROCEDURE, BY_LINE};
    int k = 0;
    while (names[k] && strcmp(names[k], by) != 0)
        k++;
    if (!names[k])
        return usage_error("--by %s: expected image, procedure or line", by);
    if (operand_count(args) != 2)
        return usage_error("expected two stores, before and after");
    struct runs runs = {.n_runs = 0};
    struct comparison c = {.least = option_number(args, "least", LEAST_CHANGE, 0, 1000),
                           .shares = option_given(args, "shares")};
    struct cs_error err = {0};
    int rc =
        runs_add(&runs, operand(args, 0), option(args, "epoch-a"), option(args, "event"), kinds[k], &err);
    if (rc == 0)
        rc =
            runs_add(&runs, operand(args, 1), option(args, "epoch-b"), option(args, "event"), kinds[k], &err);
    if (rc < 0)
        rc = failed(&err);
    else if (compare(&runs, &c) < 0)
        rc = failed_with("out of memory for %zu rows", runs.n_rows);
    else
        rc = report(args, &runs, &c);
    free(c.change);
    runs_fini(&runs);
    return rc;
}

static const struct option_entry options[] = {
    {"by", 'b', "WHAT", "procedure (default), image or line"},
    {"event", 'e', "EVENT", "which event's samples"},
    {"shares", 0, NULL,
     "compare shares of the samples (for recordings of different lengths), not cost a run"},
    {"least", 0, "PERCENT", "smaller changes are never called significant (default 5)"},
    {"all", 'a', NULL, "show the rows that did not change too"},
    {"epoch-a", 0, "EPOCH", "only this epoch of A"},
    {"epoch-b", 0, "EPOCH", "only this epoch of B"},
    {"top", 'n', "N", "rows shown (default 10, 0 = all)"},
    {NULL, 0, NULL, NULL},
};

extern const struct command command_diff;
const struct command command_diff = {
    "diff",
    "A B",
    "two profiles of the same program: what changed, and what is only noise",
    "A and B are stores; every epoch in them is a run. Procedures match by image name and symbol, also "
    "across rebuilt\n"
    "binaries. Costs are per run: seconds or cycles. A change is real when its false discovery rate is below "
    "1 % (counting\n"
    "noise, widened by how much the runs of one side differ) and it is larger than --least.",
    options,
    run,
};
