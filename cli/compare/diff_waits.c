/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/compare/diff_waits.h"
#include "cli/command/figures.h"

#include "analysis/waits/wait_changes.h"
#include "cli/command/recordings.h"
#include "cli/output/output.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROWS_SHOWN 10

static int add_run(struct cs_wait_changes *c, unsigned side, struct cs_store *store, struct cs_error *err)
{
    struct cs_wait_groups run;
    struct cs_calls_wanted wanted = {.inlines = true};
    int rc = cs_wait_groups_open(&run, store, &wanted, err);
    if (rc < 0)
        return rc;
    rc = cs_wait_changes_add(c, side, &run);
    cs_wait_groups_close(&run);
    return rc < 0 ? cs_fail(err, ENOMEM, "out of memory for the waits of %s", cs_store_path(store)) : 0;
}

/* Every recording of a side that has waits is a run. */
static int add_side(struct cs_wait_changes *c, unsigned side, const struct diff_side *of,
                    struct cs_store_times *times, struct cs_error *err)
{
    struct cs_store *store;
    struct recordings which;
    struct recording_names epochs;
    int rc =
        recordings_open(of->store, of->epoch ? of->epoch : "all", RECORDINGS_OF_CHAINS, &store, &which, err);
    if (rc == -ENOENT && of->implied && access(of->store, F_OK) == 0)
        rc = recordings_are_not_two(of->store, err);
    if (rc < 0)
        return rc;
    *times = which.times;
    rc = recording_names_open(&epochs, store, &which, err);
    for (size_t i = 0; rc == 0 && i < epochs.n; i++) {
        rc = cs_store_see_only(store, (const char *const[]){epochs.at[i]}, 1, err);
        rc = rc < 0 ? rc : add_run(c, side, store, err);
        if (rc == -ENOENT)
            rc = 0;
    }
    if (rc == 0 && !c->runs[side])
        rc = cs_fail(err, ENOENT, "%s has no waits: cyclescope record --waits records them", of->store);
    recording_names_close(&epochs);
    cs_store_close(store);
    return rc;
}

static const struct column *columns_for(const struct cs_wait_changes *c)
{
    static struct column columns[] = {
        {.key = "a", .kind = COLUMN_NUMBER, .digits = 3},
        {.key = "b", .kind = COLUMN_NUMBER, .digits = 3},
        {.key = "change", .head = "B - A", .kind = COLUMN_NUMBER, .digits = 3},
        {.key = "ratio", .head = "B / A", .kind = COLUMN_NUMBER},
        {.key = "significant", .head = "real?", .kind = COLUMN_TEXT},
        {.key = "kind", .head = "for", .kind = COLUMN_TEXT},
        {.key = "where", .head = "in", .kind = COLUMN_TEXT, .elastic = true},
        {.key = "image", .head = "image", .kind = COLUMN_TEXT, .elastic = true, .spare = true},
        {.key = "meanwhile", .head = "who meanwhile was", .kind = COLUMN_TEXT, .elastic = true},
        {.key = "waits_a", .head = "waits A", .kind = COLUMN_NUMBER, .digits = -1, .spare = true},
        {.key = "waits_b", .head = "waits B", .kind = COLUMN_NUMBER, .digits = -1, .spare = true},
        {.key = "false_discovery", .kind = COLUMN_NUMBER},
        {.key = "idle", .kind = COLUMN_JSON},
    };
    columns[0].head = c->shares ? "A %" : "A s";
    columns[1].head = c->shares ? "B %" : "B s";
    columns[6].head = c->by_kind ? NULL : "in";
    columns[7].head = c->by_kind ? NULL : "image";
    columns[8].head = c->by_kind ? NULL : "who meanwhile was";
    return columns;
}

static void put_rows(struct output *out, const struct parsed *args, const struct cs_wait_changes *c, bool all)
{
    struct table *table = output_table(out, "rows", columns_for(c), 13);
    double scale = c->shares ? 1 : 1e-9;
    table_limit(table, (uint64_t)option_number(args, "top", ROWS_SHOWN, 0, 1e12), "--top 0 shows all");
    for (size_t i = 0; i < c->n; i++) {
        const struct cs_wait_change *x = &c->at[i];
        if (!all && !x->significant)
            break;
        table_number(table, x->side[0].ns * scale);
        table_number(table, x->side[1].ns * scale);
        table_number(table, x->difference * scale);
        table_number(table, x->ratio);
        table_text(table, x->significant ? "yes" : x->others ? "others" : "no");
        table_text(table, x->kind);
        table_text(table, *x->where ? x->where : NULL);
        table_text(table, *x->image ? x->image : NULL);
        table_text(table, *x->meanwhile ? x->meanwhile : NULL);
        table_number(table, x->side[0].waits);
        table_number(table, x->side[1].waits);
        table_number(table, x->discovery);
        table_json(table, json_boolean(x->idle));
    }
    output_line(out, "%s", "");
}

static int report(const struct parsed *args, const struct diff_side side[2], const struct cs_wait_changes *c)
{
    struct output *out = output_open(args);
    json_t *sides = json_array();
    bool all = option_given(args, "all") || output_form(out) != OUTPUT_TEXT;
    for (unsigned s = 0; s < 2; s++) {
        const char *epoch =
            option_given(args, "before") ? option(args, s ? "after" : "before") : side[s].epoch;
        output_line(out, "%c: %s%s%s, %u run%s, %s s of threads' time per run", s ? 'B' : 'A', side[s].store,
                    epoch ? " " : "", epoch ? epoch : "", c->runs[s], plural(c->runs[s]),
                    figure(c->seconds[s], 3).text);
        json_array_append_new(sides,
                              json_pack("{s:i, s:f}", "runs", (int)c->runs[s], "seconds", c->seconds[s]));
    }
    output_line(out, "%s", "");
    output_set(out, "sides", sides);
    output_set(out, "unit", json_text(c->shares ? "%" : "s"));
    output_set(out, "dispersion", json_real(c->dispersion));
    output_set(out, "dispersion_for_cpu", json_real(c->dispersion_for_cpu));
    output_set(out, "significant", json_integer((json_int_t)c->n_significant));
    if (all || c->n_significant)
        put_rows(out, args, c, all);
    output_note(out, "%zu of %zu differ significantly (false discovery rate below 1 %%, change above %g %%).",
                c->n_significant, c->n, c->least_percent);
    if (c->n_others)
        output_note(out,
                    "%zu other change%s: of waits for a CPU that other programs used, so not of this "
                    "program. --all shows such rows as \"others\".",
                    c->n_others, plural((double)c->n_others));
    if (c->runs[0] < 2 || c->runs[1] < 2)
        output_note(
            out,
            "One run on a side: only the chance of single waits is taken into account, not how much runs of "
            "one binary differ. Record both sides several times into the same stores to be sure.");
    if (!option_given(args, "epoch-b") && !option_given(args, "after"))
        output_hint(out, "next:", "waits", NULL, "--store", side[1].store, "      (the waits of B)");
    return output_close(out);
}

int diff_waits(const struct parsed *args, const struct diff_side side[2])
{
    assert(side[0].store && side[1].store);
    static const char *const by_names[] = {"place", "kind", NULL};
    struct cs_wait_changes c = {.shares = option_given(args, "shares") || option_given(args, "before"),
                                .by_kind = option_choice(args, "by", by_names, 0) == 1,
                                .least_percent =
                                    option_number(args, "least-change", COMPARISON_LEAST_CHANGE, 0, 1000)};
    struct cs_store_times times[2];
    struct cs_error err = {0};
    int rc = 0;
    if (option_given(args, "total") || option_given(args, "event") || option_given(args, "fail-above"))
        return usage_error("--event, --total and --fail-above don't go with --waits (gate judges waits)");
    for (unsigned s = 0; rc == 0 && s < 2; s++)
        rc = add_side(&c, s, &side[s], &times[s], &err);
    if (rc == 0 && option_given(args, "before"))
        rc = recordings_apart(&times[0], &times[1], &err);
    if (rc < 0)
        rc = failed(&err);
    else if (cs_wait_changes_end(&c) < 0)
        rc = failed_with("out of memory for %zu rows", c.n);
    else
        rc = report(args, side, &c);
    cs_wait_changes_fini(&c);
    return rc;
}
