/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What half of a function's time saves: at least half of its part of the path, at most all of that part. A thread that the
 * path joins late began before, and ends earlier by half of what it ran. No run is shorter than a thread of its path
 * computes. */
#include "analysis/waits/path_waits.h"

#include <stdlib.h>
#include <string.h>

struct busy {       /* threads of a name, on the path */
    double most_ns; /* that one of them was on a CPU */
    double path_ns; /* that they ran on the path */
};

struct crowd {
    struct cs_dictionary names;
    CS_ARRAY(struct busy) at;
    CS_ARRAY(size_t) order; /* busiest first */
};

static void crowd_fini(struct crowd *c)
{
    cs_dictionary_fini(&c->names);
    cs_array_free(&c->at);
    cs_array_free(&c->order);
}

/* NULL: none of that name is on the path. */
static struct busy *busy_of(struct crowd *c, const char *name)
{
    int64_t n = cs_dictionary_add(&c->names, name, strlen(name));
    return n >= 0 && (size_t)n < c->at.n ? &c->at.at[n] : NULL;
}

static int less_busy(const void *left, const void *right, void *crowd)
{
    const struct crowd *c = crowd;
    double a = c->at.at[*(const size_t *)left].most_ns, b = c->at.at[*(const size_t *)right].most_ns;
    return (a < b) - (a > b);
}

static int gather(struct crowd *c, const struct path_builder *b)
{
    for (size_t i = 0; i < b->path->n; i++) {
        const struct cs_path_row *row = &b->path->rows[i];
        int64_t n = cs_dictionary_add(&c->names, row->thread, strlen(row->thread));
        if (n == (int64_t)c->at.n) {
            struct busy *more = cs_array_add(&c->at);
            size_t *place = cs_array_add(&c->order);
            if (!more || !place)
                return -1;
            *more = (struct busy){0};
            *place = (size_t)n;
        }
        if (n < 0 || (size_t)n >= c->at.n)
            return -1;
        c->at.at[n].path_ns += strcmp(row->what, "running") == 0 ? row->ns : 0;
    }
    for (size_t i = 0; i < b->waits->n_threads; i++) {
        struct busy *of = busy_of(c, b->waits->threads[i].name);
        if (of && (double)b->waits->threads[i].on_ns > of->most_ns)
            of->most_ns = (double)b->waits->threads[i].on_ns;
    }
    if (c->order.n)
        qsort_r(c->order.at, c->order.n, sizeof *c->order.at, less_busy, c);
    return 0;
}

/* Of what threads of that name run, the function's part, as on the path. */
static double part_of(const struct path_builder *b, size_t function, const struct crowd *c, size_t who)
{
    const char *name = c->names.strings[who];
    for (int64_t i = b->first_part.at[function]; i >= 0; i = b->part.at[i].next)
        if (strcmp(b->part.at[i].thread, name) == 0) {
            double part = c->at.at[who].path_ns > 0 ? b->part.at[i].ns / c->at.at[who].path_ns : 0;
            return part < 1 ? part : 1;
        }
    return 0;
}

static double saves(const struct path_builder *b, size_t function, struct crowd *c)
{
    const struct cs_path_function *f = &b->path->functions[function];
    double most = f->ns / 2, least = 0;
    for (int64_t i = b->first_part.at[function]; i >= 0; i = b->part.at[i].next) {
        const struct busy *of = busy_of(c, b->part.at[i].thread);
        double half = of && of->path_ns > 0 ? b->part.at[i].ns / of->path_ns * of->most_ns / 2 : 0;
        half = half < f->ns ? half : f->ns;
        most = half > most ? half : most;
    }
    for (size_t i = 0; i < c->order.n && c->at.at[c->order.at[i]].most_ns > least; i++) {
        double left = c->at.at[c->order.at[i]].most_ns * (1 - part_of(b, function, c, c->order.at[i]) / 2);
        least = left > least ? left : least;
    }
    double rest = b->path->all_ns > least ? b->path->all_ns - least : 0;
    return most < rest ? most : rest;
}

void path_bound_savings(struct path_builder *b)
{
    struct cs_critical_path *p = b->path;
    struct crowd crowd = {0};
    const bool one = p->n_threads == 1 && !b->sums_threads;
    b->failed |= one && gather(&crowd, b) < 0;
    for (size_t i = 0; i < p->n_functions && !b->failed; i++)
        p->functions[i].saves_ns = one ? saves(b, i, &crowd) : p->functions[i].ns / 2;
    crowd_fini(&crowd);
}
