/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where threads waited, as `waits` tells it, and the call chains of that time. */
#include "analysis/waits/wait_groups.h"
#include "cli/html/page.h"

#include <errno.h>
#include <string.h>

#define ROWS_MAX 1000u

static json_t *none_if_empty(const char *text)
{
    return text && *text ? json_text(text) : json_null();
}

static json_t *top(const struct cs_wait_top *t)
{
    char text[600];
    cs_wait_top_text(t, text, sizeof text);
    return none_if_empty(text);
}

static double percent(const struct cs_wait_groups *w, uint64_t ns)
{
    return w->all_ns ? 100 * (double)ns / (double)w->all_ns : 0;
}

static json_t *row(const struct cs_wait_groups *w, const struct cs_wait_group *g)
{
    char meanwhile[600];
    cs_wait_meanwhile_text(g, meanwhile, sizeof meanwhile);
    return json_pack("[f, f, I, f, f, o, o, o, o, o, o, o, b, o]", (double)g->ns * 1e-9, percent(w, g->ns),
                     (json_int_t)g->count, cs_wait_median_ns(g) * 1e-6, (double)g->longest_ns * 1e-6,
                     json_text(g->kind), none_if_empty(cs_wait_where(g)),
                     g->function ? json_text(image_name(g->function->image)) : json_null(), top(&g->thread),
                     top(&g->object), top(&g->waker), none_if_empty(meanwhile), g->reading == CS_WAIT_IS_IDLE,
                     json_text(cs_wait_reading_name(g->reading)));
}

static json_t *waits_json(const struct cs_wait_groups *w)
{
    json_t *time = json_array(), *rows = json_array();
    for (size_t i = 0; i < w->n_totals; i++) {
        const struct cs_wait_total *t = &w->totals[i];
        if (!cs_wait_total_is_left_over(t))
            json_array_append_new(
                time, json_pack("[o, f, f, o]", json_text(t->what), (double)t->ns * 1e-9, percent(w, t->ns),
                                t->count ? json_integer((json_int_t)t->count) : json_null()));
    }
    for (size_t i = 0; i < w->n && i < ROWS_MAX; i++)
        json_array_append_new(rows, row(w, &w->at[i]));
    return json_pack("{s:f, s:I, s:o, s:o, s:I}", "seconds", (double)w->all_ns * 1e-9, "threads",
                     (json_int_t)w->n_threads, "time", time, "rows", rows, "left",
                     (json_int_t)(w->n > ROWS_MAX ? w->n - ROWS_MAX : 0));
}

/* The first row whose other thread tells what it waited for. */
static const struct cs_wait_group *blamed_of(const struct cs_wait_groups *w)
{
    for (size_t i = 0; i < w->n && w->at[i].reading != CS_WAIT_IS_IDLE; i++)
        if (w->at[i].blame.text && strcmp(w->at[i].kind, "run-queue") != 0)
            return &w->at[i];
    return NULL;
}

static void advise_waits(json_t *page, const struct cs_wait_groups *w)
{
    const struct cs_wait_group *first = cs_wait_first(w), *blamed = blamed_of(w);
    if (!first)
        return;
    json_t *advice = json_array();
    char what[160];
    const uint64_t ns = cs_wait_what_text(w, first, what, sizeof what);
    page_advise(advice, "Threads ran for %.1f %% of their time. Look first at the waits for %s: %.1f %%.",
                percent(w, w->on_ns), what, percent(w, ns));
    if (blamed) {
        char meanwhile[600];
        cs_wait_meanwhile_text(blamed, meanwhile, sizeof meanwhile);
        const uint64_t waited = cs_wait_what_text(w, blamed, what, sizeof what);
        page_advise(advice,
                    "During the waits for %s (%.1f %% of their time) the thread that ended them was: %s.",
                    what, percent(w, waited), meanwhile);
    }
    json_array_extend(advice, json_object_get(page, "advice"));
    json_object_set_new(page, "advice", advice);
}

int page_waits(json_t *page, struct cs_store *store, const struct cs_calls_wanted *wanted,
               struct cs_error *err)
{
    struct cs_wait_groups w;
    struct cs_error none = {0};
    int rc = cs_wait_groups_open(&w, store, wanted, &none);
    if (rc == -ENOENT)
        return json_object_set_new(page, "waits", json_null());
    if (rc < 0)
        return cs_fail(err, -rc, "%s", none.text);
    json_object_set_new(page, "waits", waits_json(&w));
    advise_waits(page, &w);
    rc = page_calls(page, "chains_waits", &w.waits, err);
    cs_wait_groups_close(&w);
    return rc;
}
