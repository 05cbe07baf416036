/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Edges of the store's profiles of kind "edges", whatever their event (bursts, LBR) and epoch. Rows of equal
 * ends are summed. Calls from other images are found in those images' profiles. */
#include "analysis/cfg/edge_profile.h"
#include "store/burst_schemas.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct loading {
    struct cs_edge_profile *profile;
    const char *image_id;
    size_t room;
    struct cs_error *err;
};

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

static int append(struct cs_edge_profile *p, size_t *room, const struct cs_seen_edge *edge)
{
    if (p->n == *room) {
        size_t more = *room ? 2 * *room : 256;
        struct cs_seen_edge *grown = more < UINT32_MAX ? realloc(p->by_from, more * sizeof *grown) : NULL;
        if (!grown)
            return -ENOMEM;
        p->by_from = grown;
        *room = more;
    }
    p->by_from[p->n++] = *edge;
    return 0;
}

static const char *keep(struct cs_edge_profile *p, const char *text)
{
    for (size_t i = p->n_strings; i-- > 0;)
        if (strcmp(p->strings[i], text) == 0)
            return p->strings[i];
    char **grown = realloc(p->strings, (p->n_strings + 1) * sizeof *grown);
    if (!grown)
        return NULL;
    p->strings = grown;
    if ((p->strings[p->n_strings] = strdup(text)) == NULL)
        return NULL;
    return p->strings[p->n_strings++];
}

static int index_it(struct cs_edge_profile *p)
{
    size_t kept = 0;
    if (p->n)
        qsort(p->by_from, p->n, sizeof *p->by_from, compare);
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

static int load_one(const struct cs_profile_ref *ref, void *arg)
{
    struct loading *l = arg;
    struct cs_table *table;
    if (strcmp(ref->kind, cs_schema_edges.kind) != 0 || !cs_edges_are_whole(ref->head->event))
        return 0;
    bool own = strcmp(ref->image->id, l->image_id) == 0;
    const char *from_image = own ? NULL : keep(l->profile, ref->image->id);
    if (!own && !from_image)
        return cs_fail(l->err, ENOMEM, "no memory for the edges of %s", ref->file);
    int rc = cs_store_load(ref, &table, l->err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < cs_table_rows(table) && rc == 0; i++) {
        const uint64_t *row = cs_table_row(table, i);
        const char *to = cs_table_string(table, row[1]);
        if (!own && strcmp(to, l->image_id) != 0)
            continue;
        struct cs_seen_edge edge = {row[0],         row[2], (double)row[3], (double)row[4],
                                    (double)row[5], NULL,   from_image};
        if (own && *to && strcmp(to, l->image_id) != 0 && !(edge.to_image = keep(l->profile, to)))
            rc = -ENOMEM;
        else
            rc = append(l->profile, &l->room, &edge);
    }
    cs_table_close(table);
    return rc < 0 ? cs_fail(l->err, -rc, "no memory for the edges of %s", ref->file) : 0;
}

int cs_edge_profile_load(struct cs_store *store, const char *image_id, struct cs_edge_profile **out,
                         struct cs_error *err)
{
    struct cs_edge_profile *p = calloc(1, sizeof *p);
    struct loading l = {p, image_id, 0, err};
    if (!p)
        return cs_fail(err, ENOMEM, "no memory for an edge profile");
    int rc = cs_store_each(store, load_one, &l, err);
    if (rc == 0 && index_it(p) < 0)
        rc = cs_fail(err, ENOMEM, "no memory for an edge profile");
    if (rc < 0) {
        cs_edge_profile_close(p);
        return rc;
    }
    *out = p;
    return 0;
}

int cs_edge_profile_make(const struct cs_seen_edge *edges, size_t n, struct cs_edge_profile **out,
                         struct cs_error *err)
{
    struct cs_edge_profile *p = calloc(1, sizeof *p);
    size_t room = 0;
    int rc = p ? 0 : -ENOMEM;
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = append(p, &room, &edges[i]);
    if (rc == 0)
        rc = index_it(p);
    if (rc < 0) {
        cs_edge_profile_close(p);
        return cs_fail(err, ENOMEM, "no memory for an edge profile");
    }
    *out = p;
    return 0;
}

void cs_edge_profile_close(struct cs_edge_profile *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->n_strings; i++)
        free(p->strings[i]);
    free(p->strings);
    free(p->by_from);
    free(p->by_to);
    free(p);
}

size_t cs_edge_profile_from(const struct cs_edge_profile *p, uint64_t from)
{
    size_t low = 0, high = p->n_own;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (p->by_from[middle].from < from)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t cs_edge_profile_to(const struct cs_edge_profile *p, uint64_t to)
{
    size_t low = 0, high = p->n_by_to;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (p->by_from[p->by_to[middle]].to < to)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
