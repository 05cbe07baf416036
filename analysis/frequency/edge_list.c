/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The list of edges: in order, each once, found by source and by target; bursts' edges tied to it. */
#include "analysis/frequency/edge_flow_internal.h"
#include "analysis/frequency/frequency.h"
#include "store/base/bisect.h"
#include "store/base/order.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int compare(const struct cs_counted_edge *x, const struct cs_counted_edge *y)
{
    if (x->image != y->image)
        return x->image < y->image ? -1 : 1;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    if (x->to_image != y->to_image)
        return x->to_image < y->to_image ? -1 : 1;
    return (x->to > y->to) - (x->to < y->to);
}

static int by_source(const void *a, const void *b)
{
    return compare(a, b);
}

CS_ORDER(by_burst, struct burst_run, cs_order(a->burst, b->burst), cs_order(a->first, b->first))

void edge_list_merge(struct cs_edge_flow *t)
{
    size_t kept = 0, ordered = 1;
    while (ordered < t->n && compare(&t->list[ordered - 1], &t->list[ordered]) <= 0)
        ordered++;
    if (ordered < t->n)
        cs_sort(t->list, t->n, by_source);
    for (size_t i = 0; i < t->n; i++) {
        if (kept && compare(&t->list[kept - 1], &t->list[i]) == 0) {
            t->list[kept - 1].count += t->list[i].count;
            t->list[kept - 1].bursts += t->list[i].bursts;
            t->list[kept - 1].squares += t->list[i].squares;
            t->list[kept - 1].ends += t->list[i].ends;
        } else
            t->list[kept++] = t->list[i];
    }
    t->n = kept;
    for (size_t i = 0; i < kept; i++)
        t->total_count += t->list[i].count;
}

static uint32_t hash_of(const struct cs_counted_edge *key)
{
    uint64_t h = (key->from + ((uint64_t)key->image << 48)) * 0x9e3779b97f4a7c15u;
    h = (h ^ (h >> 32) ^ key->to ^ ((uint64_t)key->to_image << 48)) * 0xd6e8feb86659fd93u;
    return (uint32_t)(h >> 32);
}

/* Its slot, or a free one; from `slot` on. */
static uint32_t slot_from(const struct edge_finder *finder, const struct cs_counted_edge *key, uint32_t slot)
{
    while (finder->slots[slot] && compare(&finder->t->list[finder->slots[slot] - 1], key) != 0)
        slot = (slot + 1) & finder->mask;
    return slot;
}

int edge_finder_init(struct edge_finder *finder, const struct cs_edge_flow *t)
{
    uint32_t slots = 64; /* the list has less than a quarter of what 32 bits count */
    while (slots < 2 * t->n)
        slots *= 2;
    *finder = (struct edge_finder){t, calloc(slots, sizeof *finder->slots), slots - 1};
    if (!finder->slots)
        return -ENOMEM;
    for (uint32_t i = 0; i < t->n; i++)
        finder->slots[slot_from(finder, &t->list[i], hash_of(&t->list[i]) & finder->mask)] = i + 1;
    return 0;
}

/* Neither slots nor list fit in a cache: what is looked up together waits for memory together. */
void edge_finder_find(const struct edge_finder *finder, const struct cs_counted_edge *keys, size_t n,
                      uint32_t *found)
{
    for (size_t i = 0; i < n; i++) {
        found[i] = hash_of(&keys[i]) & finder->mask;
        __builtin_prefetch(&finder->slots[found[i]]);
    }
    for (size_t i = 0; i < n; i++)
        if (finder->slots[found[i]])
            __builtin_prefetch(&finder->t->list[finder->slots[found[i]] - 1]);
    for (size_t i = 0; i < n; i++)
        found[i] = finder->slots[slot_from(finder, &keys[i], found[i])] - 1;
}

void edge_finder_fini(struct edge_finder *finder)
{
    free(finder->slots);
}

int edge_list_order_bursts(struct burst_edges *w, uint32_t *n_bursts)
{
    struct burst_edge *rows = malloc((w->n + 1) * sizeof *rows);
    size_t n = 0;
    w->number = malloc((w->n_runs + 1) * sizeof *w->number);
    if (!w->number || !rows) {
        free(rows);
        return -ENOMEM;
    }
    cs_sort(w->runs, w->n_runs, by_burst);
    for (size_t i = 0; i < w->n_runs; i++) {
        const struct burst_run *run = &w->runs[i];
        if (i == 0 || run->burst != w->runs[i - 1].burst)
            w->number[(*n_bursts)++] = run->burst;
        for (size_t k = run->first; k < run->first + run->n; k++) {
            rows[n] = w->rows[k];
            rows[n++].burst = *n_bursts - 1;
        }
    }
    free(w->rows);
    free(w->runs);
    w->rows = rows;
    w->n = n;
    w->runs = NULL;
    w->n_runs = 0;
    return 0;
}

static int by_target(const void *a, const void *b, void *list)
{
    const struct cs_counted_edge *t = list, *x = &t[*(const uint32_t *)a], *y = &t[*(const uint32_t *)b];
    if (x->to_image != y->to_image)
        return x->to_image < y->to_image ? -1 : 1;
    if (x->to != y->to)
        return x->to < y->to ? -1 : 1;
    return (x > y) - (x < y);
}

int edge_list_order_targets(struct cs_edge_flow *t)
{
    t->by_to = malloc((t->n + 1) * sizeof *t->by_to);
    if (!t->by_to)
        return -ENOMEM;
    for (size_t i = 0; i < t->n; i++)
        t->by_to[i] = (uint32_t)i;
    qsort_r(t->by_to, t->n, sizeof *t->by_to, by_target, t->list);
    return 0;
}

size_t cs_edge_flow_to(const struct cs_edge_flow *t, uint32_t image, uint64_t to)
{
    assert(t->by_to || t->n == 0);
    return cs_bisect(t->n, i,
                     t->list[t->by_to[i]].to_image < image ||
                         (t->list[t->by_to[i]].to_image == image && t->list[t->by_to[i]].to < to));
}

size_t edge_flow_next_branch(const struct cs_edge_flow *t, uint32_t image, uint64_t offset)
{
    size_t low = cs_bisect(
        t->n, i, t->list[i].image < image || (t->list[i].image == image && t->list[i].from < offset));
    return low < t->n && t->list[low].image == image ? low : SIZE_MAX;
}

double cs_edge_flow_bursts(const struct cs_edge_flow *t, uint32_t image, uint64_t offset)
{
    double most = 0;
    size_t first = edge_flow_next_branch(t, image, offset);
    for (size_t i = first; i < t->n && t->list[i].image == image && t->list[i].from == t->list[first].from;
         i++)
        most = t->list[i].bursts > most ? t->list[i].bursts : most;
    return most;
}

int cs_edge_flow_profile(const struct cs_edge_flow *t, uint32_t image, struct cs_edge_profile **out,
                         struct cs_error *err)
{
    size_t n = 0;
    struct cs_seen_edge *edges = malloc((t->n + 1) * sizeof *edges);
    if (!edges)
        return cs_fail(err, ENOMEM, "no memory for an edge profile");
    for (size_t i = 0; i < t->n; i++) {
        const struct cs_counted_edge *one = &t->list[i];
        if ((one->image != image && one->to_image != image) || one->count <= 0)
            continue;
        edges[n++] =
            (struct cs_seen_edge){.from = one->from,
                                  .to = one->to,
                                  .count = one->count,
                                  .bursts = one->bursts,
                                  .squares = one->squares,
                                  .to_image = one->to_image == image ? NULL : t->images[one->to_image],
                                  .from_image = one->image == image ? NULL : t->images[one->image]};
    }
    int rc = cs_edge_profile_make(edges, n, out, err);
    free(edges);
    return rc;
}

void burst_edges_fini(struct burst_edges *w)
{
    free(w->samples);
    free(w->rows);
    free(w->runs);
    free(w->number);
    free(w->entries);
}

uint32_t cs_edge_flow_image(const struct cs_edge_flow *t, const char *id)
{
    for (uint32_t i = 0; i < t->n_images; i++)
        if (strcmp(t->images[i], id) == 0)
            return i;
    return UINT32_MAX;
}

void cs_edge_flow_close(struct cs_edge_flow *t)
{
    if (!t)
        return;
    free(t->list);
    free(t->by_to);
    free(t->images);
    free(t);
}
