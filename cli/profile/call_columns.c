/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/profile/call_columns.h"
#include "analysis/frequency/frequency.h"
#include "cli/command/figures.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* docs/lab/frequencies.md, "Calls of seven programs": what is off with more isn't for their number. */
#define ENOUGH_BURSTS 1000

void call_columns(const struct cs_call_counts *counts, struct column *columns)
{
    assert(counts->list || counts->n == 0);
    bool absolute = counts->executions > 0;
    const struct column own[CALL_COLUMNS] = {
        {.key = "calls", .head = absolute ? "calls" : "calls (rel.)", .kind = COLUMN_NUMBER, .digits = -1},
        {.key = "calls_error_percent", .head = "± %", .kind = COLUMN_NUMBER, .digits = 1, .spare = true},
        {.key = "calls_confidence", .kind = COLUMN_TEXT},
        {.key = "cost_a_call", .kind = COLUMN_NUMBER},
        {.key = "a_call", .head = absolute ? "per call" : NULL, .kind = COLUMN_TEXT},
    };
    memcpy(columns, own, sizeof own);
    for (unsigned i = 0; !counts->n && i < CALL_COLUMNS; i++)
        columns[i].head = NULL;
}

void call_advice(struct output *out, const struct cs_call_counts *counts)
{
    if (counts->n && counts->bursts > 0 && counts->bursts < ENOUGH_BURSTS)
        output_note(out,
                    "Calls come from %" PRIu32
                    " burst%s. For surer ones record a minute of CPU time with -F 200 --burst-rate 60.",
                    counts->bursts, counts->bursts == 1 ? "" : "s");
}

static void short_time(double ns, char *text, size_t capacity)
{
    static const char *const units[] = {"ns", "µs", "ms", "s"};
    unsigned unit = 0;
    for (; ns >= 1000 && unit < 3; unit++)
        ns /= 1000;
    snprintf(text, capacity, "%s %s", figure(ns, 3).text, units[unit]);
}

void call_cells(struct table *table, const struct cs_call_counts *counts, const struct cs_call_count *count,
                uint64_t samples, double period, const char *unit)
{
    bool absolute = counts->executions > 0;
    if (!count || !(count->calls > 0)) {
        table_none(table, CALL_COLUMNS);
        return;
    }
    double calls = count->calls * (absolute ? counts->executions : 1);
    table_number(table, calls);
    table_number(table, 100 * count->error);
    table_text(table, cs_confidence_name(cs_confidence_of(count->error)));
    if (!absolute || !samples || !(period > 0)) {
        table_none(table, 2);
        return;
    }
    char text[80];
    double cost = (double)samples * period / calls;
    table_number(table, cost);
    if (strcmp(unit, "ns") == 0)
        short_time(cost, text, sizeof text);
    else
        snprintf(text, sizeof text, "%s %s", figure(cost, 3).text, unit);
    table_text(table, text);
}
