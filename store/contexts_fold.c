/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bounding a tree: what is rare becomes "other" below the frame it was called from. A parent's total is at least
 * its child's and it is less deep, so that the nodes kept are a tree. Fewer than half of the nodes may stay, because
 * each of them, and the root, may need an "other". */
#include "store/base/order.h"
#include "store/contexts_tree.h"

#include <errno.h>
#include <stdlib.h>

struct candidate {
    uint64_t total, key;
    uint32_t depth, node;
};

CS_ORDER(greatest_first, struct candidate, cs_order(b->total, a->total), cs_order(a->depth, b->depth),
         cs_order(a->key, b->key), cs_order(a->node, b->node))

/* The nodes that stay, each under its parent's new number; the others' samples go to the "other" of the last
 * ancestor that stays. Parents come first, so one pass is enough. */
static int copy_kept(const struct cs_contexts *from, const bool *kept, struct cs_contexts *to)
{
    uint32_t *now = calloc(from->n, sizeof *now);
    int rc = now ? 0 : -ENOMEM;
    for (uint32_t i = 1; rc == 0 && i < from->n; i++) {
        const struct cs_context *c = &from->nodes[i];
        bool below_folded = c->parent && !kept[c->parent];
        if (kept[i]) {
            int64_t image = cs_contexts_image(to, cs_contexts_image_id(from, c->image));
            int64_t node =
                image < 0 ? image : cs_contexts_child(to, now[c->parent], (uint32_t)image, c->offset);
            now[i] = node < 0 ? 0 : (uint32_t)node;
            rc = node < 0 ? -ENOMEM : 0;
        } else {
            int64_t other = below_folded ? now[c->parent] : cs_contexts_child(to, now[c->parent], 0, 0);
            now[i] = other < 0 ? 0 : (uint32_t)other;
            rc = other < 0 ? -ENOMEM : 0;
        }
        if (rc == 0)
            cs_contexts_add(to, now[i], c->self);
    }
    free(now);
    return rc;
}

int cs_contexts_fold(struct cs_contexts *t, uint32_t most)
{
    if (t->n - 1 <= most)
        return 0;
    struct candidate *order = calloc(t->n, sizeof *order);
    bool *kept = calloc(t->n, sizeof *kept);
    struct cs_contexts *folded = cs_contexts_open();
    int rc = order && kept && folded ? 0 : -ENOMEM;
    if (rc == 0) {
        cs_contexts_sum(t);
        for (uint32_t i = 1; i < t->n; i++) {
            const struct cs_context *c = &t->nodes[i];
            order[i] = (struct candidate){c->total, c->key, order[c->parent].depth + 1, i};
        }
        qsort(order + 1, t->n - 1, sizeof *order, greatest_first);
        for (uint32_t i = 1; i <= (most - 1) / 2; i++)
            kept[order[i].node] = true;
        rc = copy_kept(t, kept, folded);
    }
    if (rc == 0) {
        struct cs_contexts was = *t;
        *t = *folded;
        *folded = was;
    }
    cs_contexts_close(folded);
    free(order);
    free(kept);
    return rc;
}
