/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What lines cost with the calls they make: contexts have the address of each call. A line that is several times on a
 * chain (recursion) counts once, with its outermost frame. */
#include "cli/profile/annotate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int compare_insn(const void *key, const void *element)
{
    uint64_t offset = *(const uint64_t *)key;
    const struct annotated_insn *i = element;
    return offset < i->offset ? -1 : offset >= i->offset + i->length;
}

static void add_frames(struct annotation *a, const struct cs_contexts *tree, uint32_t *above, unsigned *line)
{
    for (uint32_t i = 1; i < cs_contexts_count(tree); i++) {
        const struct cs_context *c = cs_contexts_at(tree, i);
        bool here = strcmp(cs_contexts_image_id(tree, c->image), a->image->image.id) == 0;
        const struct annotated_insn *insn =
            here && a->n_insns ? bsearch(&c->offset, a->insn, a->n_insns, sizeof *a->insn, compare_insn)
                               : NULL;
        uint32_t outer = above[c->parent]; /* the nearest frame of the procedure on the way out */
        above[i] = insn ? i : outer;
        if (!insn)
            continue;
        line[i] = insn->line;
        a->in_all += outer ? 0 : c->total;
        while (outer && line[outer] != insn->line)
            outer = above[cs_contexts_at(tree, outer)->parent];
        if (!outer && insn->line < a->n_line)
            a->line[insn->line].total += c->total;
    }
}

int annotate_totals(const struct profile *profile, const struct cs_calls_wanted *wanted, struct annotation *a,
                    struct cs_error *err)
{
    struct cs_contexts *tree = NULL;
    int rc = cs_calls_contexts(profile->store, wanted, &tree, err);
    if (rc < 0)
        return rc;
    uint32_t *above = calloc(cs_contexts_count(tree), sizeof *above);
    unsigned *line = calloc(cs_contexts_count(tree), sizeof *line);
    if (above && line)
        add_frames(a, tree, above, line);
    else
        rc = cs_fail(err, ENOMEM, "out of memory for the call chains of %s", a->name);
    free(above);
    free(line);
    cs_contexts_close(tree);
    return rc;
}
