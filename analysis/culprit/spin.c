/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A loop that only another thread can end. It stores nothing and calls nothing, and each turn is the same as long as memory
 * is. All that it reads is loaded from addresses that stay, or was made of that earlier in the same turn.
 *
 * Earlier means within a block, or within those that can be entered only from it. Then every block decides in each turn as in
 * the turn before. */
#include "analysis/culprit/spin.h"

#include <stdlib.h>
#include <string.h>

enum { LOOP_BLOCKS = 16, LOOP_INSNS = 64 };
#define LOOP_SHARE 0.05 /* of the hottest block's visits: what runs less often is the way out */

struct loop {
    uint32_t block[LOOP_BLOCKS];
    unsigned n;
};

static int place_of(const struct loop *l, uint32_t block)
{
    for (unsigned i = 0; i < l->n; i++)
        if (l->block[i] == block)
            return (int)i;
    return -1;
}

/* Blocks that run often, forward from the first of the loop, or backward to it. False: too many. */
static bool reach(const struct cs_cycle_account *a, bool back, struct loop *l)
{
    const double least = LOOP_SHARE * a->blocks[l->block[0]].visits;
    for (unsigned i = 0; i < l->n; i++) {
        const struct cs_basic_block *b = &a->cfg->blocks[l->block[i]];
        for (uint32_t k = 0; k < (back ? b->n_in : b->n_out); k++) {
            const struct cs_cfg_edge *edge =
                &a->cfg->edges[back ? a->cfg->in[b->first_in + k] : b->first_out + k];
            const uint32_t to = back ? edge->from : edge->to;
            if (to >= a->cfg->n_blocks || a->blocks[to].visits < least || place_of(l, to) >= 0)
                continue;
            if (l->n == LOOP_BLOCKS)
                return false;
            l->block[l->n++] = to;
        }
    }
    return true;
}

/* What is reached from the hottest block and reaches it. */
static bool find_loop(const struct cs_cycle_account *a, uint32_t hottest, struct loop *l)
{
    struct loop back = {{hottest}, 1};
    bool again = false;
    *l = back;
    if (!reach(a, false, l) || !reach(a, true, &back))
        return false;
    for (unsigned i = 0; i < l->n;)
        if (place_of(&back, l->block[i]) < 0)
            l->block[i] = l->block[--l->n];
        else
            i++;
    const struct cs_basic_block *b = &a->cfg->blocks[hottest];
    for (uint32_t k = 0; k < b->n_out; k++)
        again |= place_of(l, a->cfg->edges[b->first_out + k].to) >= 0;
    return again;
}

/* The only block that leads to this one; -1: there are several, or the loop is entered here. */
static int only_before(const struct cs_cycle_account *a, const struct loop *l, unsigned i)
{
    const struct cs_basic_block *b = &a->cfg->blocks[l->block[i]];
    int only = -1;
    for (uint32_t k = 0; k < b->n_in; k++) {
        const int from = place_of(l, a->cfg->edges[a->cfg->in[b->first_in + k]].from);
        if (from < 0 || from == (int)i || (only >= 0 && from != only))
            return -1;
        only = from;
    }
    return only;
}

/* Clocks and random numbers change without a store. */
static bool is_constant(const struct cs_isa_op *op, enum cs_isa isa)
{
    const uint32_t never = CS_ISA_OP_STORE | CS_ISA_OP_CALL | CS_ISA_OP_INDIRECT | CS_ISA_OP_RETURN |
                           CS_ISA_OP_LOCK | CS_ISA_OP_SYSCALL | CS_ISA_OP_REPEAT | CS_ISA_OP_INVALID;
    static const char *const waits[] = {"pause", "yield", "isb", "dmb", "fence", "lfence", "mfence"};
    char text[CS_ISA_OP_TEXT];
    if (op->flags & never)
        return false;
    cs_isa_op_text(isa, op, text);
    if (!(op->flags & CS_ISA_OP_SERIALISE))
        return strncmp(text, "rd", 2) != 0 && strncmp(text, "mrs", 3) != 0;
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++)
        if (strncmp(text, waits[i], strlen(waits[i])) == 0)
            return true;
    return false;
}

/* Registers that are written in this block before `end`, or in those that it is only entered from. */
static uint64_t made_before(const struct cs_cycle_account *a, const struct loop *l, unsigned i, uint32_t end)
{
    uint64_t made = 0;
    for (unsigned n = 0; n <= l->n; n++) {
        const struct cs_basic_block *b = &a->cfg->blocks[l->block[i]];
        for (uint32_t k = b->first_insn; k < b->first_insn + b->n_insns && (n || k < end); k++)
            made |= a->insns[k].op.writes;
        const int before = only_before(a, l, i);
        if (before < 0)
            return made;
        i = (unsigned)before;
    }
    return 0; /* they lead round to one another: there is no way in */
}

static bool never_changes(const struct cs_cycle_account *a, enum cs_isa isa, const struct loop *l)
{
    uint64_t written = 0;
    unsigned n = 0;
    bool loads = false;
    for (unsigned i = 0; i < l->n; i++) {
        const struct cs_basic_block *b = &a->cfg->blocks[l->block[i]];
        for (uint32_t k = b->first_insn; k < b->first_insn + b->n_insns; k++) {
            if (++n > LOOP_INSNS || !is_constant(&a->insns[k].op, isa))
                return false;
            written |= a->insns[k].op.writes;
            loads |= a->insns[k].op.flags & CS_ISA_OP_LOAD;
        }
    }
    for (unsigned i = 0; i < l->n; i++) {
        const struct cs_basic_block *b = &a->cfg->blocks[l->block[i]];
        for (uint32_t k = b->first_insn; k < b->first_insn + b->n_insns; k++) {
            const struct cs_isa_op *op = &a->insns[k].op;
            if ((op->reads | op->address_reads) & written & ~made_before(a, l, i, k))
                return false;
        }
    }
    return loads;
}

bool cs_culprit_spin(const struct cs_cycle_account *a, enum cs_isa isa, struct cs_culprit_spin *spin)
{
    uint32_t hottest = 0;
    double most = -1;
    struct loop l;
    *spin = (struct cs_culprit_spin){0};
    for (uint32_t b = 1; b < a->cfg->n_blocks; b++)
        if (a->blocks[b].attributed > a->blocks[hottest].attributed)
            hottest = b;
    if (!a->frequencies || !a->cfg->n_blocks || !(a->blocks[hottest].visits > 0) ||
        !find_loop(a, hottest, &l) || !never_changes(a, isa, &l))
        return false;
    for (unsigned i = 0; i < l.n; i++) {
        const struct cs_basic_block *b = &a->cfg->blocks[l.block[i]];
        spin->samples += a->blocks[l.block[i]].attributed;
        for (uint32_t k = b->first_insn; k < b->first_insn + b->n_insns; k++)
            if (a->insns[k].op.flags & CS_ISA_OP_LOAD && a->blocks[l.block[i]].attributed > most) {
                most = a->blocks[l.block[i]].attributed;
                spin->load = a->insns[k].op.offset;
            }
    }
    return true;
}
