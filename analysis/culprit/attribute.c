/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples to the instructions that took the time. */
#include "analysis/culprit/cycle_account_internal.h"

#include "image/isa/decode.h"

/* The one that answers for instruction i: itself, or the first of a fused pair. */
static uint32_t answerable(const struct cs_cycle_account *a, uint32_t i)
{
    return a->insns[i].fused && i > 0 ? i - 1 : i;
}

/* A block's first instruction: the ends of the blocks that led there, by edge frequency. */
static void attribute_head(struct accounting *x, uint32_t b, double samples)
{
    struct cs_cycle_account *a = x->a;
    const struct cs_basic_block *block = &a->cfg->blocks[b];
    double sum = 0;
    for (uint32_t k = block->first_in; k < block->first_in + block->n_in; k++) {
        uint32_t edge = a->cfg->in[k];
        if (a->cfg->edges[edge].from < a->cfg->n_blocks)
            sum += x->edge_visits[edge];
    }
    if (sum <= 0) { /* entered from elsewhere, or nothing known */
        a->insns[answerable(a, block->first_insn)].attributed += samples;
        return;
    }
    for (uint32_t k = block->first_in; k < block->first_in + block->n_in; k++) {
        uint32_t edge = a->cfg->in[k], from = a->cfg->edges[edge].from;
        if (from >= a->cfg->n_blocks || x->edge_visits[edge] <= 0)
            continue;
        const struct cs_basic_block *f = &a->cfg->blocks[from];
        a->insns[answerable(a, f->first_insn + f->n_insns - 1)].attributed +=
            samples * x->edge_visits[edge] / sum;
    }
}

void account_attribute(struct accounting *x)
{
    struct cs_cycle_account *a = x->a;
    for (uint32_t b = 0; b < a->cfg->n_blocks; b++) {
        const struct cs_basic_block *block = &a->cfg->blocks[b];
        for (uint32_t i = block->first_insn; i < block->first_insn + block->n_insns; i++) {
            double samples = (double)a->insns[i].samples;
            if (samples <= 0)
                continue;
            if (i == block->first_insn)
                attribute_head(x, b, samples);
            else
                a->insns[answerable(a, i - 1)].attributed += samples;
        }
    }
    for (uint32_t i = 0; i < a->cfg->n_insns; i++)
        a->blocks[a->insns[i].block].attributed += a->insns[i].attributed;
}
