/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counted events of each instruction, an execution: at most, and likely; and executions from counted instructions. */
#include "analysis/culprit/account/account_model.h"
#include "analysis/culprit/account/cycle_account_internal.h"

#include <math.h>
#include <stdlib.h>

/* Bytes that the instructions of a skid have, at most. */
#define SKID_BYTES (UINT64_C(4) * CS_MODEL_COUNTED_SKID)

/* Samples at the beginnings of what an instruction calls. INFINITY: nobody saw where it goes. */
static double called_samples(const struct accounting *x, enum cs_counted kind, const struct cs_isa_op *op)
{
    const struct cs_edge_profile *edges = x->e->flow.edges;
    double samples = 0;
    bool known = false;
    for (size_t i = cs_edge_profile_from(edges, op->offset); i < edges->n_own; i++) {
        const struct cs_seen_edge *edge = &edges->by_from[i];
        if (edge->from != op->offset)
            break;
        if (edge->to_image)
            return INFINITY;
        known = true;
        samples += cs_culprit_evidence_events_between(x->e, kind, edge->to, edge->to + SKID_BYTES);
    }
    return known ? samples : INFINITY;
}

static double samples_at(const struct accounting *x, enum cs_counted kind, uint32_t i)
{
    return cs_culprit_evidence_events(x->e, kind, x->a->insns[i].op.offset);
}

/* Samples of a kind of event that may be of this instruction: those up to a skid later on the path, into what is called, and
 * those of what is before it and may be responsible. A precise one names it or its successor. INFINITY: they may lie where
 * nobody looks, behind a call or a return. */
static double event_samples(const struct accounting *x, enum cs_counted kind, uint32_t i)
{
    const unsigned skid = x->e->events[kind].precise ? 1 : CS_MODEL_COUNTED_SKID;
    double samples = samples_at(x, kind, i);
    uint32_t at = i;
    for (unsigned n = 0; n < skid; n++) {
        if (x->a->insns[at].op.flags & CS_ISA_OP_CALL)
            samples += called_samples(x, kind, &x->a->insns[at].op);
        at = account_after(x, at);
        if (at == CS_CFG_EXIT)
            return INFINITY;
        if (at == i)
            return samples; /* the whole loop */
        samples += samples_at(x, kind, at);
    }
    at = i;
    for (unsigned n = 0; n < CS_MODEL_NEAR_INSNS && (at = account_before(x, at)) != CS_CFG_EXIT && at != i;
         n++)
        samples += samples_at(x, kind, at);
    return samples;
}

/* A counter's samples, moved as those of time are: both interrupts come equally late. */
void account_event_rates(const struct accounting *x, struct cs_culprit_stall *const *stalls)
{
    const struct cs_cycle_account *a = x->a;
    double *likely = calloc(a->cfg->n_insns + 1, sizeof *likely);
    for (int c = 0; likely && c < CS_N_COUNTED; c++) {
        const struct cs_culprit_counted *k = &x->e->events[c];
        if (!k->table)
            continue;
        for (uint32_t i = 0; i < a->cfg->n_insns; i++)
            likely[i] = 0;
        account_attribute_events(x, c, likely);
        for (uint32_t i = 0; i < a->cfg->n_insns; i++) {
            double executions = a->insns[i].visits * a->scale;
            if (!stalls[i] || !(executions > 0))
                continue;
            double here = samples_at(x, (enum cs_counted)c, i),
                   most = k->exact ? here : event_samples(x, (enum cs_counted)c, i);
            stalls[i]->event_likely[c] = (k->exact ? here : likely[i]) * k->period / executions;
            if (isfinite(most))
                stalls[i]->event_rate[c] =
                    (k->exact ? most : cs_counted_most(fmax(most, likely[i]))) * k->period / executions;
        }
    }
    free(likely);
}

/* Executions of a visit from sampled instructions, where enough were: the function's, as each sample is of one of them. */
bool account_scale_by_instructions(struct cs_cycle_account *a, const struct cs_culprit_evidence *e)
{
    const struct cs_culprit_counted *k = &e->events[CS_COUNTED_INSTRUCTIONS];
    double samples = 0, visits = 0;
    if (!k->table)
        return false;
    for (uint32_t i = 0; i < a->cfg->n_insns; i++) {
        samples += cs_culprit_evidence_events(e, CS_COUNTED_INSTRUCTIONS, a->insns[i].op.offset);
        visits += a->insns[i].visits;
    }
    if (samples < CS_MODEL_OWN_SAMPLES || !(visits > 0))
        return false;
    double error = 2 / sqrt(samples);
    a->scale = samples * k->period / visits;
    a->scale_low = a->scale * (1 - error);
    a->scale_high = a->scale * (1 + error);
    return true;
}

uint64_t account_caller(const struct accounting *x, uint64_t entry)
{
    const struct cs_edge_profile *edges = x->e->flow.edges;
    uint64_t caller = 0;
    double most = 0;
    for (size_t i = cs_edge_profile_to(edges, entry); i < edges->n_by_to; i++) {
        const struct cs_seen_edge *edge = &edges->by_from[edges->by_to[i]];
        if (edge->to != entry)
            break;
        if (!edge->from_image && edge->count > most) {
            most = edge->count;
            caller = edge->from;
        }
    }
    return caller;
}
