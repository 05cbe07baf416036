/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Figure 4: all cycles of the procedure by cause, in samples. */
#include "analysis/culprit/cycle_account_internal.h"

void account_summary(struct cs_cycle_account *a)
{
    struct cs_cycle_account_summary *s = &a->summary;
    double model = 0, actual = 0;
    for (uint32_t i = 0; i < a->cfg->n_insns; i++) {
        const struct cs_cycle_account_insn *insn = &a->insns[i];
        s->total += insn->attributed;
        /* Samples that one cycle an execution stands for. */
        double worth = a->cycles_a_sample > 0 ? insn->visits * a->scale / a->cycles_a_sample : 0;
        bool known = !insn->fused && insn->visits > 0 && a->blocks[insn->block].best >= 0 && a->scale > 0;
        if (!known || !(worth > 0)) {
            s->unattributed += insn->attributed;
            continue;
        }
        const struct cs_culprit_classification *v = insn->classification;
        /* After netting within the block. What ran faster than M took what it took: M was too long there. */
        double m = insn->cycles - v->stall;
        double static_share = insn->step.m > 0 ? m / insn->step.m : 0;
        if (insn->step.m <= 0)
            s->execution += m * worth;
        s->execution += insn->step.execution * static_share * worth;
        s->statics[CS_CAUSE_DEPENDENCY] += insn->step.dependency * static_share * worth;
        s->statics[CS_CAUSE_PORT] += insn->step.port * static_share * worth;
        s->statics[CS_CAUSE_DIVIDER] += insn->step.divider * static_share * worth;
        s->statics[CS_CAUSE_FRONT] += insn->step.front * static_share * worth;
        for (unsigned k = 0; k < v->n; k++) {
            const struct cs_culprit_suspect *p = &v->suspects[k];
            s->low[p->cause] += p->low * worth;
            s->high[p->cause] += p->high * worth;
            s->share[p->cause] += p->share * worth;
        }
        s->memory_low += v->memory_low * worth;
        s->memory_high += v->memory_high * worth;
        s->unexplained += v->unexplained * worth;
        s->gain += v->gain * worth;
        model += m * worth;
        actual += insn->attributed;
    }
    s->best_cycles = model;
    s->actual_cycles = actual;
    for (uint32_t b = 0; b < a->cfg->n_blocks; b++) {
        const struct cs_cycle_account_block *block = &a->blocks[b];
        double executions = block->visits * a->scale;
        if (!(executions > 0 && block->best >= 0))
            continue;
        s->instructions += executions * a->cfg->blocks[b].n_insns;
        s->instruction_best += executions * block->best;
        s->instruction_cycles += block->attributed * a->cycles_a_sample;
    }
}
