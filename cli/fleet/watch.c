/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Each change of a service is tested as `diff` tests runs (cli/compare/comparison.h); what is unlikely is kept. */
#include "cli/fleet/watch.h"
#include "cli/compare/comparison.h"
#include "cli/fleet/watch_sides.h"
#include "store/base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define KEPT_CHANCE WATCH_DISCOVERY /* a discovery rate is never below its chance */

/* The image of the function, if it is one of those that changed; else the first. */
static const struct watch_switch *cause_of(const struct watch_series *s, const struct watch_change *c,
                                           const char *image)
{
    const struct watch_switch *first = &s->change[c->from];
    for (size_t i = 0; i < s->n_changes && c->others; i++)
        if (s->change[i].host == first->host && s->change[i].epoch == first->epoch &&
            strcmp(s->build[s->change[i].build]->image, image) == 0)
            return &s->change[i];
    return first;
}

static char *copy(const char *text, bool *ok)
{
    char *made = text ? strdup(text) : NULL;
    *ok = *ok && (!text || made);
    return made;
}

static int keep(struct watch *w, const char *service, const struct watch_series *s,
                const struct watch_change *c, const struct watch_switch *at, const struct change *x,
                double factor, double chance)
{
    if (cs_array_room(w->test, w->n_tests, w->capacity) < 0)
        return -ENOMEM;
    const struct watch_switch *cause = c->none ? NULL : cause_of(s, c, x->row->image);
    bool ok = true;
    w->test[w->n_tests++] =
        (struct watch_test){.service = copy(service, &ok),
                            .function = copy(x->row->name, &ok),
                            .image = copy(x->row->image, &ok),
                            .cause = copy(cause ? s->build[cause->build]->image : NULL, &ok),
                            .old_build = copy(cause ? s->build[cause->old]->build : NULL, &ok),
                            .build = copy(cause ? s->build[cause->build]->build : NULL, &ok),
                            .others = c->others,
                            .epoch = s->epoch[at->epoch],
                            .a = x->cost_a,
                            .b = x->cost_b,
                            .percent = x->cost_b / factor - x->cost_a,
                            .chance = chance};
    return ok ? 0 : -ENOMEM;
}

/* 1: compared; 0: there is too little on a side. */
static int judge(struct watch *w, const char *service, const struct watch_series *s,
                 const struct watch_change *c, const struct watch_switch *switches, struct watch_sides *sides)
{
    struct comparison compared = {.shares = true, .per_work = true};
    const int taken = watch_sides_take(sides, c, switches);
    if (taken <= 0)
        return taken;
    const double looks = sides->epochs[1];
    int rc = runs_compare(&sides->runs, &compared);
    for (size_t i = 0; rc == 0 && i < compared.n; i++) {
        const struct change *x = &compared.change[i];
        const double chance = x->chance * looks * (looks + 1);
        if (chance < KEPT_CHANCE && watch_sides_step_is_here(sides, x->row))
            rc = keep(w, service, s, c, &switches[c->from], x, compared.common_factor, chance);
    }
    w->looked_at += compared.n;
    free(compared.change);
    return rc < 0 ? rc : 1;
}

/* Where one change ends in the order of by_change. */
static size_t end_of(const struct watch_series *s, size_t from)
{
    const struct watch_switch *w = &s->change[from];
    size_t to = from;
    while (to < s->n_changes && s->change[to].image == w->image && s->change[to].old == w->old &&
           s->change[to].build == w->build)
        to++;
    return to;
}

static bool same_times(const struct watch_series *s, const struct watch_change *a, size_t from, size_t to)
{
    if (a->to - a->from != to - from)
        return false;
    for (size_t i = 0; i < to - from; i++)
        if (s->change[a->from + i].host != s->change[from + i].host ||
            s->change[a->from + i].epoch != s->change[from + i].epoch)
            return false;
    return true;
}

static int judge_builds(struct watch *w, const char *service, const struct watch_series *s,
                        struct watch_sides *sides, bool *told)
{
    struct watch_change *change = calloc(s->n_changes + 1, sizeof *change);
    size_t n = 0;
    int rc = change ? 0 : -ENOMEM;
    for (size_t from = 0, to; rc == 0 && from < s->n_changes; from = to) {
        to = end_of(s, from);
        size_t k = 0;
        while (k < n && !same_times(s, &change[k], from, to))
            k++;
        if (k == n)
            change[n++] = (struct watch_change){.from = from, .to = to};
        else
            change[k].others++;
    }
    for (size_t k = 0; rc >= 0 && k < n; k++) {
        if (s->epoch[s->change[change[k].from].epoch] < w->since)
            continue;
        w->builds += 1 + change[k].others;
        rc = judge(w, service, s, &change[k], s->change, sides);
        *told |= rc > 0;
    }
    free(change);
    return rc < 0 ? rc : 0;
}

/* Every third epoch as if something had changed then on all hosts at once, unless a build began there. */
static int judge_epochs(struct watch *w, const char *service, const struct watch_series *s,
                        struct watch_sides *sides, bool *told)
{
    struct watch_switch *at = calloc(s->n_hosts + 1, sizeof *at);
    const struct watch_change all = {.to = s->n_hosts, .none = true};
    int rc = at ? 0 : -ENOMEM;
    for (uint32_t e = 1; rc >= 0 && e < s->n_epochs; e++) {
        bool skip = s->epoch[e] < w->since || s->epoch[e] % WATCH_BLOCK != 0;
        for (size_t i = 0; i < s->n_changes && !skip; i++)
            skip = s->change[i].epoch == e;
        for (uint32_t h = 0; h < s->n_hosts; h++)
            at[h] = (struct watch_switch){.host = h, .epoch = e, .clean = e};
        rc = skip ? rc : judge(w, service, s, &all, at, sides);
        *told |= rc > 0 && !skip;
    }
    free(at);
    return rc < 0 ? rc : 0;
}

int watch_service(struct watch *w, const char *service, struct watch_cell *cells, size_t n)
{
    struct watch_series s;
    struct watch_sides sides = {.n_sets = 0};
    bool told = false;
    int rc = watch_series_init(&s, cells, n);
    rc = rc < 0 ? rc : watch_sides_init(&sides, &s);
    rc = rc < 0 ? rc : judge_builds(w, service, &s, &sides, &told);
    rc = rc < 0 ? rc : judge_epochs(w, service, &s, &sides, &told);
    w->services++;
    w->services_untold += !told;
    watch_sides_fini(&sides);
    watch_series_fini(&s);
    return rc;
}
