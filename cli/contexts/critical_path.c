/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/contexts/critical_path.h"
#include "cli/command/figures.h"

#include "analysis/waits/critical_path.h"
#include "cli/contexts/contexts.h"
#include "cli/output/image_name.h"

#include <math.h>

#define ROWS_SHOWN 10

static void put(struct output *out, const struct parsed *args, const struct cs_critical_path *path)
{
    static const struct column columns[] = {
        {.key = "seconds", .head = "s", .kind = COLUMN_NUMBER, .digits = 3},
        {.key = "percent", .head = "%", .kind = COLUMN_SHARE},
        {.key = "what", .head = "what", .kind = COLUMN_TEXT},
        {.key = "procedure", .head = "in", .kind = COLUMN_TEXT, .elastic = true},
        {.key = "image", .kind = COLUMN_TEXT},
        {.key = "image_name", .head = "image", .kind = COLUMN_TEXT, .elastic = true, .spare = true},
        {.key = "thread", .head = "thread", .kind = COLUMN_TEXT, .elastic = true},
    };
    struct table *table = output_table(out, "rows", columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < path->n; i++) {
        const struct cs_path_row *row = &path->rows[i];
        const struct cs_store_image *image = row->function ? row->function->image : NULL;
        double percent = path->all_ns > 0 ? 100 * row->ns / path->all_ns : (double)NAN;
        table_number(table, row->ns * 1e-9);
        table_number(table, percent);
        table_text(table, row->what);
        table_text(table, row->function ? row->function->brief : NULL);
        table_text(table, image ? image->path : NULL);
        table_text(table, image ? image_name(image) : NULL);
        table_text(table, row->thread);
    }
    table_limit(table, (uint64_t)option_number(args, "top", ROWS_SHOWN, 0, 1e12), "--top 0 shows all");
}

static void put_functions(struct output *out, const struct parsed *args, const struct cs_critical_path *path)
{
    static const struct column columns[] = {
        {.key = "seconds", .head = "s", .kind = COLUMN_NUMBER, .digits = 3},
        {.key = "percent", .head = "%", .kind = COLUMN_SHARE},
        {.key = "half_saves_percent", .head = "half saves %", .kind = COLUMN_SHARE},
        {.key = "procedure", .head = "in, and what it called", .kind = COLUMN_TEXT, .elastic = true},
        {.key = "image", .kind = COLUMN_TEXT},
        {.key = "image_name", .head = "image", .kind = COLUMN_TEXT, .elastic = true},
    };
    struct table *table = output_table(out, "procedures", columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < path->n_functions; i++) {
        const struct cs_path_function *f = &path->functions[i];
        double percent = path->all_ns > 0 ? 100 * f->ns / path->all_ns : (double)NAN;
        table_number(table, f->ns * 1e-9);
        table_number(table, percent);
        table_number(table, path->all_ns > 0 ? 100 * f->saves_ns / path->all_ns : (double)NAN);
        table_text(table, f->function->brief);
        table_text(table, f->function->image->path);
        table_text(table, image_name(f->function->image));
    }
    table_limit(table, (uint64_t)option_number(args, "top", ROWS_SHOWN, 0, 1e12), "--top 0 shows all");
}

static int report(const struct parsed *args, struct chains *running, const struct cs_wait_groups *waits,
                  const struct cs_calls_wanted *wanted)
{
    struct cs_error err = {0};
    struct cs_critical_path path;
    if (cs_critical_path_make(&path, running->profile.store, wanted, waits, &running->calls,
                              option(args, "of"), &err) < 0)
        return failed(&err);
    struct output *out = output_open(args);
    if (path.n_threads > 1)
        output_line(out, "critical paths of %u threads %s, %s s in all", path.n_threads, path.thread,
                    figure(path.all_ns * 1e-9, 3).text);
    else
        output_line(out, "critical path of thread %s, %s s", path.thread, figure(path.all_ns * 1e-9, 3).text);
    output_line(out, "%s", "");
    output_set(out, "thread", json_text(path.thread));
    output_set(out, "n_threads", json_integer(path.n_threads));
    output_set(out, "seconds", json_real(path.all_ns * 1e-9));
    put(out, args, &path);
    output_line(out, "%s", "");
    put_functions(out, args, &path);
    output_line(out, "%s", "");
    output_note(
        out, "Where the thread waited for another thread, the tables show what that other thread did. Half "
             "saves: by how much the thread would be faster if this took half its time. It is an estimate: "
             "no run is shorter than its busiest thread computes, and another wait may then take longer.");
    output_next(out, args, "next:", "timeline", NULL, "      (what threads did over time)");
    cs_critical_path_fini(&path);
    return output_close(out);
}

int critical_path_report(const struct parsed *args)
{
    struct cs_error err = {0};
    struct chains running;
    struct cs_wait_groups waits;
    int rc = chains_open(&running, args, true, false);
    if (rc)
        return rc;
    struct cs_calls_wanted wanted = {.label = option(args, "process"),
                                     .inlines = !option_given(args, "no-inlines")};
    rc = cs_wait_groups_open(&waits, running.profile.store, &wanted, &err);
    if (rc < 0) {
        chains_close(&running);
        return failed(&err);
    }
    rc = report(args, &running, &waits, &wanted);
    cs_wait_groups_close(&waits);
    chains_close(&running);
    return rc;
}
