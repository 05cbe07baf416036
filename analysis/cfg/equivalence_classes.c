/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frequency equivalence, dcpi-1997 section 6.1.2. The nodes of the graph are the two ends of each block. It
 * has an edge through each block, one for each control-flow edge, and one from the exit back to the entry.
 * Blocks from which no exit can be reached get an imaginary edge to it, one for each loop without an exit. So
 * the graph is strongly connected. */
#include "analysis/cfg/cfg.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Marks, backwards from `block`, what leads there. */
static void flood_back(const struct cs_cfg *cfg, uint32_t block, uint8_t *leads, uint32_t *stack)
{
    uint32_t n = 0;
    leads[block] = 1;
    stack[n++] = block;
    while (n) {
        const struct cs_basic_block *at = &cfg->blocks[stack[--n]];
        for (uint32_t k = 0; k < at->n_in; k++) {
            uint32_t from = cfg->edges[cfg->in[at->first_in + k]].from;
            if (from < cfg->n_blocks && !leads[from]) {
                leads[from] = 1;
                stack[n++] = from;
            }
        }
    }
}

/* Order in which a depth-first walk from the entries leaves the blocks: the first one left of those without a
 * way out lies in a loop without an exit. */
static uint32_t leaving_order(const struct cs_cfg *cfg, uint32_t *order, uint32_t *stack, uint32_t *cursor,
                              uint8_t *seen)
{
    uint32_t left = 0;
    memset(seen, 0, cfg->n_blocks);
    for (uint32_t root = 0; root < cfg->n_blocks; root++) {
        if (seen[root] || !cfg->blocks[root].entry)
            continue;
        uint32_t depth = 0;
        stack[depth++] = root;
        seen[root] = 1;
        cursor[root] = 0;
        while (depth) {
            uint32_t at = stack[depth - 1];
            const struct cs_basic_block *block = &cfg->blocks[at];
            if (cursor[at] == block->n_out) {
                order[left++] = at;
                depth--;
                continue;
            }
            uint32_t to = cfg->edges[block->first_out + cursor[at]++].to;
            if (to < cfg->n_blocks && !seen[to]) {
                seen[to] = 1;
                cursor[to] = 0;
                stack[depth++] = to;
            }
        }
    }
    return left;
}

static int64_t classify(const struct cs_cfg *cfg, uint32_t *from, uint32_t *to, uint32_t *class_of,
                        uint32_t *scratch, uint8_t *leads)
{
    uint32_t n = cfg->n_blocks, exit = 2 * n, entry = 2 * n + 1, k = 0;
    uint32_t *order = scratch, *stack = scratch + n, *cursor = scratch + 2 * (size_t)n;
    for (uint32_t i = 0; i < n; i++, k++) {
        from[k] = 2 * i;
        to[k] = 2 * i + 1;
    }
    for (uint32_t e = 0; e < cfg->n_edges; e++, k++) {
        const struct cs_cfg_edge *edge = &cfg->edges[e];
        from[k] = edge->from == CS_CFG_ENTRY ? entry : 2 * edge->from + 1;
        to[k] = edge->to == CS_CFG_EXIT ? exit : 2 * edge->to;
    }
    from[k] = exit;
    to[k++] = entry;
    uint32_t left = leaving_order(cfg, order, stack, cursor, leads);
    memset(leads, 0, n);
    for (uint32_t e = 0; e < cfg->n_edges; e++)
        if (cfg->edges[e].to == CS_CFG_EXIT && !leads[cfg->edges[e].from])
            flood_back(cfg, cfg->edges[e].from, leads, stack);
    for (uint32_t i = 0; i < left; i++)
        if (!leads[order[i]]) {
            from[k] = 2 * order[i] + 1;
            to[k++] = exit;
            flood_back(cfg, order[i], leads, stack);
        }
    return cs_cfg_cycle_equivalence(2 * n + 2, from, to, k, class_of);
}

int cs_cfg_classes(const struct cs_cfg *cfg, struct cs_equivalence_classes *classes)
{
    uint32_t n = cfg->n_blocks, m = cfg->n_edges;
    size_t edges = 2 * (size_t)n + m + 2;
    int rc = -ENOMEM;
    *classes = (struct cs_equivalence_classes){0};
    uint32_t *from = malloc(edges * sizeof *from), *to = malloc(edges * sizeof *to);
    uint32_t *class_of = malloc(edges * sizeof *class_of),
             *scratch = malloc((3 * (size_t)n + 1) * sizeof *scratch);
    uint8_t *leads = calloc(n + 1, 1);
    classes->of_block = malloc((n + 1) * sizeof *classes->of_block);
    classes->of_edge = malloc((m + 1) * sizeof *classes->of_edge);
    if (!from || !to || !class_of || !scratch || !leads || !classes->of_block || !classes->of_edge)
        goto out;
    if (!cfg->missing) {
        int64_t found = classify(cfg, from, to, class_of, scratch, leads);
        if (found < 0)
            goto out;
        /* renumber: classes of imaginary edges alone don't count */
        for (size_t i = 0; i < edges; i++)
            to[i] = CS_CFG_EXIT;
        for (uint32_t i = 0; i < n + m; i++) {
            if (to[class_of[i]] == CS_CFG_EXIT)
                to[class_of[i]] = classes->n_classes++;
            *(i < n ? &classes->of_block[i] : &classes->of_edge[i - n]) = to[class_of[i]];
        }
    } else
        for (uint32_t i = 0; i < n + m; i++)
            *(i < n ? &classes->of_block[i] : &classes->of_edge[i - n]) = classes->n_classes++;
    rc = 0;
out:
    if (rc < 0)
        cs_cfg_classes_fini(classes);
    free(from);
    free(to);
    free(class_of);
    free(scratch);
    free(leads);
    return rc;
}

void cs_cfg_classes_fini(struct cs_equivalence_classes *classes)
{
    free(classes->of_block);
    free(classes->of_edge);
    *classes = (struct cs_equivalence_classes){0};
}
