/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stats: which procedures vary from run to run. dcpi-1997 section 3.3, figure 3 (dcpistats): sorted by
 * normalised range, (maximum - minimum) / sum. Beyond the paper: the chance that counting noise alone varies
 * as much, and procedures whose variation it explains come last. */
#include "analysis/statistics/significance.h"
#include "cli/command/figures.h"
#include "cli/compare/runs.h"
#include "cli/output/output.h"
#include "store/base/order.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SIGNIFICANT 0.01
#define ROWS_SHOWN 10
#define LEAST_SHARE 1.0 /* percent of the sum; figure 3 has none below */

struct statistic {
    const struct run_row *row;
    double sum, mean, deviation, least, most, range, chance, discovery;
};

static const struct column columns[] = {
    {.key = "range_percent", .head = "range %", .kind = COLUMN_NUMBER},
    {.key = "sum", .head = "sum", .kind = COLUMN_NUMBER, .digits = -1},
    {.key = "sum_percent", .head = "sum %", .kind = COLUMN_SHARE},
    {.key = "runs", .head = "N", .kind = COLUMN_COUNT, .spare = true},
    {.key = "mean", .head = "mean", .kind = COLUMN_NUMBER, .digits = 1},
    {.key = "deviation", .head = "std dev", .kind = COLUMN_NUMBER, .digits = 1},
    {.key = "min", .head = "min", .kind = COLUMN_NUMBER, .digits = -1, .spare = true},
    {.key = "max", .head = "max", .kind = COLUMN_NUMBER, .digits = -1, .spare = true},
    {.key = "varies", .head = "varies", .kind = COLUMN_TEXT},
    {.key = "procedure", .head = "function", .kind = COLUMN_TEXT, .elastic = true},
    {.key = "image", .head = "image", .kind = COLUMN_TEXT, .elastic = true},
    {.key = "false_discovery", .kind = COLUMN_NUMBER},
};

static const struct column run_columns[] = {
    {.key = "run", .head = "run", .kind = COLUMN_COUNT},
    {.key = "samples", .head = "samples", .kind = COLUMN_NUMBER, .digits = -1},
    {.key = "name", .head = "store and epoch", .kind = COLUMN_TEXT, .elastic = true},
};

static struct statistic describe(const struct run_row *row, size_t n)
{
    struct statistic s = {.row = row, .least = row->samples[0], .most = row->samples[0]};
    for (size_t r = 0; r < n; r++) {
        s.sum += row->samples[r];
        s.least = fmin(s.least, row->samples[r]);
        s.most = fmax(s.most, row->samples[r]);
    }
    s.mean = s.sum / (double)n;
    double squares = 0;
    for (size_t r = 0; r < n; r++)
        squares += (row->samples[r] - s.mean) * (row->samples[r] - s.mean);
    s.deviation = n > 1 ? sqrt(squares / (double)(n - 1)) : 0;
    s.range = s.sum > 0 ? 100 * (s.most - s.least) / s.sum : 0;
    s.chance = cs_counts_differ(row->samples, NULL, n, 1);
    return s;
}

CS_ORDER(by_range, struct statistic, cs_order(b->discovery < SIGNIFICANT, a->discovery < SIGNIFICANT),
         cs_order(b->range, a->range))

static int rate(struct statistic *all, size_t n)
{
    double *p = malloc((n + 1) * sizeof *p), *q = malloc((n + 1) * sizeof *q);
    int rc = p && q ? 0 : -ENOMEM;
    for (size_t i = 0; i < n && rc == 0; i++)
        p[i] = all[i].chance;
    if (rc == 0)
        rc = cs_false_discovery(p, n, n, q);
    for (size_t i = 0; i < n && rc == 0; i++)
        all[i].discovery = q[i];
    free(p);
    free(q);
    return rc;
}

static void fill(struct table *table, const struct statistic *s, const struct runs *runs, double total)
{
    char name[1024], brief[1024];
    table_number(table, s->range);
    table_number(table, s->sum);
    table_number(table, 100 * s->sum / total);
    table_count(table, runs->n_runs);
    table_number(table, s->mean);
    table_number(table, s->deviation);
    table_number(table, s->least);
    table_number(table, s->most);
    table_text(table, s->discovery < SIGNIFICANT ? "yes" : "noise");
    table_names(table, s->row->name ? cs_image_demangle(s->row->name, name, sizeof name) : NULL,
                s->row->name ? cs_image_short_name(s->row->name, brief, sizeof brief) : NULL);
    table_text(table, s->row->image);
    table_number(table, s->discovery);
}

static int report(const struct parsed *args, const struct runs *runs)
{
    double total = 0, least = option_number(args, "least-share", LEAST_SHARE, 0, 100);
    for (size_t r = 0; r < runs->n_runs; r++)
        total += runs->run[r].total;
    struct statistic *all = malloc((runs->n_rows + 1) * sizeof *all);
    size_t n = 0;
    for (size_t i = 0; all && i < runs->n_rows; i++) {
        struct statistic s = describe(&runs->row[i], runs->n_runs);
        if (s.sum >= total * least / 100)
            all[n++] = s;
    }
    if (!all || rate(all, n) < 0) {
        free(all);
        return failed_with("out of memory for %zu rows", runs->n_rows);
    }
    cs_sort(all, n, by_range);

    struct output *out = output_open(args);
    output_set(out, "event", json_text(runs->event));
    output_line(out, "%s samples of %s in %zu run%s", thousands(total).text, runs->event, runs->n_runs,
                plural((double)runs->n_runs));
    struct table *table = output_table(out, "runs", run_columns, 3);
    for (size_t r = 0; r < runs->n_runs; r++) {
        table_count(table, r + 1);
        table_number(table, runs->run[r].total);
        table_text(table, runs->run[r].name);
    }
    output_line(out, "%s", "");
    table = output_table(out, "rows", columns, sizeof columns / sizeof *columns);
    table_limit(table, (uint64_t)option_number(args, "top", ROWS_SHOWN, 0, 1e12), "--top 0 shows all");
    for (size_t i = 0; i < n; i++)
        fill(table, &all[i], runs, total);
    output_line(out, "%s", "");
    if (n && all[0].discovery < SIGNIFICANT && all[0].row->name)
        output_note(out,
                    "%s varies most: from %s to %s samples, where counting noise alone would give a "
                    "deviation of %s, not %s.",
                    all[0].row->name, thousands(all[0].least).text, thousands(all[0].most).text,
                    thousands(sqrt(all[0].mean)).text, thousands(all[0].deviation).text);
    else
        output_note(out, "No function above %g %% of the samples varies by more than counting noise.", least);
    free(all);
    return output_close(out);
}

static int run(const struct parsed *args)
{
    struct runs runs = {.n_runs = 0};
    struct cs_error err = {0};
    static const char *const names[] = {
        [BY_IMAGE] = "image", [BY_PROCEDURE] = "function", [BY_LINE] = "line", NULL};
    enum profile_by by = option_choice(args, "by", names, BY_PROCEDURE);
    int n = operand_count(args), rc = 0;
    for (int i = 0; i < (n ? n : 1) && rc == 0; i++)
        rc = runs_add(&runs, n ? operand(args, i) : store_location(args), NULL, option(args, "event"), by,
                      &err);
    if (rc < 0)
        rc = failed(&err);
    else if (runs.n_runs < 2)
        rc = failed_with("%s holds one run: variation needs two at least (record again into the same store, "
                         "or name several stores)",
                         n ? operand(args, 0) : store_location(args));
    else
        rc = report(args, &runs);
    runs_fini(&runs);
    return rc;
}

static const struct option_entry options[] = {
    OPTION_BY,    OPTION_EVENT,
    OPTION_TOP,   {"least-share", 0, "PERCENT", "rows below this share of all samples are not shown (1)"},
    OPTION_STORE, {NULL, 0, NULL, NULL},
};

const struct command command_stats = {
    "stats",
    "[STORE...]",
    "which functions vary from run to run",
    "Every recording in every store is a run. Rows are sorted by normalised range, (max - min) / sum, as in "
    "dcpistats. Rows whose variation counting noise explains (false discovery rate above 1 %) are marked "
    "noise and come last. --by takes function (the default), image or line.",
    options,
    run,
};
