/* SPDX-License-Identifier: GPL-2.0-or-later */
/* diff: two profiles of the same program, by procedure, line or image, with the significance of each
 * difference. */
#include "cli/command/figures.h"
#include "cli/command/recordings.h"
#include "cli/command/time_range.h"
#include "cli/compare/diff_waits.h"
#include "cli/output/output.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROWS_SHOWN 10

static const struct column *columns_for(const struct comparison *c, const char *by)
{
    static struct column columns[] = {
        {.key = "a", .head = "A", .kind = COLUMN_NUMBER, .digits = 3},
        {.key = "b", .head = "B", .kind = COLUMN_NUMBER, .digits = 3},
        {.key = "change", .head = "B - A", .kind = COLUMN_NUMBER, .digits = 3},
        {.key = "ratio", .head = "B / A", .kind = COLUMN_NUMBER},
        {.key = "significant", .head = "real?", .kind = COLUMN_TEXT},
        {.key = "procedure", .head = "function", .kind = COLUMN_TEXT, .elastic = true},
        {.key = "line", .head = NULL, .kind = COLUMN_TEXT, .elastic = true, .keep_end = true},
        {.key = "image", .head = "image", .kind = COLUMN_TEXT, .elastic = true},
        {.key = "samples_a", .kind = COLUMN_NUMBER},
        {.key = "samples_b", .kind = COLUMN_NUMBER},
        {.key = "false_discovery", .kind = COLUMN_NUMBER},
    };
    columns[0].head = c->shares ? "A %" : c->time ? "A s" : "A";
    columns[1].head = c->shares ? "B %" : c->time ? "B s" : "B";
    bool threads = strcmp(by, "thread") == 0;
    columns[5].head = threads ? "thread" : strcmp(by, "image") == 0 ? NULL : "function";
    columns[7].head = threads ? NULL : "image";
    columns[6].head = strcmp(by, "line") == 0 ? "source line" : NULL;
    return columns;
}

static void describe(struct output *out, const struct parsed *args, const struct runs *runs,
                     const struct comparison *c)
{
    for (unsigned s = 0; s < 2; s++) {
        const char *name = "";
        for (size_t r = 0; r < runs->n_runs; r++)
            if (runs->run[r].set == s)
                name = runs->run[r].name;
        if (option_given(args, "before"))
            name = option(args, s ? "after" : "before");
        output_line(out, "%c: %s%s, %.0f run%s, %s sample%s of %s", s ? 'B' : 'A', name,
                    c->side[s].runs > 1 && !option_given(args, "before") ? " (and before)" : "",
                    c->side[s].runs, c->side[s].runs > 1 ? "s" : "", thousands(c->side[s].total).text,
                    plural(c->side[s].total), runs->event);
    }
    output_line(out, "%s", "");
    json_t *sides = json_array();
    for (int s = 0; s < 2; s++)
        json_array_append_new(sides, json_pack("{s:f, s:f, s:f}", "runs", c->side[s].runs, "samples",
                                               c->side[s].total, "period", c->side[s].period));
    output_set(out, "sides", sides);
    output_set(out, "event", json_text(runs->event));
    output_set(out, "unit", json_text(c->shares ? "%" : c->time ? runs->unit : "samples"));
    output_set(out, "common_factor", json_real(c->common_factor));
    output_set(out, "dispersion", json_real(c->usual[0].dispersion));
    output_set(out, "spread_percent", json_real(comparison_spread_percent(c)));
    output_set(out, "significant", json_integer((json_int_t)c->n_significant));
}

static void describe_total(struct output *out, const struct comparison *c, double scale)
{
    const struct total_change *all = &c->all;
    bool known = !isnan(all->chance);
    output_set(out, "total",
               json_pack("{s:f, s:f, s:f, s:o, s:o, s:b}", "a", c->side[0].cost * scale, "b",
                         c->side[1].cost * scale, "ratio", all->ratio, "chance",
                         known ? json_real(all->chance) : json_null(), "visible_percent",
                         known ? json_real(100 * all->visible) : json_null(), "significant",
                         all->significant));
    if (!known)
        output_note(out,
                    "One run on a side: only counting noise is taken into account, not how much runs of one "
                    "binary differ. Record both sides several times into the same stores to be sure.");
    else
        output_note(out,
                    "Total: %+.1f %% per run, %s. These runs would have shown a change of the total by %.1f "
                    "%% in nine cases of ten.",
                    100 * (all->ratio - 1),
                    all->significant ? "a real change" : "not more than runs differ by", 100 * all->visible);
}

/* Exit code of --fail-above: 1 where something real grew by more, 3 where these runs couldn't have shown it. */
static int fail_above(const struct parsed *args, struct output *out, const struct comparison *c)
{
    if (!option_given(args, "fail-above"))
        return 0;
    double percent = option_number(args, "fail-above", 0, 0, 1000), base = c->shares ? 100 : c->side[0].cost;
    double row = 0;
    const char *most = NULL;
    for (size_t i = 0; i < c->n && c->change[i].significant; i++) {
        double more = 100 * (c->change[i].cost_b - c->change[i].cost_a * c->common_factor) / base;
        most = more > row ? c->change[i].row->name : most;
        row = fmax(row, more);
    }
    double all = c->all.significant && !c->shares ? 100 * (c->all.ratio - 1) : 0;
    bool blind = isnan(c->all.visible) || 100 * c->all.visible > percent;
    bool fails = fmax(row, all) > percent;
    if (fails && row >= all)
        output_note(out, "--fail-above %g %%: fails. %s alone costs %.1f %% of the total more.", percent,
                    most ? most : "One row", row);
    else
        output_note(
            out,
            fails   ? "--fail-above %g %%: fails: the total."
            : blind ? "--fail-above %g %%: can't tell, these runs would not have shown it. Record more runs."
                    : "--fail-above %g %%: passes.",
            percent);
    return fails ? 1 : blind ? 3 : 0;
}

static int report(const struct parsed *args, const struct runs *runs, struct comparison *c)
{
    struct output *out = output_open(args);
    describe(out, args, runs, c);
    bool all = option_given(args, "all"), text = output_form(out) == OUTPUT_TEXT;
    double scale = c->time && strcmp(runs->unit, "ns") == 0 ? 1e-9 : 1;
    if (c->time && scale == 1 && text)
        output_line(out, "costs in %s", *runs->unit ? runs->unit : "events");
    const char *by = option_given(args, "by") ? option(args, "by") : "function";
    struct table *table = NULL;
    if (!text || all || c->n_significant) {
        table = output_table(out, "rows", columns_for(c, by), 11);
        table_limit(table, (uint64_t)option_number(args, "top", ROWS_SHOWN, 0, 1e12), "--top 0 shows all");
    }
    char name[1024], brief[1024];
    for (size_t i = 0; table && i < c->n; i++) {
        const struct change *x = &c->change[i];
        if (text && !all && !x->significant)
            break;
        table_number(table, x->cost_a * scale);
        table_number(table, x->cost_b * scale);
        table_number(table, (x->cost_b - x->cost_a) * scale);
        table_number(table, x->ratio);
        table_text(table, x->significant ? "yes" : "no");
        table_names(table, x->row->name ? cs_image_demangle(x->row->name, name, sizeof name) : NULL,
                    x->row->name ? cs_image_short_name(x->row->name, brief, sizeof brief) : NULL);
        table_text(table, x->row->where);
        table_text(table, x->row->image);
        table_number(table, x->a);
        table_number(table, x->b);
        table_number(table, x->discovery);
    }
    if (table)
        output_line(out, "%s", "");
    const char *slow = NULL; /* the largest real change that B still has */
    for (size_t i = 0; !slow && i < c->n && c->change[i].significant; i++)
        slow = c->change[i].cost_b > 0 ? c->change[i].row->name : NULL;
    if (c->common_factor != 1)
        output_note(
            out,
            "All functions together take %.1f %% %s in B: taken for the machine's and removed from B / A.",
            100 * fabs(c->common_factor - 1), c->common_factor > 1 ? "more" : "less");
    output_note(out, "%zu of %zu differ significantly (false discovery rate below 1 %%, change above %g %%).",
                c->n_significant, c->n, c->least);
    describe_total(out, c, scale);
    int verdict = fail_above(args, out, c);
    if (slow && strcmp(by, "function") == 0 && !option_given(args, "epoch-b") && !option_given(args, "after"))
        output_hint(out, "next:", "calc", slow, "--store",
                    operand_count(args) ? operand(args, 1) : option(args, "store"),
                    "      (why it takes its time in B)");
    int rc = output_close(out);
    return rc ? rc : verdict;
}

static int run(const struct parsed *args)
{
    static const char *const names[] = {
        [BY_IMAGE] = "image", [BY_PROCEDURE] = "function", [BY_LINE] = "line", [BY_PROCESS] = "thread", NULL};
    const bool waits = option_given(args, "waits");
    enum profile_by by = waits ? BY_PROCEDURE : option_choice(args, "by", names, BY_PROCEDURE);
    int n = operand_count(args);
    if (n != 0 && n != 2)
        return usage_error(
            "expected two stores, before and after, or none: then the last two recordings of one store");
    char times[2][TIME_RANGE_MAX];
    const char *store = store_location(args), *before = time_range_asked(args, "before", times[0]),
               *after = time_range_asked(args, "after", times[1]);
    const bool timed = before || after;
    if (timed && (n || !before || !after || option_given(args, "epoch-a") || option_given(args, "epoch-b")))
        return usage_error("--before A..B and --after C..D are two times of one store: they go together, "
                           "without other stores and epochs");
    before = timed ? before : option(args, "epoch-a");
    after = timed ? after : option(args, "epoch-b");
    if (waits) {
        const struct diff_side sides[2] = {
            {n ? operand(args, 0) : store, n || before ? before : "-2", !n && !before},
            {n ? operand(args, 1) : store, n || after ? after : "-1", false}};
        return diff_waits(args, sides);
    }
    struct runs runs = {.totals = option_given(args, "total"), .lines_apart = by == BY_LINE};
    if (runs.totals && by != BY_PROCEDURE)
        return usage_error("--total is of functions: it doesn't go with --by %s", option(args, "by"));
    struct comparison c = {.least = option_number(args, "least-change", COMPARISON_LEAST_BY_RUNS, 0, 1000),
                           .shares = timed || option_given(args, "shares")};
    struct cs_error err = {0};
    int rc = runs_add(&runs, n ? operand(args, 0) : store, n || before ? before : "-2", option(args, "event"),
                      by, &err);
    if (rc == -ENOENT && !n && !before && access(store, F_OK) == 0)
        recordings_are_not_two(store, &err);
    const struct cs_store_times times_before = runs.times;
    if (rc == 0)
        rc = runs_add(&runs, n ? operand(args, 1) : store, n || after ? after : "-1", option(args, "event"),
                      by, &err);
    if (rc == 0 && timed)
        rc = recordings_apart(&times_before, &runs.times, &err);
    if (rc < 0)
        rc = failed(&err);
    else if (runs_join_renamed(&runs) < 0 || (runs.lines_apart && runs_join_lines(&runs) < 0) ||
             runs_compare(&runs, &c) < 0)
        rc = failed_with("out of memory for %zu rows", runs.n_rows);
    else
        rc = report(args, &runs, &c);
    free(c.change);
    runs_fini(&runs);
    return rc;
}

static const struct option_entry options[] = {
    OPTION_BY,
    OPTION_EVENT,
    OPTION_TOP,
    OPTION_ALL,
    OPTION_WAITS,
    {"total", 0, NULL, "compare the total cost of functions, callees included (needs call chains)"},
    {"shares", 0, NULL,
     "compare shares of the samples instead of cost per run (for recordings of different lengths)"},
    {"least-change", 0, "PERCENT",
     "smaller changes are never called real (default: 1; 5 if a side has only one run)"},
    {"fail-above", 0, "PERCENT",
     "exit with 1 if the total or one function really grew by more than PERCENT of the total; 3: can't tell"},
    {"epoch-a", 0, "EPOCH",
     "recording of A: a name, -1 (the newest), -2, ... (default: all; without A and B: -2)"},
    {"epoch-b", 0, "EPOCH", "recording of B (default: all; without A and B: -1)"},
    {"before", 0, "FROM..TO",
     "compare two times of a store instead of recordings: this is A (14:00..14:30, -2h..-1h)"},
    {"after", 0, "FROM..TO", "... and this is B"},
    OPTION_STORE,
    {NULL, 0, NULL, NULL},
};

const struct command command_diff = {
    "diff",
    "[A B]",
    "two profiles of the same program: what changed, and what is only noise",
    "Without operands, diff compares the last two recordings of the store. A and B are stores; every "
    "recording in them is a run. Functions match by image name and symbol, also across rebuilt binaries. If "
    "the program's file has another name in B, it is found by its functions. Costs are per run, in seconds "
    "or cycles.\n"
    "\n"
    "A change is real if its false discovery rate is below 1 %, and if the change is larger than "
    "--least-change. The test uses counting noise, widened by how much the runs of one side differ. With "
    "several runs on each side the total is compared, too. --fail-above makes it a test for pipelines.\n"
    "\n"
    "--by takes function (the default), image, line, or a label of record --label, such as thread. --all "
    "also shows the rows that did not change. --waits compares time off the CPU by place (what was waited "
    "for, and in which function), with --by kind only by what was waited for. The test then uses the "
    "variation of single waits instead of counting noise.",
    options,
    run,
};
