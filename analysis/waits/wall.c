/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/waits/wall.h"

#include "store/base/array.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t row_of(struct cs_wall *wall, struct cs_dictionary *keys, const struct cs_call_function *f)
{
    char key[1024];
    int length = f ? snprintf(key, sizeof key, "%s\n%s", f->brief, f->image ? f->image->path : "")
                   : snprintf(key, sizeof key, "-");
    size_t n = length < 0 ? 0 : (size_t)length < sizeof key ? (size_t)length : sizeof key - 1;
    int64_t row = cs_dictionary_add(keys, key, n);
    if (row < 0 || (size_t)row < wall->n)
        return row;
    if (cs_array_room(wall->rows, wall->n, wall->capacity) < 0)
        return -ENOMEM;
    wall->rows[wall->n] = (struct cs_wall_row){.name = f ? f->brief : "", .image = f ? f->image : NULL};
    return (int64_t)wall->n++;
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

static int add_waits(struct cs_wall *wall, struct cs_dictionary *keys, const struct cs_wait_groups *waits)
{
    uint64_t estimated = 0, exact = wall->all_ns - wall->on_ns - wall->stolen_ns;
    for (size_t i = 0; i < waits->n; i++)
        estimated += waits->at[i].ns;
    for (size_t i = 0; i < waits->n; i++) {
        const struct cs_wait_group *g = &waits->at[i];
        int64_t at = row_of(wall, keys, g->function);
        if (at < 0)
            return -ENOMEM;
        struct cs_wall_row *row = &wall->rows[at];
        uint64_t ns = scaled(g->ns, estimated, exact);
        bool idle = cs_wait_is_idle(g->kind), only_idle = !row->waiting_ns;
        *(idle ? &row->idle_ns : &row->waiting_ns) += ns;
        if (idle ? only_idle && ns > row->mostly_ns : only_idle || ns > row->mostly_ns) {
            row->mostly = g->kind;
            row->mostly_ns = ns;
        }
    }
    return 0;
}

static int most_first(const void *left, const void *right)
{
    const struct cs_wall_row *a = left, *b = right;
    uint64_t x = a->on_ns + a->waiting_ns, y = b->on_ns + b->waiting_ns;
    return x != y ? (x < y) - (x > y) : (a->idle_ns < b->idle_ns) - (a->idle_ns > b->idle_ns);
}

int cs_wall_make(struct cs_wall *wall, const struct cs_wait_groups *waits, const struct cs_calls *running)
{
    struct cs_dictionary keys = {0};
    *wall = (struct cs_wall){.all_ns = waits->all_ns, .on_ns = waits->on_ns, .stolen_ns = waits->stolen_ns};
    int rc = add_running(wall, &keys, running);
    rc = rc == 0 ? add_waits(wall, &keys, waits) : rc;
    cs_dictionary_fini(&keys);
    if (wall->n)
        qsort(wall->rows, wall->n, sizeof *wall->rows, most_first);
    if (rc < 0)
        cs_wall_fini(wall);
    return rc;
}

void cs_wall_fini(struct cs_wall *wall)
{
    free(wall->rows);
    *wall = (struct cs_wall){0};
}
