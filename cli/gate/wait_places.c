/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A row of waits is one function's. It may wait at several lines, and lines move from the base to the head. So the line is
 * named only where it has most of the growth, whichever line it was before. */
#include "cli/gate/wait_places.h"

#include "cli/gate/builds/builds.h"
#include "store/base/order.h"
#include "store/base/text.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST 0.5 /* of the row's growth */

static int compare_files(const struct wait_line *a, const struct wait_line *b)
{
    return strcmp(a->file, b->file);
}

CS_ORDER(by_line, struct wait_line, compare_files(a, b), cs_order(a->line, b->line))

const struct wait_line *gate_wait_line_grown(struct wait_lines side[2], const size_t runs[2],
                                             double growth_ns)
{
    const struct wait_line *grown = NULL;
    const bool same_lines = side[0].all.n == side[1].all.n;
    double most = MOST * growth_ns, longest = 0;
    assert(runs[0] && runs[1]);
    for (unsigned k = 0; k < 2; k++)
        cs_sort(side[k].all.at, side[k].all.n, by_line);
    for (size_t i = 0; i < side[0].all.n; i++)
        longest = fmax(longest, (double)side[0].all.at[i].ns / (double)runs[0]);
    for (size_t i = 0; i < side[1].all.n; i++) {
        const struct wait_line *line = &side[1].all.at[i];
        const double before = same_lines ? (double)side[0].all.at[i].ns / (double)runs[0] : longest,
                     growth = (double)line->ns / (double)runs[1] - before;
        if (growth < most)
            continue;
        most = growth;
        grown = line;
    }
    return grown && grown->line ? grown : NULL;
}

static bool is_of_row(const struct gate_guilty *row, const struct cs_wait_group *g, const char *renamed)
{
    const char *image = g->function && g->function->image ? cs_base_name(g->function->image->path) : "";
    return gate_is_wait(row) && strcmp(row->kind, g->kind) == 0 &&
           strcmp(row->function, cs_wait_where(g)) == 0 &&
           (strcmp(row->image, image) == 0 || (renamed && strcmp(row->image, renamed) == 0));
}

/* Of the runs of a side alone: a store may have others. */
static int see_runs(struct cs_store *store, const struct runs *runs, unsigned side, struct cs_error *err)
{
    const char **epoch = calloc(runs->n_runs + 1, sizeof *epoch);
    size_t n = 0;
    for (size_t r = 0; epoch && r < runs->n_runs; r++)
        if (runs->run[r].set == side)
            epoch[n++] = strrchr(runs->run[r].name, ' ') + 1;
    const int rc = epoch ? cs_store_see_only(store, epoch, n, err) : -1;
    free(epoch);
    return rc;
}

static void read_side(struct wait_lines (*lines)[2], const struct gate *gate, const struct gate_evidence *e,
                      unsigned side)
{
    const struct cs_calls_wanted wanted = {.inlines = true};
    struct cs_wait_groups groups;
    struct cs_store *store;
    struct cs_error ignored = {0};
    if (cs_store_open(side ? gate->head : gate->base, CS_STORE_READ, &store, &ignored) < 0)
        return;
    if (see_runs(store, &e->functions, side, &ignored) == 0 &&
        cs_wait_groups_open(&groups, store, &wanted, &ignored) == 0) {
        for (size_t i = 0; i < gate->n_guilty; i++)
            for (size_t k = 0; k < groups.n; k++)
                if (is_of_row(&gate->guilty[i], &groups.at[k], e->functions.renamed))
                    wait_lines_add(&lines[i][side], store, &groups, &groups.at[k]);
        cs_wait_groups_close(&groups);
    }
    cs_store_close(store);
}

void gate_find_wait_lines(struct gate *gate, const struct gate_evidence *e)
{
    struct wait_lines lines[GATE_GUILTY_MAX][2] = {{{{0}}}};
    size_t runs[2] = {0, 0};
    bool any = false;
    for (size_t r = 0; r < e->functions.n_runs; r++)
        runs[e->functions.run[r].set]++;
    for (size_t i = 0; i < gate->n_guilty; i++)
        any |= gate_is_wait(&gate->guilty[i]);
    for (unsigned side = 0; any && runs[0] && runs[1] && side < 2; side++)
        read_side(lines, gate, e, side);
    for (size_t i = 0; any && runs[0] && runs[1] && i < gate->n_guilty; i++) {
        struct gate_guilty *g = &gate->guilty[i];
        const struct wait_line *grown =
            gate_is_wait(g) ? gate_wait_line_grown(lines[i], runs, (g->head - g->base) * 1e9) : NULL;
        if (grown && !g->file && (g->file = strdup(grown->file)))
            g->line = grown->line;
    }
    for (size_t i = 0; i < GATE_GUILTY_MAX; i++)
        for (unsigned side = 0; side < 2; side++)
            wait_lines_fini(&lines[i][side]);
}
