/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/experiment/piece.h"

#include <assert.h>
#include <string.h>

enum { JUMP_OUT = 14, JUMP_NEAR = 5, BACK_MOST = 9 };
#define LEAVES (CS_ISA_OP_BRANCH | CS_ISA_OP_JUMP | CS_ISA_OP_CALL | CS_ISA_OP_RETURN)
#define GENERAL UINT64_C(0xffff)
#define LOADED (UINT64_C(1) << 16) /* in a set of origins: memory */

static const uint8_t dec_of[16][3] = {
    {0x48, 0xff, 0xc8}, {0x48, 0xff, 0xc9}, {0x48, 0xff, 0xca}, {0x48, 0xff, 0xcb},
    {0x48, 0xff, 0xcc}, {0x48, 0xff, 0xcd}, {0x48, 0xff, 0xce}, {0x48, 0xff, 0xcf},
    {0x49, 0xff, 0xc8}, {0x49, 0xff, 0xc9}, {0x49, 0xff, 0xca}, {0x49, 0xff, 0xcb},
    {0x49, 0xff, 0xcc}, {0x49, 0xff, 0xcd}, {0x49, 0xff, 0xce}, {0x49, 0xff, 0xcf}};

/* What can't run by itself, before any of it runs: the process that it would run in doesn't rely on this. */
static enum cs_experiment_why refused(const struct cs_isa_op *op, const struct cs_isa_insn *insn)
{
    if (op->flags & CS_ISA_OP_INVALID || insn->length != op->length || !op->length)
        return CS_EXPERIMENT_CODE;
    if (op->flags & (CS_ISA_OP_CALL | CS_ISA_OP_RETURN) ||
        (op->flags & CS_ISA_OP_JUMP && op->flags & (CS_ISA_OP_INDIRECT | CS_ISA_OP_LOAD)))
        return CS_EXPERIMENT_CALL;
    const bool transfer = op->flags & (CS_ISA_OP_BRANCH | CS_ISA_OP_JUMP);
    if (op->flags & (CS_ISA_OP_SYSCALL | CS_ISA_OP_SERIALISE | CS_ISA_OP_REPEAT) ||
        (insn->flow != CS_ISA_FLOW_NEXT && !transfer) || !insn->calculates ||
        (!transfer && (insn->reads | insn->writes) & CS_ISA_REG_SYSTEM &&
         !(op->flags & (CS_ISA_OP_VECTOR | CS_ISA_OP_FLOAT))))
        return CS_EXPERIMENT_SYSTEM;
    for (unsigned m = 0; m < insn->n_memory; m++)
        if (insn->memory[m].segment)
            return CS_EXPERIMENT_SEGMENT;
    if (transfer && op->bytes[0] >= 0xe0 && op->bytes[0] <= 0xe3)
        return CS_EXPERIMENT_SYSTEM; /* loop, jrcxz */
    return CS_EXPERIMENT_DONE;
}

/* How registers come by what they hold, in one walk along the turn: which of those that it begins with an address is made
 * of. */
static void find_origins(const struct cs_isa_op *op, const struct cs_isa_insn *insn, uint64_t *origin,
                         struct piece *p)
{
    uint64_t from = 0;
    for (unsigned m = 0; m < insn->n_memory; m++) {
        const struct cs_isa_memory *memory = &insn->memory[m];
        p->gathers |= memory->gather;
        if (memory->gather)
            continue;
        if (memory->base != CS_ISA_REG_NONE && memory->base < 16) {
            p->addresses |= origin[memory->base] & GENERAL;
            p->loaded_address |= origin[memory->base] & LOADED;
        }
        if (memory->index != CS_ISA_REG_NONE && memory->index < 16 && origin[memory->index] & LOADED)
            p->grain = origin[memory->index] >> 32 & 0xf;
    }
    if (op->flags & CS_ISA_OP_LOAD) {
        from = LOADED | (uint64_t)(op->access_bytes > 8 ? 8 : op->access_bytes) << 32;
    }
    for (uint64_t rest = op->reads & GENERAL & ~(op->flags & CS_ISA_OP_LOAD ? op->address_reads : 0); rest;
         rest &= rest - 1)
        from |= origin[__builtin_ctzll(rest)];
    for (uint64_t rest = op->writes & GENERAL & ~CS_ISA_OP_REG_RSP; rest; rest &= rest - 1)
        origin[__builtin_ctzll(rest)] = from;
}

/* The turn begins behind the jump that ends it: a closed path may be told from anywhere. */
size_t piece_beginning(const struct cs_isa_op *ops, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        const struct cs_isa_op *last = &ops[(k ? k : n) - 1];
        if (last->flags & LEAVES && ops[k].offset != last->offset + last->length)
            return k;
    }
    return 0;
}

struct layout {
    const struct cs_isa_op *ops[PIECE_OPS_MAX];
    uint64_t at[PIECE_OPS_MAX + 1]; /* where each stands; of the last one: the branch back */
    size_t n;
};

static bool next_follows(const struct layout *l, size_t i)
{
    return l->at[i + 1] == l->at[i] + l->ops[i]->length;
}

/* Of a taken branch, the other way. */
static bool needs_jump(const struct layout *l, size_t i)
{
    return !next_follows(l, i) && !(l->ops[i]->flags & CS_ISA_OP_JUMP);
}

static bool take_bytes(const struct piece *p, uint8_t *taken, uint64_t at, size_t n)
{
    if (at < p->first || at + n > p->first + sizeof p->code)
        return false;
    for (size_t i = 0; i < n; i++)
        if (taken[at - p->first + i]++)
            return false;
    return true;
}

static size_t back_bytes(uint64_t at, uint64_t head)
{
    return 3 + (at + 5 >= head && at + 5 - head <= 128 ? 2 : 6);
}

/* Whether all fits where it stands. */
static bool fits(const struct layout *l, struct piece *p)
{
    uint8_t taken[ORDER_CODE_BYTES];
    uint64_t lowest = l->at[0];
    memset(taken, 0, sizeof taken);
    for (size_t i = 0; i <= l->n; i++)
        lowest = l->at[i] < lowest ? l->at[i] : lowest;
    p->first = lowest;
    bool ok = true;
    for (size_t i = 0; i < l->n && ok; i++)
        ok = take_bytes(p, taken, l->at[i], (size_t)l->ops[i]->length + (needs_jump(l, i) ? JUMP_NEAR : 0u));
    return ok && take_bytes(p, taken, l->at[l->n], back_bytes(l->at[l->n], l->at[0]) + JUMP_OUT);
}

static void pack(struct layout *l, struct piece *p)
{
    p->packed = true;
    p->first = l->at[0];
    for (size_t i = 0; i < l->n; i++)
        l->at[i + 1] = l->at[i] + l->ops[i]->length;
}

static void write_at(struct piece *p, uint64_t at, const void *bytes, size_t n)
{
    assert(at >= p->first && at - p->first + n <= sizeof p->code);
    memcpy(p->code + (at - p->first), bytes, n);
    p->n = at - p->first + n > p->n ? at - p->first + n : p->n;
}

static void write_jump(struct piece *p, uint64_t at, uint64_t to)
{
    uint8_t bytes[JUMP_NEAR] = {0xe9};
    const int32_t distance = (int32_t)(to - at - JUMP_NEAR);
    memcpy(bytes + 1, &distance, sizeof distance);
    write_at(p, at, bytes, sizeof bytes);
}

/* An operand relative to the instruction names the same place from where it stands now. */
static void keep_relative(const struct cs_isa_op *op, const struct cs_isa_insn *insn, uint64_t at,
                          uint8_t *bytes)
{
    for (unsigned m = 0; m < insn->n_memory && at != op->offset; m++) {
        const int64_t wanted = insn->memory[m].displacement - (int64_t)(op->offset + op->length);
        for (size_t k = 1; insn->memory[m].pc_relative && k + 4 <= op->length; k++) {
            int32_t found;
            memcpy(&found, bytes + k, sizeof found);
            if (found != wanted)
                continue;
            found += (int32_t)(op->offset - at);
            memcpy(bytes + k, &found, sizeof found);
            break;
        }
    }
}

static void write_op(struct piece *p, const struct layout *l, size_t i)
{
    const struct cs_isa_op *op = l->ops[i];
    uint8_t bytes[sizeof op->bytes];
    struct cs_isa_insn insn;
    memcpy(bytes, op->bytes, sizeof bytes);
    cs_isa_decode(CS_ISA_X86_64, op->bytes, op->length, op->offset, &insn);
    keep_relative(op, &insn, l->at[i], bytes);
    if (op->flags & (CS_ISA_OP_BRANCH | CS_ISA_OP_JUMP) && next_follows(l, i)) {
        const size_t displacement = op->length < 5 ? 1 : 4; /* of a short one with a prefix, too */
        memset(bytes + op->length - displacement, 0, displacement);
    } else if (needs_jump(l, i)) {
        write_jump(p, l->at[i] + op->length, l->at[i + 1]);
    }
    write_at(p, l->at[i], bytes, op->length);
}

static void write_back(struct piece *p, const struct layout *l)
{
    const uint64_t at = l->at[l->n], head = l->at[0];
    const size_t n = back_bytes(at, head);
    const int32_t back = (int32_t)(head - at - n);
    uint8_t bytes[BACK_MOST + JUMP_OUT] = {0};
    memcpy(bytes, dec_of[p->counter], 3);
    if (n == 5) {
        bytes[3] = 0x75;
        bytes[4] = (uint8_t)back;
    } else {
        memcpy(bytes + 3, (const uint8_t[]){0x0f, 0x85}, 2);
        memcpy(bytes + 5, &back, sizeof back);
    }
    memcpy(bytes + n, (const uint8_t[]){0xff, 0x25}, 2); /* jmp [rip], and where to */
    write_at(p, at, bytes, n + JUMP_OUT);
    p->turn_end = at - p->first + n;
    p->exit_at = p->turn_end + 6;
}

uint64_t piece_register(const struct piece *p, int reg)
{
    const uint64_t r = (uint64_t)reg;
    return p->addresses >> r & 1 ? ORDER_DATA_AT + r * 0x103000 + 0x400 + r * 0x140 % 0x800 : 64 + 7 * r;
}

enum cs_experiment_why piece_make(const struct cs_isa_op *ops, size_t n, struct piece *p)
{
    static const int preferred[] = {15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 3, 2, 1, 0, 4};
    struct cs_isa_op own[PIECE_OPS_MAX];
    struct layout l = {.n = 0};
    uint64_t origin[16], used = 0;
    memset(p, 0, offsetof(struct piece, code));
    memset(p->code, 0xcc, sizeof p->code);
    if (n == 0 || n > PIECE_OPS_MAX)
        return CS_EXPERIMENT_LONG;
    const size_t first = piece_beginning(ops, n);
    /* Decoded here: accounts mark what a branch fused with as a branch, and that has no displacement. */
    for (size_t i = 0; i < n; i++) {
        const struct cs_isa_op *op = &ops[(first + i) % n];
        cs_isa_op_decode(CS_ISA_X86_64, op->bytes, op->length, op->offset, &own[i]);
        l.ops[i] = &own[i];
    }
    const struct cs_isa_op *last = l.ops[n - 1];
    l.n = last->flags & LEAVES ? n - 1 : n;
    if (l.n < n && l.n && last->flags & CS_ISA_OP_BRANCH && cs_isa_op_fused(l.ops[l.n - 1], last) &&
        l.ops[l.n - 1]->flags & CS_ISA_OP_FLAGS_ONLY && !(l.ops[l.n - 1]->flags & CS_ISA_OP_LOAD))
        l.n--;
    if (l.n == 0)
        return CS_EXPERIMENT_LONG;
    for (int reg = 0; reg < 16; reg++)
        origin[reg] = UINT64_C(1) << reg;
    p->grain = 8;
    unsigned narrowest = 8;
    for (size_t i = 0; i < l.n; i++) {
        const struct cs_isa_op *op = l.ops[i];
        struct cs_isa_insn insn;
        cs_isa_decode(CS_ISA_X86_64, op->bytes, op->length, op->offset, &insn);
        const enum cs_experiment_why why = refused(op, &insn);
        if (why)
            return why;
        used |= op->reads | op->writes | op->address_reads | ((insn.reads | insn.writes) & GENERAL);
        p->branches |= op->flags & CS_ISA_OP_BRANCH;
        p->floats |= (op->flags & (CS_ISA_OP_FLOAT | CS_ISA_OP_FDIVIDE)) || op->writes & CS_ISA_OP_REG_X87;
        if (op->flags & CS_ISA_OP_LOAD && op->access_bytes && op->access_bytes < narrowest)
            narrowest = op->access_bytes;
        find_origins(op, &insn, origin, p);
        l.at[i] = op->offset;
    }
    for (size_t i = 0; i < l.n; i++) { /* once more: what a turn leaves, the next one has */
        struct cs_isa_insn insn;
        cs_isa_decode(CS_ISA_X86_64, l.ops[i]->bytes, l.ops[i]->length, l.ops[i]->offset, &insn);
        find_origins(l.ops[i], &insn, origin, p);
    }
    if (p->grain == 8)
        p->grain = narrowest;
    p->grain = p->grain >= 8 ? 8 : p->grain >= 4 ? 4 : p->grain >= 2 ? 2 : 1;
    p->addresses |= used & CS_ISA_OP_REG_RSP;
    p->counter = -1;
    for (size_t k = 0; k < sizeof preferred / sizeof *preferred && p->counter < 0; k++)
        if (!(used >> preferred[k] & 1))
            p->counter = preferred[k];
    if (p->counter < 0)
        return CS_EXPERIMENT_REGISTER;
    l.at[l.n] = l.ops[l.n - 1]->offset + l.ops[l.n - 1]->length;
    if (!fits(&l, p))
        pack(&l, p);
    for (size_t i = 0; i < l.n; i++)
        write_op(p, &l, i);
    write_back(p, &l);
    p->head = l.at[0] - p->first;
    return CS_EXPERIMENT_DONE;
}
