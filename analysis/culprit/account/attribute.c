/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples to the instructions that took the time, or that the events are of: the one before where the interrupt found the
 * thread. */
#include "analysis/culprit/account/cycle_account_internal.h"

#include <errno.h>
#include <stdlib.h>

/* The one that answers for instruction i: itself, or the first of a fused pair. */
static uint32_t answerable(const struct cs_cycle_account *a, uint32_t i)
{
    return a->insns[i].fused && i > 0 ? i - 1 : i;
}

/* A block's first instruction: the ends of the blocks that led there, by edge frequency. */
static void attribute_head(const struct accounting *x, uint32_t b, double samples, double *to)
{
    const struct cs_cycle_account *a = x->a;
    const struct cs_basic_block *block = &a->cfg->blocks[b];
    double sum = 0;
    for (uint32_t k = block->first_in; k < block->first_in + block->n_in; k++) {
        uint32_t edge = a->cfg->in[k];
        if (a->cfg->edges[edge].from < a->cfg->n_blocks)
            sum += x->edge_visits[edge];
    }
    if (sum <= 0) { /* entered from elsewhere, or nothing known */
        to[answerable(a, block->first_insn)] += samples;
        return;
    }
    for (uint32_t k = block->first_in; k < block->first_in + block->n_in; k++) {
        uint32_t edge = a->cfg->in[k], from = a->cfg->edges[edge].from;
        if (from >= a->cfg->n_blocks || x->edge_visits[edge] <= 0)
            continue;
        const struct cs_basic_block *f = &a->cfg->blocks[from];
        to[answerable(a, f->first_insn + f->n_insns - 1)] += samples * x->edge_visits[edge] / sum;
    }
}

void account_attribute_events(const struct accounting *x, int kind, double *to)
{
    const struct cs_cycle_account *a = x->a;
    for (uint32_t b = 0; b < a->cfg->n_blocks; b++) {
        const struct cs_basic_block *block = &a->cfg->blocks[b];
        for (uint32_t i = block->first_insn; i < block->first_insn + block->n_insns; i++) {
            double samples = kind == CS_N_COUNTED ? (double)a->insns[i].samples
                                                  : cs_culprit_evidence_events(x->e, (enum cs_counted)kind,
                                                                               a->insns[i].op.offset);
            if (samples <= 0)
                continue;
            if (a->insns[i].op.flags & CS_ISA_OP_REPEAT) /* unfinished: interrupts find it at itself */
                to[answerable(a, i)] += samples;
            else if (i == block->first_insn)
                attribute_head(x, b, samples, to);
            else
                to[answerable(a, i - 1)] += samples;
        }
    }
}

int account_attribute(struct accounting *x, struct cs_error *err)
{
    struct cs_cycle_account *a = x->a;
    double *to = calloc(a->cfg->n_insns + 1, sizeof *to);
    if (!to)
        return cs_fail(err, ENOMEM, "no memory for the samples of %s", a->procedure->name);
    account_attribute_events(x, CS_N_COUNTED, to);
    for (uint32_t i = 0; i < a->cfg->n_insns; i++) {
        a->insns[i].attributed = to[i];
        a->blocks[a->insns[i].block].attributed += to[i];
    }
    free(to);
    return 0;
}
