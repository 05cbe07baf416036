/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What runs behind a call, where returns to there are guessed wrong. The return may be another function's, so no path leads
 * from it to here. After a wrong guess the core is empty. The latencies of what comes first are exposed then. The model
 * takes them for a chain's waits. A share of them as large as that of the wrong guesses is no time of its own. */
#include "analysis/culprit/account/account_model.h"
#include "analysis/culprit/account/cycle_account_internal.h"
#include "analysis/culprit/classify/model.h"

unsigned account_behind_return(const struct cs_cycle_account *a, uint32_t i, uint64_t *to)
{
    const uint32_t ends = CS_ISA_OP_BRANCH | CS_ISA_OP_INDIRECT | CS_ISA_OP_RETURN | CS_ISA_OP_CALL;
    *to = 0;
    for (unsigned n = 0; n < CS_MODEL_NEAR_INSNS; n++) {
        const struct cs_isa_op *op = &a->insns[i - n].op;
        if (op->flags & CS_ISA_OP_CALL) {
            *to = op->offset + op->length;
            return n;
        }
        if ((n && op->flags & ends) || i == n)
            break;
        const struct cs_isa_op *before = &a->insns[i - n - 1].op;
        if (before->offset + before->length != op->offset)
            break;
    }
    return CS_MODEL_NEAR_INSNS;
}

void account_return_shadows(const struct accounting *x)
{
    for (uint32_t i = 0; i < x->a->cfg->n_insns; i++) {
        struct cs_schedule_step *step = &x->a->insns[i].step;
        uint64_t to, from;
        if (!(x->a->insns[i].visits > 0) || !(step->dependency > 0))
            continue;
        const unsigned n = account_behind_return(x->a, i, &to);
        if (n == 0 || n == CS_MODEL_NEAR_INSNS)
            continue;
        const struct cs_culprit_branch f = cs_culprit_evidence_returns(x->e, to, &from);
        if (!f.seen || f.too_deep < CS_MODEL_MISSED_MIN)
            continue;
        const double exposed = step->dependency * (f.too_deep < 1 ? f.too_deep : 1);
        step->dependency -= exposed;
        step->m -= exposed;
    }
}
