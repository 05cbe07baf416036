/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How often blocks and edges ran, in the bursts' unit: what leaves a block through its last instruction is
 * counted by the edge profile; a block that just runs into the next is visited as often as what enters it. */
#include "analysis/account_inside.h"

#include "analysis/decode.h"

#include <math.h>
#include <string.h>

struct flow {
    double count, squares;
};

/* Everything that bursts saw leave the instruction at `from`. */
static struct flow leaving(const struct cs_edge_profile *edges, uint64_t from)
{
    struct flow f = {0, 0};
    for (size_t i = cs_edge_profile_from(edges, from); i < edges->n_own && edges->by_from[i].from == from;
         i++) {
        f.count += edges->by_from[i].count;
        f.squares += edges->by_from[i].squares;
    }
    return f;
}

static double along(const struct cs_edge_profile *edges, uint64_t from, uint64_t to)
{
    double sum = 0;
    for (size_t i = cs_edge_profile_from(edges, from); i < edges->n_own && edges->by_from[i].from == from;
         i++)
        if (edges->by_from[i].to == to && !edges->by_from[i].to_image)
            sum += edges->by_from[i].count;
    return sum;
}

/* Arrivals from anywhere at `to`. */
static struct flow arriving(const struct cs_edge_profile *edges, uint64_t to)
{
    struct flow f = {0, 0};
    for (size_t i = cs_edge_profile_to(edges, to); i < edges->n_by_to; i++) {
        const struct cs_seen_edge *edge = &edges->by_from[edges->by_to[i]];
        if (edge->to != to)
            break;
        f.count += edge->count;
        f.squares += edge->squares;
    }
    return f;
}

static bool transfers(const struct cs_cfg_insn *insn)
{
    return insn->flow != CS_FLOW_NEXT && insn->flow != CS_FLOW_STOP && insn->flow != CS_FLOW_CALL;
}

static double relative_error(struct flow f)
{
    return f.count > 0 && f.squares > 0 ? fmin(1, sqrt(f.squares) / f.count) : 1;
}

static void all_equal(struct accounting *x)
{
    struct cs_account *a = x->a;
    for (uint32_t b = 0; b < a->cfg->n_blocks; b++)
        a->blocks[b].visits = 1, a->blocks[b].visits_error = 1;
    for (uint32_t i = 0; i < a->cfg->n_edges; i++) {
        uint32_t from = a->cfg->edges[i].from;
        x->edge_visits[i] =
            from < a->cfg->n_blocks && a->cfg->blocks[from].n_out ? 1.0 / a->cfg->blocks[from].n_out : 1;
    }
}

void account_visits(struct accounting *x)
{
    struct cs_account *a = x->a;
    const struct cs_cfg *cfg = a->cfg;
    double seen = 0;
    for (uint32_t b = 0; b < cfg->n_blocks; b++) { /* ascending: what falls into a block is known before it */
        const struct cs_block *block = &cfg->blocks[b];
        const struct cs_cfg_insn *last = &cfg->insns[block->first_insn + block->n_insns - 1];
        struct flow f = {0, 0};
        if (transfers(last)) {
            f = leaving(x->e->edges, last->offset);
        } else {
            f = arriving(x->e->edges, block->start);
            if (b > 0 && cfg->blocks[b - 1].end == block->start) {
                const struct cs_block *before = &cfg->blocks[b - 1];
                if (!transfers(&cfg->insns[before->first_insn + before->n_insns - 1])) {
                    double error = a->blocks[b - 1].visits_error * a->blocks[b - 1].visits;
                    f.count += a->blocks[b - 1].visits;
                    f.squares += error * error;
                }
            }
        }
        for (uint32_t i = 0; f.count == 0 && i < block->n_insns; i++) /* a call inside tells as well */
            if (cfg->insns[block->first_insn + i].flow == CS_FLOW_CALL)
                f = leaving(x->e->edges, cfg->insns[block->first_insn + i].offset);
        a->blocks[b].visits = f.count;
        a->blocks[b].visits_error = relative_error(f);
        seen += f.count;
    }
    a->frequencies = seen > 0;
    if (!a->frequencies) {
        all_equal(x);
        return;
    }
    for (uint32_t i = 0; i < cfg->n_edges; i++) {
        const struct cs_cfg_edge *edge = &cfg->edges[i];
        if (edge->from >= cfg->n_blocks) {
            x->edge_visits[i] = 0;
            continue;
        }
        const struct cs_block *block = &cfg->blocks[edge->from];
        bool plain = !transfers(&cfg->insns[block->first_insn + block->n_insns - 1]);
        x->edge_visits[i] =
            plain ? a->blocks[edge->from].visits : along(x->e->edges, block->last, edge->target);
    }
}

uint32_t account_likely_out(const struct accounting *x, uint32_t block)
{
    const struct cs_block *b = &x->a->cfg->blocks[block];
    uint32_t best = CS_CFG_EXIT;
    double most = 0;
    for (uint32_t i = b->first_out; i < b->first_out + b->n_out; i++)
        if (x->a->cfg->edges[i].to < x->a->cfg->n_blocks && x->edge_visits[i] > most)
            most = x->edge_visits[i], best = i;
    return best;
}

uint32_t account_likely_in(const struct accounting *x, uint32_t block)
{
    const struct cs_block *b = &x->a->cfg->blocks[block];
    uint32_t best = CS_CFG_EXIT;
    double most = 0;
    for (uint32_t k = b->first_in; k < b->first_in + b->n_in; k++) {
        uint32_t i = x->a->cfg->in[k];
        if (x->a->cfg->edges[i].from < x->a->cfg->n_blocks && x->edge_visits[i] > most)
            most = x->edge_visits[i], best = i;
    }
    return best;
}
