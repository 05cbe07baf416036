/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/waits/wall.h"

#include "store/base/array.h"
#include "store/base/order.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t row_at(struct cs_wall *wall, struct cs_dictionary *keys, const char *key, size_t length,
                      const char *name, const struct cs_store_image *image)
{
    int64_t row = cs_dictionary_add(keys, key, length);
    if (row < 0 || (size_t)row < wall->n)
        return row;
    if (cs_array_room(wall->rows, wall->n, wall->capacity) < 0)
        return -ENOMEM;
    wall->rows[wall->n] = (struct cs_wall_row){.name = name, .image = image};
    return (int64_t)wall->n++;
}

static int64_t row_named(struct cs_wall *wall, struct cs_dictionary *keys, const char *name)
{
    return row_at(wall, keys, name, strlen(name), name, NULL);
}

static int64_t row_of(struct cs_wall *wall, struct cs_dictionary *keys, const struct cs_call_function *f)
{
    char key[1024];
    if (!f)
        return row_named(wall, keys, "");
    int length = snprintf(key, sizeof key, "%s\n%s", f->brief, f->image ? f->image->path : "");
    size_t n = length < 0 ? 0 : (size_t)length < sizeof key ? (size_t)length : sizeof key - 1;
    return row_at(wall, keys, key, n, f->brief, f->image ? f->image : NULL);
}

static uint64_t scaled(uint64_t part, uint64_t of, uint64_t to)
{
    return of ? (uint64_t)((double)part / (double)of * (double)to) : 0;
}

static int add_running(struct cs_wall *wall, struct cs_dictionary *keys, const struct cs_calls *running)
{
    unsigned depth;
    for (uint32_t node = 0; (node = cs_contexts_next(running->tree, 0, node, &depth)) != 0;)
        wall->samples += cs_wait_is_program(running, node) ? cs_contexts_at(running->tree, node)->self : 0;
    if (!wall->samples && wall->on_ns) {
        int64_t row = row_named(wall, keys, CS_WALL_WITHOUT_SAMPLES);
        if (row < 0)
            return -ENOMEM;
        wall->rows[row].on_ns = wall->on_ns;
    }
    for (uint32_t node = 0; (node = cs_contexts_next(running->tree, 0, node, &depth)) != 0;) {
        uint64_t self = cs_contexts_at(running->tree, node)->self;
        if (!self || !cs_wait_is_program(running, node))
            continue;
        int64_t row = row_of(wall, keys, cs_wait_place(running, node, NULL));
        if (row < 0)
            return -ENOMEM;
        wall->rows[row].on_ns += scaled(self, wall->samples, wall->on_ns);
    }
    return 0;
}

static void add_wait(struct cs_wall_row *row, const char *kind, bool idle, uint64_t ns)
{
    bool only_idle = !row->waiting_ns;
    *(idle ? &row->idle_ns : &row->waiting_ns) += ns;
    if (idle ? only_idle && ns > row->mostly_ns : only_idle || ns > row->mostly_ns) {
        row->mostly = kind;
        row->mostly_ns = ns;
    }
}

/* It has nothing to do, or waits until others have ended, whose rows have that time. */
static bool is_at_rest(const struct cs_wait_group *g)
{
    return g->reading != CS_WAIT_IS_WAIT || cs_wait_own_ns(g->kind, &g->facts) < (double)g->ns / 2;
}

/* What a kind's kept waits stand for, if that isn't more than its exact time; the rest of its time has no chain. */
static int add_waits(struct cs_wall *wall, struct cs_dictionary *keys, const struct cs_wait_groups *waits)
{
    for (size_t t = 0; t < waits->n_totals; t++) {
        const struct cs_wait_total *total = &waits->totals[t];
        if (strcmp(total->what, "on-cpu") == 0 || strcmp(total->what, "stolen") == 0)
            continue;
        uint64_t kept = 0, given = 0;
        for (size_t i = 0; i < waits->n; i++)
            kept += strcmp(waits->at[i].kind, total->what) == 0 ? waits->at[i].ns : 0;
        for (size_t i = 0; i < waits->n; i++) {
            const struct cs_wait_group *g = &waits->at[i];
            if (strcmp(g->kind, total->what) != 0)
                continue;
            int64_t at = row_of(wall, keys, g->function);
            if (at < 0)
                return -ENOMEM;
            uint64_t ns = kept > total->ns ? scaled(g->ns, kept, total->ns) : g->ns;
            add_wait(&wall->rows[at], g->kind, is_at_rest(g), ns);
            given += ns;
        }
        if (given >= total->ns)
            continue;
        int64_t at = row_named(wall, keys, CS_WALL_WITHOUT_CHAIN);
        if (at < 0)
            return -ENOMEM;
        add_wait(&wall->rows[at], total->what, cs_wait_is_idle(total->what), total->ns - given);
    }
    return 0;
}

CS_ORDER(most_first, struct cs_wall_row, cs_order(b->on_ns + b->waiting_ns, a->on_ns + a->waiting_ns),
         cs_order(b->idle_ns, a->idle_ns))

int cs_wall_make(struct cs_wall *wall, const struct cs_wait_groups *waits, struct cs_calls *running)
{
    struct cs_dictionary keys = {0};
    *wall = (struct cs_wall){.all_ns = waits->all_ns, .on_ns = waits->on_ns, .stolen_ns = waits->stolen_ns};
    int rc = cs_wait_spots_make(running);
    rc = rc == 0 ? add_running(wall, &keys, running) : rc;
    rc = rc == 0 ? add_waits(wall, &keys, waits) : rc;
    assert(rc < 0 || wall->n == 0 || wall->rows);
    cs_dictionary_fini(&keys);
    cs_sort(wall->rows, wall->n, most_first);
    if (rc < 0)
        cs_wall_fini(wall);
    return rc;
}

void cs_wall_fini(struct cs_wall *wall)
{
    free(wall->rows);
    *wall = (struct cs_wall){0};
}
