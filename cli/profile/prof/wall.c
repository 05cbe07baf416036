/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/profile/prof/prof.h"

#include "analysis/waits/wall.h"
#include "cli/output/image_name.h"
#include "cli/output/output.h"

#include <math.h>

static double seconds(uint64_t ns)
{
    return (double)ns * 1e-9;
}

static double percent(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : (double)NAN;
}

/* A number, or nothing where there is none: zeros would hide the few that matter. */
static void put_seconds(struct table *table, uint64_t ns)
{
    table_number(table, ns ? seconds(ns) : (double)NAN);
}

static void put(struct output *out, const struct cs_wall *wall, size_t top)
{
    static const struct column columns[] = {
        {.key = "seconds", .head = "s", .kind = COLUMN_NUMBER, .digits = 3},
        {.key = "percent", .head = "%", .kind = COLUMN_SHARE},
        {.key = "on_cpu_seconds", .head = "on CPU", .kind = COLUMN_NUMBER, .digits = 3},
        {.key = "waiting_seconds", .head = "waiting", .kind = COLUMN_NUMBER, .digits = 3},
        {.key = "idle_seconds", .head = "idle", .kind = COLUMN_NUMBER, .digits = 3},
        {.key = "mostly", .head = "mostly for", .kind = COLUMN_TEXT},
        {.key = "procedure", .head = "function", .kind = COLUMN_TEXT, .elastic = true},
        {.key = "image", .kind = COLUMN_TEXT},
        {.key = "image_name", .head = "image", .kind = COLUMN_TEXT, .elastic = true},
    };
    struct table *table = output_table(out, "rows", columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < wall->n; i++) {
        const struct cs_wall_row *row = &wall->rows[i];
        uint64_t ns = row->on_ns + row->waiting_ns;
        put_seconds(table, ns);
        table_number(table, percent(ns, wall->all_ns));
        put_seconds(table, row->on_ns);
        put_seconds(table, row->waiting_ns);
        put_seconds(table, row->idle_ns);
        table_text(table, row->mostly);
        table_text(table, *row->name ? row->name : "[no code of its own]");
        table_text(table, row->image ? row->image->path : NULL);
        table_text(table, row->image ? image_name(row->image) : NULL);
    }
    table_limit(table, top, "--top 0 shows all");
}

int wall_report(const struct parsed *args, struct profile *profile, const char *store, size_t top)
{
    struct cs_error err = {0};
    struct cs_wait_groups waits;
    struct cs_calls running;
    struct cs_wall wall;
    struct cs_calls_wanted wanted = {.event = profile->events[profile->main_event].name,
                                     .label = option(args, "process"),
                                     .inlines = true,
                                     .plain_rare = true};
    if (cs_wait_groups_open(&waits, profile->store, &wanted, &err) < 0)
        return failed(&err);
    int rc = cs_calls_open(&running, profile->store, &wanted, &err);
    if (rc < 0) {
        cs_wait_groups_close(&waits);
        return failed(&err);
    }
    rc = cs_wall_make(&wall, &waits, &running);
    if (rc == 0) {
        struct output *out = output_open(args);
        output_line(out, "%zu thread%s, %.3f s of their time in all: %.3f s on a CPU, %.3f s stolen",
                    waits.n_threads, plural((double)waits.n_threads), seconds(wall.all_ns),
                    seconds(wall.on_ns), seconds(wall.stolen_ns));
        output_line(out, "%s", "");
        output_set(out, "n_threads", json_integer((json_int_t)waits.n_threads));
        output_set(out, "seconds", json_real(seconds(wall.all_ns)));
        output_set(out, "on_cpu_seconds", json_real(seconds(wall.on_ns)));
        output_set(out, "stolen_seconds", json_real(seconds(wall.stolen_ns)));
        output_set(out, "with_chains", json_integer((json_int_t)wall.samples));
        put(out, &wall, top);
        output_line(out, "%s", "");
        output_note(out, "Time in the kernel and the C library counts for the functions that called them. "
                         "Idle time isn't in s and %%: time without work or that may be, and waits for "
                         "threads whose own rows have that time.");
        output_next(out, args, "next:", "waits", NULL, "");
        rc = output_close(out);
    } else {
        rc = failed_with("out of memory for the threads' time in %s", store);
    }
    cs_wall_fini(&wall);
    cs_calls_close(&running);
    cs_wait_groups_close(&waits);
    return rc;
}
