/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/gate/guilty.h"

#include "image/code.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BY_RUNS_ALONE 0.01
#define MOST 0.5 /* of the growth of all waits */
#define CANDIDATES_MAX 3
#define CANDIDATE_LEAST 0.25 /* of the growth of the whole */
#define MAY_BE_SHOWN 0.05 /* chance of a candidate that has most of the growth: shown without a cause, too */

/* Mean over the runs of the base of all its samples' cost. */
static double cost_of_base(const struct gate_evidence *e)
{
    return e->comparison.side[0].cost;
}

/* Do the runs by themselves agree that it changed? */
static bool agree(const struct gate_evidence *e, const struct runs *runs, const struct run_row *row,
                  double common_factor, double chance)
{
    struct gate_estimate estimate;
    struct gate_run *run = calloc(runs->n_runs + 1, sizeof *run);
    for (size_t r = 0; run && r < runs->n_runs; r++) {
        run[r] = e->count[GATE_CPU][r];
        run[r].value = row->samples[r] * runs->run[r].period / (run[r].side ? common_factor : 1);
        run[r].machine = (double)NAN;
    }
    bool known = run && gate_estimate(run, runs->n_runs, GATE_DIFFERENCE, 0, &estimate);
    free(run);
    return known && estimate.chance < chance;
}

static bool counts(const struct gate_evidence *e, const struct runs *runs, const struct comparison *c,
                   const struct change *x)
{
    return x->significant && x->discovery < GATE_CHANCE &&
           agree(e, runs, x->row, c->common_factor, BY_RUNS_ALONE);
}

bool gate_image_is_kernel(const char *image)
{
    return image && *image == '[' && strcmp(image, "[vdso]") != 0;
}

static double growth_of(const struct comparison *c, const struct change *x)
{
    return x->cost_b / c->common_factor - x->cost_a;
}

char *gate_readable(const char *name)
{
    char text[1024];
    return strdup(name ? cs_image_short_name(name, text, sizeof text) : "[no symbol]");
}

int gate_guilty_keep(struct gate *gate, const struct gate_guilty *one)
{
    assert(gate->n_guilty <= GATE_GUILTY_MAX && gate->n_guilty <= gate->n_guilty_all);
    size_t at = gate->n_guilty;
    gate->n_guilty_all++;
    while (at && gate->guilty[at - 1].share < one->share)
        at--;
    struct gate_guilty more = *one, *last = &gate->guilty[GATE_GUILTY_MAX - 1];
    if (at == GATE_GUILTY_MAX)
        return 0;
    more.function = strdup(one->function);
    more.image = strdup(one->image ? one->image : "");
    more.file = one->file ? strdup(one->file) : NULL;
    if (!more.function || !more.image || (one->file && !more.file)) {
        free(more.function);
        free(more.image);
        free(more.file);
        return -ENOMEM;
    }
    if (gate->n_guilty == GATE_GUILTY_MAX) {
        free(last->function);
        free(last->image);
        free(last->file);
        gate->n_guilty--;
    }
    memmove(&gate->guilty[at + 1], &gate->guilty[at], (gate->n_guilty - at) * sizeof gate->guilty[0]);
    gate->guilty[at] = more;
    gate->n_guilty++;
    return 0;
}

int gate_guilty_lines(struct gate *gate, const struct gate_evidence *e, struct cs_error *err)
{
    struct runs runs = {.lines_apart = true};
    struct comparison c = {.least = GATE_IGNORE_BELOW};
    double most[GATE_GUILTY_MAX] = {0};
    int rc = 0;
    for (unsigned side = 0; rc == 0 && side < 2; side++)
        rc = gate_runs_add(&runs, gate, side, e->functions.event, BY_LINE, err);
    if (rc == 0 && (runs.n_runs != e->functions.n_runs || runs_join_renamed(&runs) < 0 ||
                    runs_join_lines(&runs) < 0 || runs_compare(&runs, &c) < 0))
        rc = cs_fail(err, ENOMEM, "out of memory for %zu lines", runs.n_rows);
    for (size_t i = 0; rc == 0 && i < c.n; i++) {
        const struct change *x = &c.change[i];
        if (!x->row->file || !(growth_of(&c, x) > 0))
            continue;
        const bool sure = counts(e, &runs, &c, x);
        char *name = gate_readable(x->row->name);
        for (size_t g = 0; name && g < gate->n_guilty; g++) {
            struct gate_guilty *to = &gate->guilty[g];
            if (strcmp(to->kind, "function") != 0 || strcmp(to->function, name) != 0 ||
                strcmp(to->image, x->row->image ? x->row->image : "") != 0 || (to->line_sure && !sure) ||
                (to->line_sure == sure && growth_of(&c, x) <= most[g]))
                continue;
            char *file = strdup(x->row->file);
            if (!file)
                break;
            free(to->file);
            to->file = file;
            to->line = x->row->line;
            to->line_sure = sure;
            most[g] = growth_of(&c, x);
        }
        free(name);
    }
    free(c.change);
    runs_fini(&runs);
    return rc;
}

static int keep_function(struct gate *gate, const struct gate_evidence *e, const struct change *x,
                         bool candidate, bool dominant)
{
    const double seconds = strcmp(e->functions.unit, "ns") == 0 ? 1e-9 : 1;
    char *name = gate_readable(x->row->name);
    const struct gate_guilty one = {.function = name,
                                    .image = x->row->image,
                                    .kind = "function",
                                    .base = x->cost_a * seconds,
                                    .head = x->cost_b * seconds,
                                    .share = 100 * growth_of(&e->comparison, x) / cost_of_base(e),
                                    .ratio = x->ratio,
                                    .candidate = candidate,
                                    .dominant = dominant};
    int rc = name ? gate_guilty_keep(gate, &one) : -ENOMEM;
    free(name);
    return rc;
}

/* "work.c:11 (A: 8)" is shown; the head's line is the one in front. */
int gate_guilty_functions(struct gate *gate, const struct gate_evidence *e, bool slower, double *net,
                          double *net_user, struct cs_error *err)
{
    const struct comparison *c = &e->comparison;
    const double base = cost_of_base(e);
    int rc = 0;
    *net = *net_user = 0;
    for (size_t i = 0; rc == 0 && base > 0 && i < c->n && c->change[i].significant; i++) {
        const struct change *x = &c->change[i];
        const bool real = counts(e, &e->functions, c, x);
        if (real) {
            *net += growth_of(c, x) / base;
            *net_user += gate_image_is_kernel(x->row->image) ? 0 : growth_of(c, x) / base;
        }
        if (!(real || slower) || growth_of(c, x) <= 0)
            continue;
        rc = keep_function(gate, e, x, false, false);
    }
    if (rc < 0)
        return cs_fail(err, ENOMEM, "out of memory for functions");
    return gate->n_guilty ? gate_guilty_lines(gate, e, err) : 0;
}

/* The largest growth below `below`, of `least` at least. */
static const struct change *next_candidate(const struct comparison *c, double least, double below)
{
    const struct change *next = NULL;
    for (size_t i = 0; i < c->n; i++) {
        const double growth = growth_of(c, &c->change[i]);
        if (growth >= least && growth < below && (!next || growth > growth_of(c, next)))
            next = &c->change[i];
    }
    return next;
}

int gate_guilty_candidates(struct gate *gate, const struct gate_evidence *e, double change,
                           struct cs_error *err)
{
    const struct comparison *c = &e->comparison;
    const double base = cost_of_base(e);
    double below = INFINITY;
    int rc = 0;
    for (size_t i = 0; i < gate->n_guilty; i++)
        if (strcmp(gate->guilty[i].kind, "function") == 0 ||
            (strcmp(gate->guilty[i].kind, GATE_IN_KERNEL) == 0 &&
             gate->guilty[i].share >= 100 * MOST * change))
            return 0;
    for (unsigned n = 0; rc == 0 && base > 0 && n < CANDIDATES_MAX; n++) {
        const struct change *x = next_candidate(c, CANDIDATE_LEAST * change * base, below);
        if (!x)
            break;
        below = growth_of(c, x);
        rc = keep_function(gate, e, x, true,
                           below >= MOST * change * base &&
                               agree(e, &e->functions, x->row, c->common_factor, MAY_BE_SHOWN));
    }
    return rc < 0 ? cs_fail(err, ENOMEM, "out of memory for functions") : 0;
}

static bool is_wait(const struct gate_evidence *e, const struct cs_wait_change *x)
{
    return !x->others && !x->idle && strcmp(x->kind, "run-queue") != 0 &&
           !(e->one_child && strcmp(x->kind, "child") == 0);
}

static bool may_count(const struct gate_evidence *e, const struct cs_wait_change *x)
{
    return x->significant && is_wait(e, x);
}

/* Do the runs by themselves agree that it changed? */
static bool waits_agree(const struct gate_evidence *e, const struct cs_wait_change *x)
{
    struct gate_estimate estimate;
    const size_t n = e->functions.n_runs;
    struct gate_run *run = calloc(n + 1, sizeof *run);
    for (size_t r = 0; run && r < n; r++) {
        run[r] = e->count[GATE_CPU][r];
        run[r].value = x->by_run.at[r].ns;
        run[r].machine = (double)NAN;
    }
    bool known = run && gate_estimate(run, n, GATE_DIFFERENCE, 0, &estimate);
    free(run);
    return known && estimate.chance < BY_RUNS_ALONE;
}

static bool wait_counts(const struct gate_evidence *e, const struct cs_wait_change *x)
{
    return may_count(e, x) && x->discovery < GATE_CHANCE && waits_agree(e, x);
}

static int keep_wait(struct gate *gate, const struct cs_wait_change *x, double base)
{
    struct gate_guilty one = {.function = (char *)(*x->where ? x->where : "[no code of its own]"),
                              .image = (char *)x->image,
                              .base = x->side[0].ns * 1e-9,
                              .head = x->side[1].ns * 1e-9,
                              .share = 100 * x->difference / base,
                              .ratio = x->ratio};
    snprintf(one.kind, sizeof one.kind, "%s", x->kind);
    snprintf(one.cause, sizeof one.cause, "%s", x->kind);
    snprintf(one.cause_text, sizeof one.cause_text, "%s%s%.60s%s%.60s: %.3g s of a run, %.3g s before",
             x->kind, x->via && *x->via ? ", in " : "", x->via ? x->via : "", *x->object ? ", " : "",
             x->object, one.head, one.base);
    return gate_guilty_keep(gate, &one);
}

/* Sums are exact, and those of one place are a sample. NULL: no place has most of the growth. */
static const struct cs_wait_change *place_of_most(const struct gate_evidence *e,
                                                  const struct gate_waits_grown *g)
{
    const struct gate_wait_kind *kind = g->kind;
    const struct cs_wait_change *most = NULL;
    for (size_t i = 0; i < e->waits.n; i++) {
        const struct cs_wait_change *x = &e->waits.at[i];
        if (is_wait(e, x) && (!kind || strcmp(gate_wait_kind_of(x->kind), kind->kind) == 0) &&
            x->difference > MOST * (kind ? kind->growth_ns : g->ns) && (g->slower || waits_agree(e, x)) &&
            (!most || x->difference > most->difference))
            most = x;
    }
    return most;
}

int gate_guilty_waits(struct gate *gate, const struct gate_evidence *e, const struct gate_waits_grown *g,
                      double *net, struct cs_error *err)
{
    const double base = gate_whole(e);
    const struct cs_wait_change *most = NULL;
    int rc = 0;
    bool any = false;
    *net = 0;
    for (size_t i = 0; rc == 0 && e->waited && base > 0 && i < e->waits.n; i++) {
        const struct cs_wait_change *x = &e->waits.at[i];
        const bool real = wait_counts(e, x);
        if (real)
            *net += x->difference / base;
        if (x->difference > 0 && (real || ((g->slower || g->unsure) && may_count(e, x)))) {
            rc = keep_wait(gate, x, base);
            any = true;
        }
    }
    if (rc == 0 && e->waited && base > 0 && (g->slower || g->unsure) && !any && (most = place_of_most(e, g)))
        rc = keep_wait(gate, most, base);
    return rc < 0 ? cs_fail(err, ENOMEM, "out of memory for waits") : 0;
}
