/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Figure 4: all cycles of the procedure by cause, in samples. */
#include "analysis/culprit/account/cycle_account_internal.h"
#include "analysis/culprit/classify/model.h"

#include <math.h>

/* Netting leaves time at instructions that need less by the model, taken from those of their loop that need more: it is what
 * these wait for. */
struct shifted {
    double more;              /* samples beyond M, which are no stall */
    double less[CS_N_CAUSES]; /* samples that static causes lack, by cause */
    double all;               /* of less */
};

static void note_shifted(struct shifted *f, const struct cs_schedule_step *step, double m, double worth)
{
    const double lacks = step->m > 0 ? fmax(1 - m / step->m, 0) * worth : 0;
    f->more += fmax(m - step->m, 0) * worth;
    f->less[CS_CAUSE_DEPENDENCY] += step->dependency * lacks;
    f->less[CS_CAUSE_PORT] += step->port * lacks;
    f->less[CS_CAUSE_DIVIDER] += step->divider * lacks;
    f->less[CS_CAUSE_FRONT] += step->front * lacks;
    f->all += (step->dependency + step->port + step->divider + step->front) * lacks;
}

static void add_shifted(struct cs_cycle_account_summary *s, const struct shifted *f)
{
    const double moved = fmin(f->more, f->all);
    for (int c = 0; c < CS_N_CAUSES && moved > 0; c++)
        s->statics[c] += moved * f->less[c] / f->all;
    s->execution += f->more - moved;
}

void account_summary(struct cs_cycle_account *a)
{
    struct cs_cycle_account_summary *s = &a->summary;
    struct shifted shifted = {0};
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
        double static_share = insn->step.m > 0 ? fmin(m / insn->step.m, 1) : 0;
        note_shifted(&shifted, &insn->step, m, worth);
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
            s->contended += p->contended ? p->share * worth : 0;
            s->split_accesses += p->cause == CS_CAUSE_SPLIT ? fmin(p->share, CS_MODEL_SPLIT) * worth : 0;
            s->sharing_in_doubt += p->in_doubt > 0 ? fmin(p->in_doubt, p->share) * worth : 0;
        }
        s->memory_low += v->memory_low * worth;
        s->memory_high += v->memory_high * worth;
        s->unexplained += v->unexplained * worth;
        s->gain += v->gain * worth;
        model += m * worth;
        actual += insn->attributed;
    }
    add_shifted(s, &shifted);
    s->best_cycles = model;
    s->actual_cycles = actual;
    for (uint32_t b = 0; b < a->cfg->n_blocks; b++) {
        const struct cs_cycle_account_block *block = &a->blocks[b];
        double executions = block->visits * a->scale;
        if (!(executions > 0 && block->best >= 0))
            continue;
        s->instructions += executions * a->cfg->blocks[b].n_insns;
        /* Not the block's best case, which is floored: what is all its neighbours' would count twice. */
        for (uint32_t i = 0; i < a->cfg->blocks[b].n_insns; i++)
            s->instruction_best += executions * a->insns[a->cfg->blocks[b].first_insn + i].step.m;
        s->instruction_cycles += block->attributed * a->cycles_a_sample;
    }
}
