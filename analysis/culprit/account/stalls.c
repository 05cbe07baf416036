/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What few samples share, what shows at a neighbour, and the classifications. */
#include "analysis/culprit/account/account_model.h"
#include "analysis/culprit/account/cycle_account_internal.h"

#include <math.h>
#include <stdlib.h>

/* By a clock's count of the executions M has an error of its own, but no gift: what an instruction takes less than M
 * another one took more, if no rule expects anything there. It is the wait for a chain, which shows where retirement
 * stopped. */
static bool is_shifted(const struct accounting *x, const struct cs_culprit_stall *stall, double over)
{
    double expected, most;
    if (!(x->a->scale_timed > 0))
        return false;
    cs_culprit_expect(stall, &x->e->machine, &expected, &most);
    return expected < CS_MODEL_NET_EXPECTED * over;
}

/* Retirement is in groups, and a sample's PC is where the group ended: which of two neighbours ends one is
 * chance to the model. What is under a cycle and a half too much at one instruction and too little at another
 * of its run of blocks is no stall. */
static void net(const struct accounting *x, struct cs_culprit_stall *const *stalls)
{
    struct cs_cycle_account *a = x->a;
    uint32_t *runs = account_runs(x);
    double *more = calloc(a->cfg->n_blocks + 1, sizeof *more),
           *less = calloc(a->cfg->n_blocks + 1, sizeof *less);
    for (int pass = 0; pass < 2 && runs && more && less; pass++)
        for (uint32_t i = 0; i < a->cfg->n_insns; i++) {
            const struct cs_cycle_account_insn *insn = &a->insns[i];
            struct cs_culprit_stall *stall = stalls[i];
            double d = stall ? stall->cycles - stall->m : 0;
            if (!stall || (d >= CS_MODEL_NET_CYCLES && !is_shifted(x, stall, d)))
                continue;
            uint32_t run = account_run_of(runs, insn->block);
            if (pass == 0) {
                *(d > 0 ? &more[run] : &less[run]) += fabs(d) * insn->visits;
                continue;
            }
            double both = fmin(more[run], less[run]), all = d > 0 ? more[run] : less[run];
            if (both > 0)
                stall->cycles -= d * both / all;
        }
    free(runs);
    free(more);
    free(less);
}

/* What time an instruction has too much, and another one, which takes longer by the model than it seems to, has too little.
 * Both may be stretched alike: the scale has an error of its own. A load, and what nobody sampled, get no more than the
 * model's time. */
static void move_time(struct accounting *x, struct cs_culprit_stall *const *stalls, uint32_t i,
                      uint32_t other)
{
    struct cs_cycle_account_insn *from = &x->a->insns[i], *to = &x->a->insns[other];
    const double much = (from->cycles - from->step.m) * from->visits,
                 little = fmin(to->step.m - to->cycles, to->step.dependency) * to->visits;
    double moved = fmin(much, little);
    if (!(moved > 0))
        return;
    const double model = from->step.m * from->visits + to->step.m * to->visits,
                 time = from->cycles * from->visits + to->cycles * to->visits;
    if (time <= CS_MODEL_STRETCH_MOST * model && to->attributed > 0 && !(to->op.flags & CS_ISA_OP_LOAD))
        moved = fmax(moved, fmin(much, time * (to->step.m * to->visits) / model - to->cycles * to->visits));
    from->cycles = fmax(from->cycles - moved / from->visits, 0);
    to->cycles += moved / to->visits;
    stalls[i]->cycles = from->cycles;
    stalls[other]->cycles = to->cycles;
}

/* Arithmetic of registers: its time may be moved. A load may get time, no more. */
enum {
    MOVES_NOT = CS_ISA_OP_STORE | CS_ISA_OP_LOCK | CS_ISA_OP_SERIALISE | CS_ISA_OP_CALL | CS_ISA_OP_RETURN |
                CS_ISA_OP_SYSCALL | CS_ISA_OP_REPEAT,
    BRANCHES = CS_ISA_OP_BRANCH | CS_ISA_OP_INDIRECT
};

static void move_to_near(struct accounting *x, struct cs_culprit_stall *const *stalls, uint32_t i, bool back)
{
    const struct cs_cycle_account *a = x->a;
    const bool over_branch =
        back && i == a->cfg->blocks[a->insns[i].block].first_insn && !a->insns[i].samples;
    uint32_t other = i;
    for (int step = 0; step < (over_branch ? 3 : 2); step++) {
        other = back ? account_before(x, other) : account_after(x, other);
        if (other >= a->cfg->n_insns || other == i)
            break;
        const uint32_t flags = a->insns[other].op.flags;
        if (flags & MOVES_NOT || (flags & BRANCHES && !over_branch))
            break;
        if (stalls[other] && !(flags & BRANCHES))
            move_time(x, stalls, i, other);
        if (flags & CS_ISA_OP_LOAD)
            break;
    }
}

/* AMD's cores retire arithmetic in pairs, and take an interrupt only behind a pair: of a chain's multiplications every second
 * one has all samples, so what one has too much is of one of the two before it that has too little. Behind a branch they take
 * no interrupt at all: what shows at a block's second instruction and none at its first may be the last one's before the
 * branch. And some interrupts come while a pair is under way, at its beginning: then it is one of the next two. Sums stay
 * what they are. */
static void move_in_groups(struct accounting *x, struct cs_culprit_stall *const *stalls)
{
    const struct cs_cycle_account *a = x->a;
    if (x->e->machine.vendor != CS_MACHINE_AMD)
        return;
    for (int back = 1; back >= 0; back--)
        for (uint32_t i = 0; i < a->cfg->n_insns; i++)
            if (stalls[i] && !(a->insns[i].op.flags & (MOVES_NOT | BRANCHES | CS_ISA_OP_LOAD)))
                move_to_near(x, stalls, i, back);
}

/* Shares a group's cycles among its instructions as the model says, but what nobody sampled takes no more than
 * M: a stall there would be blamed without a witness. */
static void share(struct accounting *x, struct cs_culprit_stall *const *stalls, const double *expected,
                  uint32_t first, uint32_t last, double cycles)
{
    struct cs_cycle_account *a = x->a;
    double left = cycles, model = 0, all = 0;
    for (uint32_t k = first; k <= last; k++) {
        const struct cs_cycle_account_insn *low = &a->insns[k];
        if (account_has(a, low) && low->attributed < CS_MODEL_OWN_SAMPLES) {
            all += low->visits * (low->step.m + expected[k]);
            model += low->attributed > 0 ? low->visits * (low->step.m + expected[k]) : 0;
        }
    }
    for (uint32_t k = first; k <= last && model > 0; k++) {
        struct cs_cycle_account_insn *low = &a->insns[k];
        if (!account_has(a, low) || low->attributed > 0)
            continue;
        low->cycles = fmin(cycles / all * (low->step.m + expected[k]) / a->scale, low->step.m);
        stalls[k]->cycles = low->cycles;
        left -= low->cycles * low->visits * a->scale;
    }
    for (uint32_t k = first; k <= last && model > 0; k++) {
        struct cs_cycle_account_insn *low = &a->insns[k];
        if (!account_has(a, low) || low->attributed >= CS_MODEL_OWN_SAMPLES || low->attributed <= 0)
            continue;
        low->cycles = left / model * (low->step.m + expected[k]) / a->scale;
        stalls[k]->cycles = low->cycles;
    }
}

/* An instruction of few samples can't be told from its neighbours of few: they share their samples. Neighbours
 * are taken until they have GROUP_SAMPLES together; sums stay what they are. */
static void pool(struct accounting *x, struct cs_culprit_stall *const *stalls)
{
    struct cs_cycle_account *a = x->a;
    double attributed = 0;
    double *expected = calloc(a->cfg->n_insns + 1, sizeof *expected);
    uint32_t first = 0;
    for (uint32_t i = 0; expected && i < a->cfg->n_insns; i++) {
        const struct cs_cycle_account_insn *insn = &a->insns[i];
        double most;
        if (account_has(a, insn) && insn->attributed < CS_MODEL_OWN_SAMPLES) {
            cs_culprit_expect(stalls[i], &x->e->machine, &expected[i], &most);
            attributed += insn->attributed;
        }
        if (attributed < CS_MODEL_GROUP_SAMPLES && i + 1 < a->cfg->n_insns)
            continue;
        share(x, stalls, expected, first, i, attributed * x->e->cycles_a_sample);
        attributed = 0;
        first = i + 1;
    }
    free(expected);
}

/* A branch that fused stands with the instruction before it: what is guessed is the branch. */
static void name_branches(const struct cs_cycle_account *a, const struct cs_cycle_account_insn *insn,
                          struct cs_culprit_classification *v)
{
    for (unsigned k = 0; k < v->n; k++) {
        struct cs_culprit_suspect *s = &v->suspects[k];
        if (s->cause != CS_CAUSE_MISPREDICT)
            continue;
        if (s->responsible && s->responsible != insn->op.offset) {
            uint32_t other = cs_cfg_insn(a->cfg, s->responsible);
            if (other < a->cfg->n_insns && a->insns[other].branch)
                s->responsible = a->insns[other].branch;
        } else if (insn->branch) {
            s->responsible = insn->branch;
        }
    }
}

/* A block takes what its instructions do, after those of few samples have shared them. */
static void blocks_actual(struct accounting *x)
{
    struct cs_cycle_account *a = x->a;
    for (uint32_t b = 0; b < a->cfg->n_blocks; b++) {
        struct cs_cycle_account_block *block = &a->blocks[b];
        double executions = block->visits * a->scale;
        const struct cs_basic_block *code = &a->cfg->blocks[b];
        block->actual = executions > 0 ? 0 : NAN;
        for (uint32_t i = code->first_insn; executions > 0 && i < code->first_insn + code->n_insns; i++)
            block->actual += a->insns[i].fused || !isfinite(a->insns[i].cycles) ? 0 : a->insns[i].cycles;
        if (block->best < 0)
            block->best = NAN;
    }
}

static size_t count_accountable(const struct cs_cycle_account *a)
{
    size_t n = 0;
    for (uint32_t i = 0; i < a->cfg->n_insns; i++)
        n += account_has(a, &a->insns[i]);
    return n;
}

static void take_facts(const struct accounting *x, struct cs_culprit_stall *const *stalls)
{
    for (uint32_t i = 0; i < x->a->cfg->n_insns; i++)
        if (stalls[i])
            account_stall_facts(x, i, stalls[i]);
    account_memory_chains(x, stalls);
}

/* Facts and classifications are large, and most instructions of a large procedure never ran: only those that did
 * have any. */
void account_stalls(struct accounting *x)
{
    struct cs_cycle_account *a = x->a;
    uint32_t n = a->cfg->n_insns;
    struct cs_culprit_stall **stalls = calloc(n + 1, sizeof(*stalls)), *next = NULL;
    x->memory = calloc(n + 1, sizeof *x->memory);
    if (stalls && x->memory)
        next = calloc(count_accountable(a) + 1, sizeof *next);
    struct cs_culprit_stall *all = next;
    if (!next)
        goto out;
    account_memory_facts(x);
    for (uint32_t i = 0; i < n; i++)
        stalls[i] = account_has(a, &a->insns[i]) ? next++ : NULL;
    take_facts(x, stalls);
    account_scale(x, stalls);
    if (account_give_chains(x))
        take_facts(x, stalls);
    for (uint32_t i = 0; i < n; i++) {
        struct cs_cycle_account_insn *insn = &a->insns[i];
        double executions = insn->visits * a->scale;
        double blocks_error = a->blocks[insn->block].visits_error;
        insn->cycles = executions > 0 ? insn->attributed * x->e->cycles_a_sample / executions : NAN;
        insn->error = sqrt((insn->attributed > 0 ? 1 / insn->attributed : 1) + blocks_error * blocks_error);
        struct cs_culprit_stall *stall = stalls[i];
        if (!stall)
            continue;
        stall->cycles = insn->cycles;
        stall->branch_shadow *= a->scale > 0 ? x->e->cycles_a_sample / a->scale : 0;
        stall->branch_shadow = fmax(0, stall->branch_shadow - stall->branch_shadow_m);
    }
    account_event_rates(x, stalls);
    if (a->scale > 0)
        pool(x, stalls);
    if (a->scale > 0)
        move_in_groups(x, stalls);
    if (a->scale > 0)
        net(x, stalls);
    struct cs_culprit_classification *v = a->classifications = calloc((size_t)(next - all) + 1, sizeof *v);
    for (uint32_t i = 0; v && a->scale > 0 && i < n; i++) {
        if (!stalls[i])
            continue;
        cs_culprit_classify(stalls[i], &x->e->machine, v);
        name_branches(a, &a->insns[i], v);
        if (v->stall > 0 || v->gain > 0)
            a->insns[i].classification = v++;
    }
    if (v)
        account_move_mispredictions(a, (size_t)(v - a->classifications));
    blocks_actual(x);
out:
    free(all);
    free(stalls);
    free(x->memory);
    x->memory = NULL;
}
