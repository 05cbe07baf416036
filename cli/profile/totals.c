/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/profile/totals.h"
#include "store/base/array.h"
#include "store/base/order.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct ordering {
    const struct cs_calls *calls;
    unsigned main_event;
};

static uint64_t total_of(const struct profile_row *r, const struct ordering *o)
{
    const struct cs_call_function *f =
        r->image && r->name ? cs_calls_of_procedure(o->calls, r->image->image.id, r->start) : NULL;
    return f ? f->total : r->samples[o->main_event];
}

static int by_total(const void *left, const void *right, void *arg)
{
    uint64_t x = total_of(left, arg), y = total_of(right, arg);
    return x != y
               ? (x < y ? 1 : -1)
               : strcmp(((const struct profile_row *)left)->name ? ((const struct profile_row *)left)->name
                                                                 : "",
                        ((const struct profile_row *)right)->name ? ((const struct profile_row *)right)->name
                                                                  : "");
}

CS_ORDER(named, struct profile_row, cs_order(a->start, b->start), cs_order(a->image, b->image))

/* Procedures that only called have no samples, and get rows, too. */
static int add_callers(const struct profile *p, struct profile_rows *rows, const struct cs_calls *calls)
{
    size_t had = rows->n;
    cs_sort(rows->row, had, named);
    for (uint32_t i = 1; i < calls->n_functions; i++) {
        const struct cs_call_function *f = &calls->functions[i];
        struct profile_row row = {.image = f->image ? profile_image_of(p, f->image->id) : NULL,
                                  .start = f->start};
        if (!f->known || !f->start || !row.image || bsearch(&row, rows->row, had, sizeof row, named))
            continue;
        row.name = strdup(f->linkage);
        row.samples = calloc(p->n_events, sizeof *row.samples);
        if (!row.name || !row.samples || cs_array_room(rows->row, rows->n, rows->capacity) < 0) {
            free(row.name);
            free(row.samples);
            return -ENOMEM;
        }
        rows->row[rows->n++] = row;
    }
    return 0;
}

int profile_rows_sort_by_total(struct profile_rows *rows, const struct profile *p,
                               const struct cs_calls *calls)
{
    struct ordering o = {calls, p->main_event};
    int rc = add_callers(p, rows, calls);
    if (rc == 0)
        qsort_r(rows->row, rows->n, sizeof *rows->row, by_total, &o);
    return rc;
}

int profile_rows_take_totals(struct profile_rows *rows, const struct profile *p, const struct cs_calls *calls)
{
    assert(p->main_event < rows->n_events);
    struct ordering o = {calls, p->main_event};
    int rc = add_callers(p, rows, calls);
    for (size_t i = 0; rc == 0 && i < rows->n; i++)
        rows->row[i].samples[p->main_event] = total_of(&rows->row[i], &o);
    return rc;
}
