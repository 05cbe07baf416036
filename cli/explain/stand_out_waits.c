/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/command/figures.h"
#include "cli/explain/explain.h"
#include "cli/explain/stand_out.h"
#include "cli/output/output.h"
#include "cli/profile/lines/wait_lines.h"
#include "store/base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define WAITS_FROM 0.02 /* of all threads' time */

static void find_line(struct stand_out *row, struct cs_store *store, const struct cs_wait_groups *w,
                      const struct cs_wait_group *g)
{
    struct wait_lines lines = {0};
    wait_lines_add(&lines, store, w, g);
    const struct wait_line *longest = wait_lines_longest(&lines);
    if (longest) {
        row->line = longest->line;
        snprintf(row->file, sizeof row->file, "%s", longest->file);
    }
    wait_lines_fini(&lines);
}

static void add(struct stand_outs *all, struct cs_store *store, const struct cs_wait_groups *w,
                const struct cs_wait_group *g, double own)
{
    struct stand_out row = stand_out_of("wait");
    struct cs_error ignored = {0};
    uint64_t elapsed_ms = 0;
    char meanwhile[200];
    find_line(&row, store, w, g);
    row.percent = row.saves = 100 * own / (double)w->all_ns;
    row.advice = explain_wait_advice(g->kind);
    snprintf(row.function, sizeof row.function, "%s", cs_wait_where(g));
    if (cs_store_counter(store, "elapsed_ms", &elapsed_ms, &ignored) == 0 && elapsed_ms)
        row.a_second = 1000 * (double)g->count / (double)elapsed_ms;
    snprintf(row.what, sizeof row.what, "waits (%s%s%.*s): %s time%s, %s ms each", g->kind,
             *g->via ? " by " : "", (int)strcspn(g->via, "@"), g->via, thousands((double)g->count).text,
             plural((double)g->count), figure((double)g->ns * 1e-6 / fmax((double)g->count, 1), 2).text);
    cs_wait_meanwhile_text(g, meanwhile, sizeof meanwhile);
    if (*meanwhile)
        snprintf(row.what + strlen(row.what), sizeof row.what - strlen(row.what), "; who meanwhile was: %s",
                 meanwhile);
    stand_outs_add(all, &row);
}

void stand_out_waits(struct stand_outs *all, struct cs_store *store, const struct cs_wait_groups *w)
{
    for (size_t i = 0; i < w->n; i++) {
        const struct cs_wait_group *g = &w->at[i];
        const double own = cs_wait_own_ns(g->kind, &g->facts);
        if (g->reading == CS_WAIT_IS_WAIT && strcmp(g->kind, "run-queue") != 0 &&
            own >= WAITS_FROM * (double)w->all_ns)
            add(all, store, w, g, own);
    }
}
