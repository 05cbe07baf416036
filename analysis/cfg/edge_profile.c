/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two sorted views of one list of edges; rows of equal ends are summed. */
#include "analysis/cfg/edge_profile.h"

#include "store/base/bisect.h"
#include "store/base/order.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
    const struct cs_seen_edge *x = a, *y = b;
    const char *xi = x->from_image ? x->from_image : "", *yi = y->from_image ? y->from_image : "";
    int order = strcmp(xi, yi); /* own edges first */
    if (order)
        return order;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    if (x->to != y->to)
        return x->to < y->to ? -1 : 1;
    return strcmp(x->to_image ? x->to_image : "", y->to_image ? y->to_image : "");
}

static int compare_to(const void *a, const void *b, void *edges)
{
    const struct cs_seen_edge *e = edges;
    uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
    if (e[i].to != e[k].to)
        return e[i].to < e[k].to ? -1 : 1;
    return (i > k) - (i < k);
}

static int index_it(struct cs_edge_profile *p)
{
    size_t kept = 0;
    cs_sort(p->by_from, p->n, compare);
    for (size_t i = 0; i < p->n; i++) {
        struct cs_seen_edge *last = kept ? &p->by_from[kept - 1] : NULL;
        if (last && compare(last, &p->by_from[i]) == 0) {
            last->count += p->by_from[i].count;
            last->bursts += p->by_from[i].bursts;
            last->squares += p->by_from[i].squares;
        } else
            p->by_from[kept++] = p->by_from[i];
    }
    p->n = kept;
    p->by_to = malloc((kept + 1) * sizeof *p->by_to);
    if (!p->by_to)
        return -ENOMEM;
    for (size_t i = 0; i < kept; i++) {
        if (!p->by_from[i].from_image)
            p->n_own++;
        if (!p->by_from[i].to_image)
            p->by_to[p->n_by_to++] = (uint32_t)i;
    }
    qsort_r(p->by_to, p->n_by_to, sizeof *p->by_to, compare_to, p->by_from);
    return 0;
}

int cs_edge_profile_make(const struct cs_seen_edge *edges, size_t n, struct cs_edge_profile **out,
                         struct cs_error *err)
{
    struct cs_edge_profile *p = calloc(1, sizeof *p);
    if (p && n < UINT32_MAX)
        p->by_from = malloc((n + 1) * sizeof *p->by_from);
    if (p && p->by_from && n)
        memcpy(p->by_from, edges, n * sizeof *edges);
    if (!p || !p->by_from || (p->n = n, index_it(p)) < 0) {
        cs_edge_profile_close(p);
        return cs_fail(err, ENOMEM, "no memory for an edge profile");
    }
    assert(p->n_own <= p->n && p->n_by_to <= p->n);
    *out = p;
    return 0;
}

void cs_edge_profile_close(struct cs_edge_profile *p)
{
    if (!p)
        return;
    free(p->by_from);
    free(p->by_to);
    free(p);
}

size_t cs_edge_profile_from(const struct cs_edge_profile *p, uint64_t from)
{
    return cs_bisect(p->n_own, i, p->by_from[i].from < from);
}

size_t cs_edge_profile_to(const struct cs_edge_profile *p, uint64_t to)
{
    return cs_bisect(p->n_by_to, i, p->by_from[p->by_to[i]].to < to);
}
