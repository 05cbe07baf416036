/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/observe/lengths.h"
#include "cli/command/figures.h"
#include "cli/observe/observed_source.h"
#include "observer/log/lengths.h"

#include <inttypes.h>
#include <math.h>

static const double quantiles[] = {0.5, 0.9, 0.99, 0.999};

static const struct column columns[] = {
    {.key = "name", .head = "value", .kind = COLUMN_TEXT, .elastic = true},
    {.key = "value", .kind = COLUMN_COUNT},
    {.key = "lengths", .head = "lengths", .kind = COLUMN_COUNT},
    {.key = "p50_us", .head = "median µs", .kind = COLUMN_NUMBER},
    {.key = "p90_us", .head = "90 %", .kind = COLUMN_NUMBER},
    {.key = "p99_us", .head = "99 %", .kind = COLUMN_NUMBER},
    {.key = "p999_us", .head = "99.9 %", .kind = COLUMN_NUMBER},
    {.key = "longest_us", .head = "longest", .kind = COLUMN_NUMBER},
    {.key = "waiting_percent", .head = "waiting %", .kind = COLUMN_SHARE, .plain = true, .spare = true},
    {.key = "cut", .head = "cut", .kind = COLUMN_COUNT, .spare = true},
    {.key = "longest_cut_us", .kind = COLUMN_NUMBER},
};

static const char *name_of(void *arg, unsigned tag, uint64_t value)
{
    return cs_observe_log_reader_name_of(arg, tag, value);
}

static void put_row(struct table *table, const struct cs_observe_lengths *l,
                    const struct cs_observe_length_row *row, const char *name, bool all)
{
    const double us = 1e6 / l->cycles_per_second;
    table_text(table, name);
    table_count_if(table, !all, row->value);
    table_count(table, row->whole);
    for (unsigned q = 0; q < sizeof quantiles / sizeof quantiles[0]; q++)
        table_number(table, us * cs_observe_length_quantile(row, quantiles[q]));
    table_number(table, row->whole ? us * (double)row->longest : (double)NAN);
    table_number(table, l->head.follow && row->whole_cycles > 0 ? 100 * row->away_cycles / row->whole_cycles
                                                                : (double)NAN);
    table_count(table, row->cut);
    table_number(table, row->cut ? us * (double)row->longest_cut : (double)NAN);
}

static void say_how_good(struct output *out, const struct cs_observe_lengths *l)
{
    const struct cs_observe_length_row *all = &l->rows[0];
    const double us = 1e6 / l->cycles_per_second, period = l->period_cycles,
                 unseen = l->whole_cycles > 0 ? 100 * l->unseen_cycles / l->whole_cycles : 0,
                 below = 100 * cs_observe_length_below(all, 2 * period);
    char text[2][48];
    output_line(out, "%s", "");
    output_line(out, "A begin and an end are known to half a period: %s µs.",
                figures(us * period / 2, 2, text[0]));
    if (l->numbered)
        output_line(out, "Its numbers only grow, from %" PRIu64 " to %" PRIu64 ": %" PRIu64 " were seen.",
                    l->least, l->most, l->numbers);
    if (l->unseen >= 1)
        output_note(out,
                    "The quantiles count %s that came and went between two samples. If the program leaves "
                    "out numbers, they are too short.",
                    thousands(l->unseen).text);
    output_set(out, "period_us", json_real(us * period));
    output_set(out, "seconds", json_real(l->whole_cycles / l->cycles_per_second));
    output_set(out, "not_looked_percent", json_real(unseen));
    output_set(out, "numbered", json_boolean(l->numbered));
    output_set(out, "numbers_seen", l->numbered ? json_integer((json_int_t)l->numbers) : json_null());
    output_set(out, "numbers_counted_unseen",
               l->numbered ? json_integer((json_int_t)l->unseen) : json_null());
    output_set(out, "least_number", l->numbered ? json_integer((json_int_t)l->least) : json_null());
    output_set(out, "most_number", l->numbered ? json_integer((json_int_t)l->most) : json_null());
    if (all->cut)
        output_line(out,
                    "The observer wasn't looking for %s %% of the time: lengths that this cut count as far "
                    "as they were seen.",
                    figures(unseen, 2, text[0]));
    if (below >= 1)
        output_note(out,
                    l->unseen >= 1 ? "%s %% of the lengths are below two periods (%s µs): how long these are "
                                     "isn't known; a shorter --period shows it"
                                   : "%s %% of the lengths are below two periods (%s µs): more of these "
                                     "weren't seen at all; a shorter --period shows them",
                    figures(below, 2, text[0]), figures(2 * us * period, 2, text[1]));
}

static int print(const struct parsed *args, const struct cs_observe_lengths *l,
                 struct cs_observe_log_reader *log, unsigned tag)
{
    const struct observed view = {.name = name_of, .arg = log};
    struct output *out = output_open(args);
    char zero[256], name[300];
    output_line(out, "%s: how long a value of %s stood, in µs", l->head.program, l->head.tags[tag]);
    output_set(out, "program", json_text(l->head.program));
    output_set(out, "tag", json_text(l->head.tags[tag]));
    struct table *table = output_table(out, "lengths", columns, sizeof columns / sizeof columns[0]);
    observed_value(&view, tag, 0, zero, sizeof zero);
    snprintf(name, sizeof name, "(all but %s)", zero);
    for (unsigned r = 0; r < l->n_rows; r++) {
        if (r)
            observed_value(&view, tag, l->rows[r].value, name, sizeof name);
        put_row(table, l, &l->rows[r], name, r == 0);
    }
    say_how_good(out, l);
    if (cs_observe_log_cut_short(log))
        output_note(out, "the log was cut short: it ends where its writer did");
    return output_close(out);
}

int lengths_print(const struct parsed *args)
{
    const char *path = option(args, "log");
    struct cs_observe_lengths *l;
    struct cs_observe_log_reader *log;
    struct cs_error err;
    if (!path)
        return usage_error("--lengths needs all samples: give --log FILE, written by observe --log");
    if (option_given(args, "subsample"))
        return usage_error("--lengths goes without --subsample");
    struct progress bar;
    struct cs_observe_lengths_options options = {
        .values = (unsigned)option_number(args, "top", 10, 0, CS_LENGTH_VALUES),
        .progress = progress_of,
        .arg = &bar};
    int tag = observed_log_tag(path, option(args, "tag"));
    if (tag < 0)
        return CS_EXIT_FAILED;
    options.tag = (unsigned)tag;
    progress_init(&bar, "reading twice", "B", 0);
    int rc = cs_observe_lengths_fold(path, &options, &l, &log, &err);
    progress_fini(&bar);
    if (rc < 0)
        return failed(&err);
    rc = print(args, l, log, options.tag);
    cs_observe_log_reader_close(log);
    cs_observe_lengths_close(l);
    return rc;
}
