/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of either recording add up to its time, so the differences add up to the difference. */
#include "cli/procedure/calc.h"
#include "store/base/order.h"

#include <math.h>

enum { ROWS_MAX = 2 * CS_N_CAUSES + 4 };

struct compared {
    const char *what, *kind;
    double a, b;
};

CS_ORDER(by_difference, struct compared, cs_order(fabs(b->a - b->b), fabs(a->a - a->b)))

static unsigned rows_of(const struct cs_cycle_account_summary *a, double ms_a,
                        const struct cs_cycle_account_summary *b, double ms_b, struct compared *rows)
{
    unsigned n = 0;
    for (int c = 0; c < CS_N_CAUSES; c++) {
        rows[n++] = (struct compared){cs_culprit_cause_names[c].words, "dynamic", a->share[c] * ms_a,
                                      b->share[c] * ms_b};
        rows[n++] = (struct compared){cs_culprit_cause_names[c].words, "static", a->statics[c] * ms_a,
                                      b->statics[c] * ms_b};
    }
    rows[n++] =
        (struct compared){"Unexplained stall", "dynamic", a->unexplained * ms_a, b->unexplained * ms_b};
    rows[n++] = (struct compared){"Execution", "", a->execution * ms_a, b->execution * ms_b};
    rows[n++] =
        (struct compared){"Execution count unknown", "", a->unattributed * ms_a, b->unattributed * ms_b};
    cs_sort(rows, n, by_difference);
    rows[n++] = (struct compared){"All that is explained", "", a->total * ms_a, b->total * ms_b};
    return n;
}

void summary_compare(struct output *out, const struct cs_cycle_account_summary *a, double ms_a,
                     const struct cs_cycle_account_summary *b, double ms_b)
{
    static const struct column columns[] = {
        {.key = "this", .head = "this", .kind = COLUMN_NUMBER, .digits = 1},
        {.key = "that", .head = "other", .kind = COLUMN_NUMBER, .digits = 1},
        {.key = "difference", .head = "difference", .kind = COLUMN_NUMBER, .digits = 1},
        {.key = "kind", .head = "stall", .kind = COLUMN_TEXT},
        {.key = "cause", .head = "cause", .kind = COLUMN_TEXT},
    };
    struct compared rows[ROWS_MAX];
    const bool timed = ms_a > 0 && ms_b > 0;
    unsigned n = rows_of(a, timed ? ms_a : 1, b, timed ? ms_b : 1, rows);
    output_line(out, "time by cause, in %s, the largest difference first",
                timed ? "ms of CPU time" : "samples");
    output_set(out, "unit", json_string(timed ? "ms" : "samples"));
    struct table *table = output_table(out, "causes", columns, sizeof columns / sizeof *columns);
    for (unsigned i = 0; i < n; i++) {
        if (i + 1 < n && fmax(rows[i].a, rows[i].b) < 0.05)
            continue;
        table_number(table, rows[i].a);
        table_number(table, rows[i].b);
        table_number(table, rows[i].a - rows[i].b);
        table_text(table, rows[i].kind);
        table_text(table, rows[i].what);
    }
}
