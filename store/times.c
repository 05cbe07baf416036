/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/times.h"

#include "store/base/when.h"
#include "store/catalog.h"
#include "store/merged.h"
#include "store/profile.h"
#include "store/store_open.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES 16 /* of code, that intervals count for */
#define EXTENTS_TOLD 3 /* in a sentence */
#define APART_MS 2000u /* epochs that are nearer follow one another */

static bool meets(const struct cs_store_times *a, const struct cs_store_times *b)
{
    return a->from_ms < b->to_ms && a->to_ms > b->from_ms;
}

/* `t`, an epoch or an interval, is seen whole. Names of epochs have no finer times than seconds. */
static void widen(struct cs_store *store, const struct cs_store_times *t, bool is_epoch)
{
    struct cs_store_seen *seen = &store->seen;
    uint64_t length = t->to_ms - t->from_ms;
    if (t->from_ms + 1000 > store->asked.from_ms && t->to_ms < store->asked.to_ms + 1000)
        return;
    seen->times.from_ms = t->from_ms < seen->times.from_ms ? t->from_ms : seen->times.from_ms;
    seen->times.to_ms = t->to_ms > seen->times.to_ms ? t->to_ms : seen->times.to_ms;
    seen->by_epochs = length > seen->grain_ms ? is_epoch : seen->by_epochs;
    seen->grain_ms = length > seen->grain_ms ? length : seen->grain_ms;
}

/* NULL: of any event. */
static bool has_intervals(const struct cs_times_cut *cut, const char *event)
{
    size_t i = 0;
    while (i < cut->n && !(cut->profiles[i].kind == CS_KIND_INTERVALS &&
                           (!event || strcmp(cut->profiles[i].head->event, event) == 0)))
        i++;
    return i < cut->n;
}

bool cs_times_cuts(struct cs_times_cut *cut, const char *epoch)
{
    struct cs_store *store = cut->store;
    for (size_t i = 0; store->timed && i < store->n_epochs; i++)
        if (strcmp(store->epochs[i].name, epoch) == 0)
            cut->epoch = store->epochs[i].times;
    if (!store->timed || !cut->epoch.to_ms)
        return false;
    const bool inside =
        cut->epoch.from_ms + 1000 > store->asked.from_ms && cut->epoch.to_ms < store->asked.to_ms + 1000;
    if (!inside && !store->whole_epochs && has_intervals(cut, NULL))
        return true;
    widen(store, &cut->epoch, true);
    store->seen_any = true;
    return false;
}

/* The intervals' rows that meet the times, or their samples by block. */
static int take_intervals(const struct cs_times_cut *cut, const struct cs_store_profile_ref *profile,
                          struct cs_table *to, bool by_block, struct cs_error *err)
{
    struct cs_table *all;
    int rc = cs_store_load(profile, &all, err);
    for (size_t i = 0; rc == 0 && i < cs_table_rows(all); i++) {
        const struct cs_interval_row *row = cs_table_at(all, i);
        struct cs_store_times t = {row->start_ms, row->start_ms + row->length_ms};
        if (t.to_ms <= t.from_ms || !meets(&t, &cut->store->asked))
            continue;
        t.from_ms = t.from_ms > cut->epoch.from_ms ? t.from_ms : cut->epoch.from_ms;
        t.to_ms = t.to_ms < cut->epoch.to_ms ? t.to_ms : cut->epoch.to_ms;
        if (t.from_ms < t.to_ms)
            widen(cut->store, &t, false);
        cut->store->seen_any = true;
        if (cs_table_add(to, by_block ? (uint64_t[]){row->offset, row->samples} : (const uint64_t *)row) < 0)
            rc = cs_fail(err, ENOMEM, "not enough memory for the intervals of %s", profile->file);
    }
    cs_table_close(all);
    return rc;
}

/* The samples of each block, shared out over its points. */
static int share_out(struct cs_table *blocks, struct cs_table *points, struct cs_table *to)
{
    const size_t n = cs_table_rows(points);
    size_t p = 0;
    int rc = 0;
    for (size_t b = 0; rc == 0 && b < cs_table_rows(blocks); b++) {
        const struct cs_point_row *block = cs_table_at(blocks, b);
        double all = 0, before = 0;
        uint64_t given = 0;
        size_t end;
        while (p < n && cs_table_row(points, p)[0] < block->offset)
            p++;
        for (end = p; end < n && cs_table_row(points, end)[0] - block->offset < BLOCK_BYTES; end++)
            all += (double)cs_table_row(points, end)[1];
        for (; rc == 0 && p < end; p++) {
            const struct cs_point_row *point = cs_table_at(points, p);
            before += (double)point->samples;
            uint64_t until = p + 1 == end
                                 ? block->samples
                                 : (uint64_t)((double)block->samples * (before / (all > 0 ? all : 1)));
            until = until > block->samples ? block->samples : until;
            if (until > given)
                rc = cs_table_add(to, (uint64_t[]){point->offset, until - given});
            given = until > given ? until : given;
        }
        if (rc == 0 && given < block->samples) /* no point of the block is there */
            rc = cs_table_add(to, (uint64_t[]){block->offset, block->samples - given});
    }
    return rc;
}

static uint64_t scaled(uint64_t n, double share)
{
    return (uint64_t)((double)n * (share < 1 ? share : 1));
}

static bool same_image(const struct cs_store_profile_ref *a, const struct cs_store_profile_ref *b)
{
    return strcmp(a->image->id, b->image->id) == 0;
}

/* The points of an event and image, whatever their labels, which intervals don't have. Profiles of an image follow one
 * another. */
static int cut_points(const struct cs_times_cut *cut, const struct cs_store_profile_ref *profile,
                      struct cs_table *blocks, struct cs_table *to, struct cs_store_profile_head *head,
                      struct cs_error *err)
{
    const struct cs_store_times *asked = &cut->store->asked, *epoch = &cut->epoch;
    const struct cs_store_profile_ref *r = profile, *end = cut->profiles + cut->n;
    struct cs_table *points = NULL;
    int rc = 0;
    while (r > cut->profiles && same_image(r - 1, profile))
        r--;
    head->period_sum = 0;
    head->label[0] = '\0';
    for (; rc == 0 && r < end && same_image(r, profile); r++) {
        if (strcmp(r->head->event, profile->head->event) != 0)
            continue;
        if (r->kind == CS_KIND_POINTS && r < profile)
            break; /* that one has them all */
        if (r->kind == CS_KIND_POINTS) {
            rc = cs_store_load_into(r, &points, err);
            head->period_sum += r->head->period_sum;
        } else if (r->kind == CS_KIND_INTERVALS) {
            rc = take_intervals(cut, r, blocks, true, err);
        }
    }
    if (rc == 0 && points && share_out(blocks, points, to) < 0)
        rc = cs_fail(err, ENOMEM, "not enough memory for the times of %s", profile->file);
    if (rc == 0 && points) {
        uint64_t from = asked->from_ms > epoch->from_ms ? asked->from_ms : epoch->from_ms;
        uint64_t until = asked->to_ms < epoch->to_ms ? asked->to_ms : epoch->to_ms;
        double time = (double)(until - from) / (double)(epoch->to_ms - epoch->from_ms);
        double all = (double)cs_table_sum(points, 1);
        head->period_sum = scaled(head->period_sum, all > 0 ? (double)cs_table_sum(to, 1) / all : 0);
        head->enabled_ns = scaled(head->enabled_ns, time);
        head->running_ns = scaled(head->running_ns, time);
    }
    cs_table_close(points);
    return rc;
}

int cs_times_cut_profile(const struct cs_times_cut *cut, const struct cs_store_profile_ref *profile,
                         struct cs_bytes *bytes, struct cs_error *err)
{
    struct cs_store_profile_head head = *profile->head;
    switch (profile->kind) {
    case CS_KIND_STACKS:
    case CS_KIND_CONTEXTS:
    case CS_KIND_OBSERVED:
    case CS_KIND_WAITS:
    case CS_KIND_THREADS:
    case CS_KIND_BLAME:
    case CS_KIND_WAIT_TIMES:
        return 0;
    case CS_KIND_INTERVALS:
        break;
    case CS_KIND_POINTS:
        if (has_intervals(cut, head.event))
            break;
        return 1; /* where bursts began */
    case CS_KIND_OTHER:
    case CS_KIND_EDGES:
    case CS_KIND_ACCESSES:
    case CS_KIND_RANGES:
    case CS_KIND_PER_BURST_EDGES:
    case CS_KIND_BURST_ENTRIES:
    case CS_KIND_INSTRUCTION_RATES:
    case CS_KIND_MEMORY:
    case CS_KIND_BRANCHES:
    case CS_KIND_CODE_LINES:
    case CS_KIND_FOOTPRINTS:
    case CS_KIND_SHARING:
    case CS_KIND_PAGE_SIZES:
        return 1; /* says how code runs, not how long it ran */
    case CS_KINDS:
        break;
    }
    struct cs_table *to = cs_table_open(cs_kind_schema(profile->kind)),
                    *blocks = cs_table_open(&cs_schema_points);
    int rc = !to || !blocks                       ? -ENOMEM
             : profile->kind == CS_KIND_INTERVALS ? take_intervals(cut, profile, to, false, err)
                                                  : cut_points(cut, profile, blocks, to, &head, err);
    if (rc == 0 && cs_table_rows(to) > 0)
        rc = cs_store_profile_encode(&head, to, bytes) < 0 ? -ENOMEM : 1;
    if (rc == -ENOMEM)
        cs_fail(err, ENOMEM, "not enough memory for the times of %s", profile->file);
    cs_table_close(to);
    cs_table_close(blocks);
    return rc;
}

/* "2026-11-28 14:00:00 to 14:10:00, 15:00:00 to ...": epochs that follow one another are one. */
static void tell_extents(const struct cs_store *store, char *text, size_t size)
{
    char range[CS_WHEN_RANGE_MAX];
    unsigned told = 0;
    for (size_t i = 0; i < store->n_epochs;) {
        struct cs_store_times t = store->epochs[i].times;
        while (++i < store->n_epochs && store->epochs[i].times.to_ms + APART_MS >= t.from_ms)
            t.from_ms =
                store->epochs[i].times.from_ms < t.from_ms ? store->epochs[i].times.from_ms : t.from_ms;
        size_t used = strlen(text);
        cs_when_range(t.from_ms, t.to_ms, range);
        if (++told <= EXTENTS_TOLD)
            snprintf(text + used, size - used, "%s%s", told > 1 ? ", " : "", range);
    }
    if (told > EXTENTS_TOLD)
        snprintf(text + strlen(text), size - strlen(text), " and %u earlier", told - EXTENTS_TOLD);
}

static int nothing(struct cs_store *store, const struct cs_store_times *asked, struct cs_error *err)
{
    char range[CS_WHEN_RANGE_MAX], has[300] = "";
    cs_when_range(asked->from_ms, asked->to_ms, range);
    tell_extents(store, has, sizeof has);
    return cs_fail(err, ENOENT, "%.120s has nothing from %s%s%s", store->path, range, *has ? ": it has " : "",
                   has);
}

const struct cs_store_times *cs_store_times_asked(const struct cs_store *store)
{
    return store->timed ? &store->asked : NULL;
}

int cs_store_see_times(struct cs_store *store, const struct cs_store_times *asked, bool whole_epochs,
                       struct cs_store_seen *seen, struct cs_error *err)
{
    const struct cs_store_epoch *epochs;
    const struct cs_catalog *catalog;
    size_t n, n_met = 0;
    struct cs_store_times all = {UINT64_MAX, 0};
    int rc = cs_store_epochs(store, &epochs, &n, err);
    const char **met = calloc(n + 1, sizeof *met);
    if (rc == 0 && !met)
        rc = cs_fail(err, ENOMEM, "not enough memory for the epochs of %s", store->path);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        if (!cs_store_sees(store, epochs[i].name) || !meets(&epochs[i].times, asked))
            continue;
        met[n_met++] = epochs[i].name;
        all.from_ms = epochs[i].times.from_ms < all.from_ms ? epochs[i].times.from_ms : all.from_ms;
        all.to_ms = epochs[i].times.to_ms > all.to_ms ? epochs[i].times.to_ms : all.to_ms;
    }
    if (rc == 0 && !n_met)
        rc = nothing(store, asked, err);
    if (rc == 0)
        rc = cs_store_see_only(store, met, n_met, err);
    free(met);
    if (rc < 0)
        return rc;
    store->asked = (struct cs_store_times){asked->from_ms > all.from_ms ? asked->from_ms : all.from_ms,
                                           asked->to_ms < all.to_ms ? asked->to_ms : all.to_ms};
    store->seen = (struct cs_store_seen){.times = store->asked};
    store->timed = true;
    store->whole_epochs = whole_epochs;
    rc = cs_store_catalog(store, &catalog, err);
    if (rc == 0 && !store->seen_any)
        rc = nothing(store, asked, err);
    *seen = store->seen;
    return rc;
}
