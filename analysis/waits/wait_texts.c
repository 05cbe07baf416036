/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What reports say of a recording's waits: pure functions of what wait_groups.c has put together. */
#include "analysis/waits/wait_groups.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

void cs_wait_top_text(const struct cs_wait_top *top, char *text, size_t size)
{
    assert(size > 0);
    if (top->text && top->n > 1)
        snprintf(text, size, "%s (+%u)", top->text, top->n - 1);
    else
        snprintf(text, size, "%s", top->text ? top->text : "");
}

void cs_wait_meanwhile_text(const struct cs_wait_group *group, char *text, size_t size)
{
    *text = '\0';
    if (group->blame.text)
        snprintf(text, size, "%s (%.0f %%)", group->blame.text,
                 100 * (double)group->blame.ns / (double)group->blamed_ns);
}

const char *cs_wait_where(const struct cs_wait_group *group)
{
    return *group->where ? group->where : group->via;
}

bool cs_wait_total_is_left_over(const struct cs_wait_total *total)
{
    return total->ns < 1000 && !total->count;
}

#define SHORT_NS 50e3 /* median: shorter than anything but a hand-over takes */
#define SWITCH_NS                                                                                            \
    5000.0 /* what a wait costs beside its length: two context switches, a wake-up, cold caches */
#define SWITCHES_FROM 0.1 /* of all threads' time */

static bool is_for_cpu(const struct cs_wait_group *g)
{
    return strcmp(g->kind, "run-queue") == 0;
}

/* The joined thread's own rows and samples say where that time went. */
static bool is_join(const struct cs_wait_group *g)
{
    return strcmp(g->kind, "join") == 0;
}

/* Waits of this kind, wherever they are: both sides of a hand-over wait. */
static uint64_t waits_of_kind(const struct cs_wait_groups *w, const char *kind)
{
    uint64_t n = 0;
    for (size_t i = 0; i < w->n; i++)
        n += w->at[i].reading == CS_WAIT_IS_WAIT && strcmp(w->at[i].kind, kind) == 0 ? w->at[i].count : 0;
    return n;
}

bool cs_wait_is_switching(const struct cs_wait_groups *w, const struct cs_wait_group *g)
{
    return g->reading == CS_WAIT_IS_WAIT && !is_for_cpu(g) && cs_wait_median_ns(g) < SHORT_NS &&
           (double)waits_of_kind(w, g->kind) * SWITCH_NS >= SWITCHES_FROM * (double)w->all_ns;
}

uint64_t cs_wait_for_cpu_ns(const struct cs_wait_groups *w, bool *own)
{
    uint64_t all = 0, own_ns = 0, total = 0;
    for (size_t i = 0; i < w->n; i++)
        if (is_for_cpu(&w->at[i])) {
            all += w->at[i].ns;
            own_ns += w->at[i].facts.by_own_ns;
        }
    for (size_t i = 0; i < w->n_totals; i++)
        total += strcmp(w->totals[i].what, "run-queue") == 0 ? w->totals[i].ns : 0;
    *own = all && own_ns >= all / 2;
    return total ? total : all;
}

/* Most of this row had no end, and meanwhile the program ran for over a tenth of it: a spare thread. A program that hangs doesn't. */
static bool is_spare(const struct cs_wait_groups *w, const struct cs_wait_group *g)
{
    return g->facts.no_end_ns > g->ns / 2 && w->on_ns > g->longest_ns / 10;
}

/* The longest that may be idle and isn't a spare thread's, and the ns of all such. */
static const struct cs_wait_group *either_first(const struct cs_wait_groups *w, uint64_t *ns)
{
    const struct cs_wait_group *first = NULL;
    *ns = 0;
    for (size_t i = 0; i < w->n; i++)
        if (w->at[i].reading == CS_WAIT_IS_EITHER && !is_spare(w, &w->at[i])) {
            first = first ? first : &w->at[i];
            *ns += w->at[i].ns;
        }
    return first;
}

/* Of waits for a CPU that others had: what the program itself waited for comes first, if there is anything. */
static const struct cs_wait_group *own_first(const struct cs_wait_groups *w,
                                             const struct cs_wait_group *first)
{
    bool own;
    uint64_t waited = 0, either_ns;
    const struct cs_wait_group *most = NULL, *either = either_first(w, &either_ns);
    (void)cs_wait_for_cpu_ns(w, &own);
    if (own)
        return first;
    for (size_t i = 0; i < w->n; i++)
        if (w->at[i].reading == CS_WAIT_IS_WAIT && !is_for_cpu(&w->at[i]) && !is_join(&w->at[i])) {
            waited += w->at[i].ns;
            most = most ? most : &w->at[i];
        }
    if (either && waited < either_ns / 100)
        return waited + either_ns > w->on_ns ? either : NULL;
    return waited > w->on_ns ? most : NULL;
}

/* By their length. */
static const struct cs_wait_group *longest_first(const struct cs_wait_groups *w)
{
    uint64_t waited = 0, either_ns;
    const struct cs_wait_group *first = NULL, *either = either_first(w, &either_ns);
    for (size_t i = 0; i < w->n; i++)
        if (w->at[i].reading == CS_WAIT_IS_WAIT && !is_join(&w->at[i])) {
            first = first ? first : &w->at[i];
            waited += w->at[i].ns;
        }
    if (either && waited < either_ns / 100) /* a few ms for a CPU tell nothing */
        first = either;
    return waited + either_ns > w->on_ns ? first : NULL;
}

const struct cs_wait_group *cs_wait_first(const struct cs_wait_groups *w)
{
    const struct cs_wait_group *first = longest_first(w);
    if (first && !is_for_cpu(first))
        return first;
    for (size_t i = 0; i < w->n; i++)
        if (cs_wait_is_switching(w, &w->at[i]))
            return &w->at[i];
    return first ? own_first(w, first) : NULL;
}

uint64_t cs_wait_what_text(const struct cs_wait_groups *w, const struct cs_wait_group *g, char *text,
                           size_t size)
{
    if (strcmp(g->kind, "run-queue") == 0) /* wherever the thread was: the place isn't the cause */
        for (size_t i = 0; i < w->n_totals; i++)
            if (strcmp(w->totals[i].what, g->kind) == 0) {
                snprintf(text, size, "a CPU");
                return w->totals[i].ns;
            }
    snprintf(text, size, "%s%s%.60s", g->kind, *cs_wait_where(g) ? " in " : "", cs_wait_where(g));
    return g->ns;
}

/* Three digits, without an exponent. */
static int decimals(double seconds)
{
    return seconds >= 100 ? 0 : seconds >= 10 ? 1 : seconds >= 1 ? 2 : 3;
}

void cs_wait_first_text(const struct cs_wait_groups *w, const struct cs_wait_group *g, char *text,
                        size_t size)
{
    const bool either = g->reading == CS_WAIT_IS_EITHER;
    char what[160];
    const uint64_t ns = cs_wait_what_text(w, g, what, sizeof what);
    const char *object = ns == g->ns && g->object.text ? g->object.text : NULL;
    const double ran = (double)w->on_ns * 1e-9, waited = (double)ns * 1e-9;
    if (cs_wait_is_switching(w, g)) {
        const double n = (double)waits_of_kind(w, g->kind);
        snprintf(text, size,
                 "threads waited %.0f times for %s%s%.100s%s: very many short waits (median %.3f ms, %.0f a "
                 "second and thread)",
                 n, what, object ? " (" : "", object ? object : "", object ? ")" : "",
                 cs_wait_median_ns(g) * 1e-6, w->all_ns ? n * 1e9 / (double)w->all_ns : 0);
        return;
    }
    snprintf(text, size, "threads waited longer than they ran (%.*f s on a CPU): %.*f s for %s%s%.100s%s%s",
             decimals(ran), ran, decimals(waited), waited, what, object ? " (" : "", object ? object : "",
             object ? ")" : "", either ? ", unless they were idle there" : "");
}

double cs_wait_median_ns(const struct cs_wait_group *group)
{
    uint64_t below = 0;
    for (size_t i = 0; i < group->n_lengths; i++) {
        below += group->lengths[i].count;
        if (2 * below >= group->count)
            return group->lengths[i].ns;
    }
    return 0;
}
