/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The time of a misprediction to its branch. After a wrong guess the core retires nothing until the right path has come. The
 * branch takes that time, as "Time-Proportional Instruction Profiling" (MICRO 2021) defines it. But interrupts find the
 * thread at the first instructions of the right path, wherever the branch went. At the first two the classifier has named
 * the branch as responsible, with what outcomes that bursts counted allow it to cost. Sums over the procedure stay what they
 * are, what other causes may cost at most as well. */
#include "analysis/culprit/account/cycle_account_internal.h"

#include <math.h>

/* The instruction that answers for the branch at `offset`, CS_CFG_EXIT where it has no cycles of its own. */
static uint32_t branch_at(const struct cs_cycle_account *a, uint64_t offset)
{
    uint32_t i = cs_cfg_insn(a->cfg, offset);
    if (i < a->cfg->n_insns && a->insns[i].fused && i > 0)
        i--;
    return i < a->cfg->n_insns && account_has(a, &a->insns[i]) ? i : CS_CFG_EXIT;
}

static struct cs_culprit_suspect *mispredicted(struct cs_culprit_classification *v)
{
    for (unsigned k = 0; k < v->n; k++)
        if (v->suspects[k].cause == CS_CAUSE_MISPREDICT)
            return &v->suspects[k];
    return NULL;
}

static void take_out(struct cs_culprit_classification *v, struct cs_culprit_suspect *s)
{
    v->stall = v->stall > s->share ? v->stall - s->share : 0;
    for (v->n--; s < v->suspects + v->n; s++)
        *s = s[1];
}

/* `ratio`: executions of where the time showed for each of the branch's. */
static bool put_in(struct cs_culprit_classification *v, const struct cs_culprit_suspect *from, double ratio)
{
    struct cs_culprit_suspect *to = mispredicted(v);
    if (!to && v->n == CS_CULPRIT_SUSPECTS_MAX)
        return false;
    if (!to) {
        to = &v->suspects[v->n++];
        *to = *from;
        to->low = to->high = to->expected = to->share = 0;
    }
    to->observed = true;
    to->low += from->low * ratio;
    to->high += from->high * ratio;
    to->expected += from->expected * ratio;
    to->share += from->share * ratio;
    v->stall += from->share * ratio;
    for (; to > v->suspects && to->share > to[-1].share; to--) {
        struct cs_culprit_suspect t = *to;
        *to = to[-1];
        to[-1] = t;
    }
    return true;
}

/* To be written: that of an instruction, or the next free one. */
static struct cs_culprit_classification *classification_of(struct cs_cycle_account *a, uint32_t i, size_t n)
{
    const struct cs_culprit_classification *v = a->insns[i].classification;
    if (v >= a->classifications && v < a->classifications + n)
        return &a->classifications[v - a->classifications];
    return &a->classifications[n];
}

void account_move_mispredictions(struct cs_cycle_account *a, size_t n)
{
    for (uint32_t i = 0; i < a->cfg->n_insns; i++) {
        struct cs_culprit_classification *v = classification_of(a, i, n);
        struct cs_culprit_suspect *s = mispredicted(v);
        const uint32_t to = s && s->shown_near && s->responsible ? branch_at(a, s->responsible) : CS_CFG_EXIT;
        if (to == CS_CFG_EXIT || to == i)
            continue;
        struct cs_culprit_classification *branch = classification_of(a, to, n);
        const double ratio = a->insns[i].visits / a->insns[to].visits, moved = s->share;
        if (!put_in(branch, s, ratio))
            continue;
        take_out(v, s);
        a->insns[i].cycles = fmax(a->insns[i].cycles - moved, 0);
        a->insns[to].cycles += moved * ratio;
        a->insns[to].classification = branch;
        n += branch == &a->classifications[n];
    }
}
