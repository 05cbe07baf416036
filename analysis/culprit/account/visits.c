/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How often blocks and edges ran, from analysis/frequency/frequency.h, and the most frequent ways that follow from it.
 */
#include "analysis/culprit/account/cycle_account_internal.h"

#include "analysis/frequency/frequency.h"

#include <assert.h>

#define VISITS_MIN 1e-3 /* of one edge that was seen */

/* Those that saw the branch that it ends in, or, where it ends in none, the next one. */
static double bursts_of(const struct accounting *x, uint32_t b)
{
    const struct cs_frequency_input *input = &x->e->flow.input;
    if (!input->flow ||
        input->flow->from_paths) /* paths interpreted from samples are no bursts, and have no rate */
        return 0;
    return cs_edge_flow_bursts(input->flow, input->image, x->a->cfg->blocks[b].start);
}

int account_visits(struct accounting *x, struct cs_error *err)
{
    struct cs_cycle_account *a = x->a;
    struct cs_frequency f;
    int rc = cs_frequency_estimate(a->cfg, &x->e->flow.input, CS_FREQUENCY_BURSTS, &f, err);
    if (rc)
        return rc;
    a->frequencies = !f.from_samples && f.observed > 0;
    a->values = x->e->values;
    for (uint32_t b = 0; b < a->cfg->n_blocks; b++) {
        /* The estimate leaves traces of flow where nothing was seen: not an execution, but what it takes for a number. */
        a->blocks[b].visits = f.block[b] < VISITS_MIN ? 0 : f.block[b];
        a->blocks[b].visits_error = (double)f.block_error[b];
        a->blocks[b].confidence = f.block_confidence[b];
        a->blocks[b].bursts = bursts_of(x, b);
    }
    for (uint32_t i = 0; i < a->cfg->n_edges; i++)
        x->edge_visits[i] = f.edge[i];
    cs_frequency_fini(&f);
    return 0;
}

uint32_t account_likely_out(const struct accounting *x, uint32_t block)
{
    assert(block < x->a->cfg->n_blocks);
    const struct cs_basic_block *b = &x->a->cfg->blocks[block];
    uint32_t best = CS_CFG_EXIT;
    double most = 0;
    for (uint32_t i = b->first_out; i < b->first_out + b->n_out; i++)
        if (x->a->cfg->edges[i].to < x->a->cfg->n_blocks && x->edge_visits[i] > most)
            most = x->edge_visits[i], best = i;
    return best;
}

uint32_t account_likely_in(const struct accounting *x, uint32_t block)
{
    assert(block < x->a->cfg->n_blocks);
    const struct cs_basic_block *b = &x->a->cfg->blocks[block];
    uint32_t best = CS_CFG_EXIT;
    double most = 0;
    for (uint32_t k = b->first_in; k < b->first_in + b->n_in; k++) {
        uint32_t i = x->a->cfg->in[k];
        if (x->a->cfg->edges[i].from < x->a->cfg->n_blocks && x->edge_visits[i] > most)
            most = x->edge_visits[i], best = i;
    }
    return best;
}

uint32_t account_before(const struct accounting *x, uint32_t i)
{
    assert(i < x->a->cfg->n_insns);
    const struct cs_cycle_account *a = x->a;
    const struct cs_basic_block *b = &a->cfg->blocks[a->insns[i].block];
    if (i > b->first_insn)
        return i - 1;
    uint32_t edge = account_likely_in(x, a->insns[i].block);
    if (edge == CS_CFG_EXIT)
        return CS_CFG_EXIT;
    const struct cs_basic_block *from = &a->cfg->blocks[a->cfg->edges[edge].from];
    return from->first_insn + from->n_insns - 1;
}

uint32_t account_after(const struct accounting *x, uint32_t i)
{
    assert(i < x->a->cfg->n_insns);
    const struct cs_cycle_account *a = x->a;
    const struct cs_basic_block *b = &a->cfg->blocks[a->insns[i].block];
    if (i + 1 < b->first_insn + b->n_insns)
        return i + 1;
    uint32_t edge = account_likely_out(x, a->insns[i].block);
    return edge == CS_CFG_EXIT ? CS_CFG_EXIT : a->cfg->blocks[a->cfg->edges[edge].to].first_insn;
}
