/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From chances to findings: the false discovery rate, and one finding for each function and time. All that came with one
 * build-id has one cause. */
#include "analysis/statistics/significance.h"
#include "cli/fleet/watch.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CAUSE_EPOCHS 3 /* changes without a build are one if they are so close */

static void fini(struct watch_test *t)
{
    free(t->service);
    free(t->function);
    free(t->image);
    free(t->cause);
    free(t->old_build);
    free(t->build);
}

static bool same_function(const struct watch_test *a, const struct watch_test *b)
{
    return strcmp(a->service, b->service) == 0 && strcmp(a->function, b->function) == 0 &&
           strcmp(a->image, b->image) == 0;
}

static bool same_cause(const struct watch_test *a, const struct watch_test *b)
{
    if (a->cause && b->cause)
        return strcmp(a->cause, b->cause) == 0 && strcmp(a->build, b->build) == 0 &&
               strcmp(a->old_build, b->old_build) == 0;
    return !a->cause && !b->cause && strcmp(a->service, b->service) == 0 &&
           llabs(a->epoch - b->epoch) <= CAUSE_EPOCHS;
}

static int by_function_then_chance(const void *left, const void *right)
{
    const struct watch_test *a = left, *b = right;
    int order = strcmp(a->service, b->service);
    order = order ? order : strcmp(a->image, b->image);
    order = order ? order : strcmp(a->function, b->function);
    order = order ? order : (a->cause == NULL) - (b->cause == NULL);
    order = order ? order : (a->chance > b->chance) - (a->chance < b->chance);
    return order ? order : (a->epoch > b->epoch) - (a->epoch < b->epoch);
}

/* One step is seen at epochs next to it, too: the likeliest place of a function's step counts, that of a
 * build before others. */
static bool is_echo(const struct watch_test *t, const struct watch_test *kept)
{
    const int64_t apart = llabs(t->epoch - kept->epoch);
    return same_function(t, kept) && (t->percent > 0) == (kept->percent > 0) &&
           apart < (t->cause && kept->cause ? WATCH_BEFORE_MIN : WATCH_EPOCHS_MAX + 1);
}

static size_t drop(struct watch *w, bool (*unwanted)(const struct watch *, const struct watch_test *, size_t))
{
    size_t kept = 0;
    for (size_t i = 0; i < w->n_tests; i++) {
        struct watch_test t = w->test[i];
        if (unwanted(w, &t, kept))
            fini(&t);
        else
            w->test[kept++] = t;
    }
    return w->n_tests = kept;
}

static bool insignificant(const struct watch *w, const struct watch_test *t, size_t kept)
{
    (void)kept;
    return t->discovery >= WATCH_DISCOVERY || fabs(t->percent) < w->least;
}

static bool echo(const struct watch *w, const struct watch_test *t, size_t kept)
{
    for (size_t i = kept; i-- > 0 && same_function(t, &w->test[i]);)
        if (is_echo(t, &w->test[i]))
            return true;
    return false;
}

static bool cheaper(const struct watch *w, const struct watch_test *t, size_t kept)
{
    (void)w;
    (void)kept;
    return t->percent < 0;
}

/* What `change` saved is counted unless it is what any function loses by share as others grow. */
static double saved(const struct watch_test *change, double grew)
{
    const bool real = change->percent < 0 && -change->percent > 2 * grew / 100 * change->a;
    return real ? -change->percent : 0;
}

/* Code that went from one function to another: what grew and what shrank for one cause is about the same. */
static void mark_moved(struct watch *w)
{
    for (size_t i = 0; i < w->n_tests; i++) {
        double grew = 0, shrank = 0;
        for (int pass = 0; pass < 2; pass++)
            for (size_t k = 0; k < w->n_tests; k++) {
                const struct watch_test *t = &w->test[k];
                if (strcmp(t->service, w->test[i].service) == 0 && same_cause(t, &w->test[i])) {
                    if (pass == 0)
                        grew += fmax(t->percent, 0);
                    else
                        shrank += saved(t, grew);
                }
            }
        w->test[i].moved = shrank > grew / 2;
    }
}

static void number_causes(struct watch *w)
{
    for (size_t i = 0; i < w->n_tests; i++) {
        for (size_t k = 0; k < i && !w->test[i].cause_number; k++)
            if (same_cause(&w->test[i], &w->test[k]))
                w->test[i].cause_number = w->test[k].cause_number;
        if (!w->test[i].cause_number)
            w->test[i].cause_number = ++w->causes;
    }
}

static int by_growth(const void *left, const void *right)
{
    const struct watch_test *a = left, *b = right;
    if (a->moved != b->moved)
        return a->moved ? 1 : -1;
    return (a->percent < b->percent) - (a->percent > b->percent);
}

static int by_cause(const void *left, const void *right)
{
    const struct watch_test *a = left, *b = right;
    int order = (a->cause_number > b->cause_number) - (a->cause_number < b->cause_number);
    return order ? order : by_growth(left, right);
}

int watch_conclude(struct watch *w)
{
    double *p = malloc((w->n_tests + 1) * sizeof *p), *q = malloc((w->n_tests + 1) * sizeof *q);
    assert(w->looked_at >= w->n_tests);
    for (size_t i = 0; p && i < w->n_tests; i++)
        p[i] = w->test[i].chance;
    int rc = p && q ? cs_false_discovery(p, w->n_tests, w->looked_at, q) : -ENOMEM;
    for (size_t i = 0; rc == 0 && i < w->n_tests; i++)
        w->test[i].discovery = q[i];
    free(p);
    free(q);
    if (rc < 0 || drop(w, insignificant) == 0)
        return rc;
    qsort(w->test, w->n_tests, sizeof *w->test, by_function_then_chance);
    drop(w, echo);
    mark_moved(w);
    drop(w, cheaper);
    if (w->n_tests)
        qsort(w->test, w->n_tests, sizeof *w->test, by_growth);
    number_causes(w);
    if (w->n_tests)
        qsort(w->test, w->n_tests, sizeof *w->test, by_cause);
    w->n_found = w->n_tests;
    return 0;
}

void watch_fini(struct watch *w)
{
    for (size_t i = 0; i < w->n_tests; i++)
        fini(&w->test[i]);
    free(w->test);
    *w = (struct watch){.n_tests = 0};
}
