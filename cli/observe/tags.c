/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tags: the table of what ran under each value of a tag. shim-2015 figure 1c, 6.1. */
#include "cli/observe/lengths.h"
#include "cli/observe/observed_source.h"
#include "cli/observe/series.h"
#include "store/base/order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct column coarser_columns[] = {
    {.key = "subsample", .head = "every", .kind = COLUMN_COUNT},
    {.key = "name", .head = "value", .kind = COLUMN_TEXT, .elastic = true},
    {.key = "samples", .head = "samples", .kind = COLUMN_COUNT},
    {.key = "percent", .head = "%", .kind = COLUMN_SHARE},
    {.key = "visits", .head = "visits", .kind = COLUMN_COUNT},
    {.key = "rate", .head = "rate", .kind = COLUMN_NUMBER, .digits = 3},
};

/* Shares and means of the values that all samples see most of, as the period grows (shim-2015 figures 1a, 1c). */
static void coarser_rows(struct table *table, unsigned every, const struct observed *o, unsigned tag,
                         const uint64_t *values, size_t n)
{
    const struct cs_tags *tags = o->sink->tags[tag];
    double total = 0;
    for (uint32_t r = 0; r < tags->n_rows; r++)
        total += tags->rows[r].tag == CS_TAG_DESCHEDULED ? 0 : (double)tags->rows[r].half_cycles;
    for (size_t i = 0; i < n; i++)
        for (uint32_t r = 0; r < tags->n_rows; r++) {
            const struct cs_tag_row *row = &tags->rows[r];
            char name[256];
            if (row->tag != values[i])
                continue;
            observed_value(o, tag, row->tag, name, sizeof name);
            table_count(table, every);
            table_text(table, name);
            table_count(table, row->samples);
            table_number(table, total > 0 ? 100 * (double)row->half_cycles / total : 0);
            table_count(table, row->visits);
            int series = series_find(o, NULL);
            table_number(table, series >= 0 && row->kept ? series_scale(o, (unsigned)series) *
                                                               cs_sink_mean(o->sink, row, (unsigned)series)
                                                         : (double)NAN);
        }
}

CS_ORDER(by_half_cycles, struct cs_tag_row, cs_order(b->half_cycles, a->half_cycles))

/* The `top` values by time of the log as it is. */
static size_t main_values(const struct observed *o, unsigned tag, uint64_t top, uint64_t *values)
{
    const struct cs_tags *tags = o->sink->tags[tag];
    struct cs_tag_row *rows = malloc((tags->n_rows + 1) * sizeof *rows);
    size_t n = 0;
    if (!rows)
        return 0;
    memcpy(rows, tags->rows, tags->n_rows * sizeof *rows);
    cs_sort(rows, tags->n_rows, by_half_cycles);
    for (uint32_t r = 0; r < tags->n_rows && n < top; r++)
        if (rows[r].tag != CS_TAG_DESCHEDULED)
            values[n++] = rows[r].tag;
    free(rows);
    return n;
}

static int no_tag(const struct parsed *args, const struct observed *o)
{
    const char *asked = option(args, "tag");
    return asked
               ? failed_with("%s has no tag %s here%s", o->program, asked, observed_tag_meant(o, asked).text)
               : failed_with("%s was observed without a tag", o->program);
}

static int coarser(const struct parsed *args, const unsigned *periods, unsigned n)
{
    enum { VALUES_MAX = 64 };
    uint64_t values[VALUES_MAX], top = (uint64_t)option_number(args, "top", 5, 1, VALUES_MAX);
    size_t n_values = 0;
    struct output *out = output_open(args);
    struct table *table = NULL;
    int rc = CS_EXIT_OK;
    for (unsigned i = 0; rc == CS_EXIT_OK && i <= n;
         i++) { /* first the log as it is, for what matters in it */
        struct observed_source source;
        rc = observed_open_every(args, i ? periods[i - 1] : 1, &source);
        if (rc)
            break;
        int tag = observed_tag(&source.view, option(args, "tag"));
        if (tag < 0)
            rc = no_tag(args, &source.view);
        else if (i == 0)
            n_values = main_values(&source.view, (unsigned)tag, top, values);
        else {
            if (!table) {
                int series = series_find(&source.view, NULL);
                output_line(out, "%s: every n-th sample of the log alone%s%s", source.view.tags[tag],
                            series < 0 ? "" : "; rate: ",
                            series < 0 ? "" : series_title(&source.view, (unsigned)series).text);
                table = output_table(out, "coarser", coarser_columns,
                                     sizeof coarser_columns / sizeof coarser_columns[0]);
            }
            coarser_rows(table, periods[i - 1], &source.view, (unsigned)tag, values, n_values);
        }
        observed_close(&source);
    }
    if (rc == CS_EXIT_OK)
        return output_close(out);
    output_drop(out);
    return rc;
}

static int run(const struct parsed *args)
{
    unsigned periods[SUBSAMPLES_MAX], n;
    if (option_given(args, "lengths"))
        return lengths_print(args);
    int wrong = observed_subsamples(args, periods, &n);
    if (wrong)
        return wrong;
    if (n)
        return coarser(args, periods, n);
    struct observed_source source;
    int rc = observed_open(args, NULL, &source);
    if (rc)
        return rc;
    const struct observed *o = &source.view;
    int tag = observed_tag(o, option(args, "tag"));
    if (tag < 0) {
        rc = no_tag(args, o);
        observed_close(&source);
        return rc;
    }
    struct output *out = output_open(args);
    output_line(out, "%s", o->program);
    output_set(out, "program", json_text(o->program));
    output_set(out, "tag", json_text(o->tags[tag]));
    observed_tags(out, o, (unsigned)tag, (uint64_t)option_number(args, "top", 10, 0, 1e9));
    rc = output_close(out);
    observed_close(&source);
    return rc;
}

static const struct option_entry options[] = {
    OPTION_TAG,       {"lengths", 0, NULL, "with --log: how long each value lasted (quantiles)"},
    OPTION_SUBSAMPLE, OPTION_TOP,
    OPTIONS_OBSERVED, {NULL, 0, NULL, NULL},
};

const struct command command_tags = {
    "tags",
    "",
    "what an observed program did under each value of its tags",
    "For each value of a tag: samples, TSC cycles and their share, and how often it was entered. The rates "
    "of all counters follow, with their standard deviation between intervals.\n"
    "\n"
    "--lengths shows how long values lasted, overall and for the values with most time. A tag that holds a "
    "request's number gives the distribution of time per request. A thread that waits keeps its value. The "
    "value 0 means \"no tag\".",
    options,
    run,
};
