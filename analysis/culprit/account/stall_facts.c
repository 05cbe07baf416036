/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Facts of a stall from its surroundings on the dynamic path. */
#include "analysis/culprit/account/account_model.h"
#include "analysis/culprit/account/cycle_account_internal.h"
#include "analysis/culprit/classify/model.h"
#include "analysis/culprit/evidence/footprints.h"

#include <math.h>

enum { WINDOW = CS_MODEL_PATH_INSNS, NEAR_INSNS = CS_MODEL_NEAR_INSNS, SHADOW_INSNS = CS_MODEL_SHADOW_INSNS };

static const uint32_t guessed = CS_ISA_OP_BRANCH | CS_ISA_OP_INDIRECT | CS_ISA_OP_RETURN;

/* Samples attributed to the branch and to the first two instructions wherever it goes, an execution of it. */
static double shadow(const struct accounting *x, uint32_t i, double *m)
{
    const struct cs_cycle_account *a = x->a;
    const struct cs_basic_block *b = &a->cfg->blocks[a->insns[i].block];
    double samples = a->insns[i].attributed;
    *m = a->insns[i].step.m * a->insns[i].visits;
    for (uint32_t k = b->first_out; k < b->first_out + b->n_out; k++) {
        uint32_t to = a->cfg->edges[k].to;
        if (to >= a->cfg->n_blocks || a->blocks[to].visits <= 0)
            continue;
        double part = fmin(1, x->edge_visits[k] / a->blocks[to].visits);
        for (uint32_t n = 0; n < 2 && n < a->cfg->blocks[to].n_insns; n++) {
            const struct cs_cycle_account_insn *insn = &a->insns[a->cfg->blocks[to].first_insn + n];
            samples += insn->attributed * part;
            *m += insn->step.m * insn->visits * part;
        }
    }
    *m = a->insns[i].visits > 0 ? *m / a->insns[i].visits : 0;
    return a->insns[i].visits > 0 ? samples / a->insns[i].visits : 0;
}

/* Of the loads that an instruction's operands come from, the one that misses most. */
static void take_load(const struct accounting *x, uint32_t i, struct cs_culprit_stall *s)
{
    s->forwarded_before = fmax(s->forwarded_before, x->memory[i].forwarded);
    if (s->load_before && x->memory[i].new_lines <= s->load_before_memory.new_lines)
        return;
    s->load_before = &x->a->insns[i].op;
    s->load_before_memory = x->memory[i];
}

/* New lines and wrong guesses of the instructions before one. */
struct trail {
    double lines, wrong;
    unsigned n, n_guessed; /* instructions of each */
};

/* Misses within the reach of the core, which ends where a branch is guessed wrong. */
static double in_flight(const struct trail *t)
{
    double wrong = t->n_guessed ? t->wrong / t->n_guessed : 0,
           reach = 1 / (1.0 / CS_MODEL_REORDER_INSNS + wrong);
    return t->n ? fmin(CS_MODEL_LINES_IN_FLIGHT, fmax(1, t->lines / t->n * reach)) : 0;
}

/* What came before on the path: the last branch, lock, and load that it needs, the store that misses most. */
static struct trail look_back(const struct accounting *x, uint32_t i, struct cs_culprit_stall *s)
{
    struct trail t = {0};
    const struct cs_cycle_account *a = x->a;
    uint64_t wanted = s->op->reads;
    double worst = 0;
    uint32_t at = i;
    double chance = 1; /* that the path's last branch goes this way */
    for (unsigned n = 1; n <= WINDOW; n++) {
        uint32_t block = a->insns[at].block;
        if (n <= 2 && at == a->cfg->blocks[block].first_insn) {
            uint32_t edge = account_likely_in(x, block);
            double from = edge == CS_CFG_EXIT ? 0 : a->blocks[a->cfg->edges[edge].from].visits;
            chance = from > 0 ? x->edge_visits[edge] / from : 1;
        }
        at = account_before(x, at);
        if (at == CS_CFG_EXIT)
            return t;
        const struct cs_cycle_account_insn *p = &a->insns[at];
        t.lines += x->memory[at].new_lines;
        t.n = n;
        t.n_guessed = n <= SHADOW_INSNS ? n : SHADOW_INSNS;
        if (p->fused)
            continue;
        if (n <= SHADOW_INSNS && (p->op.flags & guessed)) {
            struct cs_culprit_branch f =
                cs_culprit_evidence_branch(x->e, p->branch ? p->branch : p->op.offset);
            t.wrong += (f.missed + f.missed_most) / 2;
            if (n <= 2 && chance < 0.5) /* the rarer way of a branch: what was mispredicted went here */
                f.here = fmin(1, (chance < CS_MODEL_WAY_RARE ? f.missed_raw : f.missed) / fmax(chance, 1e-6));
            /* One right before hides an earlier one that misses about as often. */
            const double before = fmax(s->before.missed_most, s->before.here);
            if (!s->branch_before || fmax(f.missed_most, f.here) >
                                         before * (s->branch_distance <= 2 ? CS_MODEL_BRANCH_NEARER : 1)) {
                s->branch_before = &p->op;
                s->before = f;
                s->branch_distance = n;
                s->branch_shadow = shadow(x, at, &s->branch_shadow_m);
            }
        }
        if (n <= NEAR_INSNS && (p->op.flags & (CS_ISA_OP_LOCK | CS_ISA_OP_SERIALISE)) && !s->lock_before)
            s->lock_before = &p->op;
        if (n <= NEAR_INSNS && (p->op.writes & wanted & ~CS_ISA_OP_REG_FLAGS)) {
            if (p->op.flags & CS_ISA_OP_LOAD)
                take_load(x, at, s);
            wanted = (wanted & ~p->op.writes) | p->op.reads;
        }
        if (p->op.flags & CS_ISA_OP_STORE) {
            const struct cs_culprit_memory *f = &x->memory[at];
            if (f->seen && f->new_lines > worst) {
                worst = f->new_lines;
                s->missing_store = &p->op;
                s->missing_store_memory = *f;
            }
        }
        if (at == i)
            return t;
    }
    return t;
}

/* Does the most frequent way from here come back here soon, without a call? Then its lines and pages of code
 * stay where they are. `*m`: of such a turn; 0: there is none. */
static bool in_short_loop(const struct accounting *x, uint32_t i, double *m)
{
    double turn = 0;
    uint32_t at = i;
    *m = 0;
    for (unsigned n = 0; n < WINDOW && at != CS_CFG_EXIT; n++) {
        const struct cs_cycle_account_insn *insn = &x->a->insns[at];
        if (insn->op.flags & (CS_ISA_OP_CALL | CS_ISA_OP_SYSCALL))
            return false;
        turn += insn->fused ? 0 : insn->step.m;
        at = account_after(x, at);
        if (at == i) {
            *m = turn;
            return true;
        }
    }
    return false;
}

/* How many of a block's executions come into its line from elsewhere: a loop within one line fetches it once. */
static double enters_line(const struct accounting *x, uint32_t block)
{
    const struct cs_cycle_account *a = x->a;
    const struct cs_basic_block *b = &a->cfg->blocks[block];
    double enters = 0;
    for (uint32_t k = b->first_in; k < b->first_in + b->n_in; k++) {
        uint32_t edge = a->cfg->in[k], from = a->cfg->edges[edge].from;
        const struct cs_basic_block *before = from < a->cfg->n_blocks ? &a->cfg->blocks[from] : NULL;
        bool stays = before && before->n_insns > 0 && (before->end - 1) / 64 == b->start / 64 &&
                     !(a->insns[before->first_insn + before->n_insns - 1].op.flags &
                       (CS_ISA_OP_CALL | CS_ISA_OP_SYSCALL));
        enters += stays ? 0 : x->edge_visits[edge];
    }
    return a->frequencies && a->blocks[block].visits > 0 ? fmin(1, enters / a->blocks[block].visits) : 1;
}

/* Does the instruction begin the line and the page that its successor's last byte, at `reach`, is in? */
static void begun_facts(const struct accounting *x, uint32_t i, uint64_t reach, struct cs_culprit_stall *s)
{
    const uint32_t before = account_before(x, i);
    if (before == CS_CFG_EXIT)
        return;
    const struct cs_isa_op *op = &x->a->insns[before].op;
    const uint64_t tail = op->offset + op->length - 1;
    s->begun_line = s->op->offset / 64 == reach / 64 && tail / 64 != reach / 64;
    s->begun_page = s->op->offset / 4096 == reach / 4096 && tail / 4096 != reach / 4096;
}

void account_stall_facts(const struct accounting *x, uint32_t i, struct cs_culprit_stall *s)
{
    struct cs_cycle_account_insn *insn = &x->a->insns[i];
    cs_culprit_stall_init(s, &insn->op);
    s->m = insn->step.m;
    s->static_chain = insn->step.dependency + insn->step.divider;
    s->bursts = x->e->bursts;
    s->no_denormals =
        x->e->values.looked > 0 && !cs_culprit_met_denormals(&x->e->values, x->a->blocks[insn->block].bursts);
    s->code_bytes = x->e->code_bytes;
    s->code_pages = x->e->code_pages;
    if (insn->op.flags & (CS_ISA_OP_LOAD | CS_ISA_OP_STORE))
        s->memory = x->memory[i];
    if (s->memory.false_sharing.taken > 0 || s->memory.true_sharing.taken > 0)
        (void)in_short_loop(x, i, &s->turn_m);
    if (insn->op.flags & guessed)
        s->branch = cs_culprit_evidence_branch(x->e, insn->branch ? insn->branch : insn->op.offset);
    uint64_t back;
    s->return_distance = account_behind_return(x->a, i, &back);
    if (s->return_distance < NEAR_INSNS)
        s->returned = cs_culprit_evidence_returns(x->e, back, &s->returned_from);
    s->entry = i == x->a->cfg->blocks[0].first_insn;
    s->caller = s->entry ? account_caller(x, insn->op.offset) : 0;
    if (s->caller)
        s->called_by = cs_culprit_evidence_branch(x->e, s->caller);
    uint32_t end = i;
    if (insn->branch && i + 1 < x->a->cfg->n_insns)
        end = i + 1;
    uint32_t next = account_after(x, end);
    if (next != CS_CFG_EXIT) {
        const struct cs_isa_op *last = &x->a->insns[end].op;
        uint64_t tail = last->offset + last->length - 1;
        s->next = &x->a->insns[next].op;
        if (s->next->flags & (CS_ISA_OP_LOAD | CS_ISA_OP_STORE))
            s->next_memory = x->memory[next];
        /* The last byte of the next instruction may be the one that is missing. */
        uint64_t reach = s->next->offset + s->next->length - 1;
        s->begins_line = tail / 64 != s->next->offset / 64 || tail / 64 != reach / 64;
        s->begins_page = tail / 4096 != reach / 4096;
        s->fetch = cs_culprit_evidence_fetch(x->e, reach);
        double turn_m;
        if (!s->fetch.seen && in_short_loop(x, i, &turn_m))
            s->begins_line = s->begins_page = false;
        begun_facts(x, i, reach, s);
        /* New lines a visit of the line, from here on an execution of the instruction. */
        if (!s->begins_line && x->a->cfg->blocks[insn->block].start / 64 == reach / 64)
            s->fetch.new_lines *= enters_line(x, insn->block);
    }
    struct trail trail = look_back(x, i, s);
    s->in_flight = in_flight(&trail);
}

/* Who touches a line first has its miss by what bursts saw. Where that is a store and a load of the same base follows,
 * the store goes on and it is the load that waits. */
static void take_line_of_store(const struct accounting *x, uint32_t i)
{
    const struct cs_cycle_account *a = x->a;
    const struct cs_isa_op *load = &a->insns[i].op;
    struct cs_culprit_memory *f = &x->memory[i];
    uint32_t at = i;
    for (unsigned n = 0; n < NEAR_INSNS && load->address_reads; n++) {
        at = account_before(x, at);
        if (at == CS_CFG_EXIT || at == i || a->insns[at].op.writes & load->address_reads)
            return;
        const struct cs_isa_op *p = &a->insns[at].op;
        const struct cs_culprit_memory *store = &x->memory[at];
        if (!(p->flags & CS_ISA_OP_STORE) || p->flags & CS_ISA_OP_LOAD ||
            p->address_reads != load->address_reads || store->new_lines <= 2 * f->new_lines)
            continue;
        f->new_lines = store->new_lines;
        f->far_lines = store->far_lines;
        f->crowded = store->crowded;
        f->new_pages = store->new_pages;
        f->far_pages = store->far_pages;
        f->huge = store->huge;
        f->spared = store->spared;
        f->steady = store->steady;
        f->sets = store->sets;
        f->footprint_bytes = store->footprint_bytes;
        f->footprint_pages = store->footprint_pages;
        f->footprint_least = store->footprint_least;
        f->cold = store->cold;
        f->cold_bytes = store->cold_bytes;
        f->cold_least = store->cold_least;
        return;
    }
}

static bool takes_pages(const struct cs_culprit_memory *f)
{
    return cs_culprit_new_small(f) > CS_MODEL_RATE_NEGLIGIBLE && f->footprint_pages > 0;
}

/* What the TLBs hold is shared by all accesses of the procedure that come to new pages. */
static void share_tlbs(const struct accounting *x)
{
    const struct cs_cycle_account *a = x->a;
    struct culprit_pages of[CULPRIT_PAGES_TOGETHER];
    size_t n = 0;
    for (uint32_t i = 0; n < CULPRIT_PAGES_TOGETHER && i < a->cfg->n_insns; i++)
        if (takes_pages(&x->memory[i]))
            of[n++] = (struct culprit_pages){a->insns[i].op.offset, x->memory[i].footprint_pages};
    double pages = n > 1 ? culprit_pages_together(x->e->footprints, of, n) : 0;
    for (uint32_t i = 0; i < a->cfg->n_insns; i++)
        if (takes_pages(&x->memory[i]))
            x->memory[i].footprint_pages = fmax(x->memory[i].footprint_pages, pages);
}

void account_memory_facts(const struct accounting *x)
{
    const struct cs_cycle_account *a = x->a;
    for (uint32_t i = 0; i < a->cfg->n_insns; i++)
        if (a->insns[i].op.flags & (CS_ISA_OP_LOAD | CS_ISA_OP_STORE)) {
            struct cs_culprit_memory facts = cs_culprit_evidence_memory(x->e, a->insns[i].op.offset);
            if (facts.seen)
                x->memory[i] = facts;
        }
    share_tlbs(x);
    for (uint32_t i = 0; i < a->cfg->n_insns; i++)
        if (a->insns[i].op.flags & CS_ISA_OP_LOAD && x->memory[i].seen)
            take_line_of_store(x, i);
}
