/* SPDX-License-Identifier: GPL-2.0-or-later */
/* RISC-V. The one form that GCC and clang make (T table, I index). Entries of 4 bytes are an offset from T or an
 * address, entries of 8 are an address:
 *     slli R, I, 2|3;  add R, R, T;  lw|ld R, imm(R);  [add R, R, T;]  jr R
 * T is auipc and addi, lui and addi, or lui alone with the load's immediate. An unsigned I of 32 bits is widened by two
 * shifts, the last of which is the multiplication too. The bound is the branch before, `bltu` or `bgeu` with a register
 * that holds a constant, or the `andi` that made I. A table without a bound stays unresolved. */
#include "analysis/cfg/jump_table_internal.h"

#define LOOK_BACK 40
#define BASE_LOOK_BACK 2000
#define NONE UINT32_MAX

/* What an instruction is here: opcode, the rest of its form, registers, immediate. */
struct op {
    uint32_t opcode, f3, f7, rd, rs1, rs2;
    int64_t immediate;
};

static struct op op_at(const struct jump_scan *s, uint32_t i)
{
    size_t n;
    const uint8_t *bytes = cs_image_bytes_at(s->code, s->insns[i].offset, &n, NULL);
    int32_t immediate = 0;
    uint32_t w = bytes ? cs_isa_riscv64_word(bytes, n, &immediate) : 0;
    return (struct op){.opcode = w & 0x7f,
                       .f3 = w >> 12 & 7,
                       .f7 = w >> 25,
                       .rd = w >> 7 & 31,
                       .rs1 = w >> 15 & 31,
                       .rs2 = w >> 20 & 31,
                       .immediate = immediate};
}

static bool is_add(const struct op *o)
{
    return o->opcode == 0x33 && o->f3 == 0 && o->f7 == 0;
}

static bool is_addi(const struct op *o)
{
    return o->opcode == 0x13 && o->f3 == 0;
}

/* Shifts' amounts: six bits. */
static bool is_shift(const struct op *o, uint32_t f3, unsigned *amount)
{
    *amount = (unsigned)o->immediate & 63;
    return o->opcode == 0x13 && o->f3 == f3 && (o->immediate & 0xfc0) == 0;
}

static bool caller_keeps(unsigned reg)
{
    return reg == 8 || reg == 9 || reg == 2 || reg == 3 || reg == 4 || (reg >= 18 && reg <= 27);
}

/* The nearest instruction before `at` that writes `reg`; register moves are followed. NONE = none. */
static uint32_t definition(const struct jump_scan *s, uint32_t at, unsigned *reg, unsigned most)
{
    for (uint32_t i = at, steps = 0; i-- > 0 && steps < most; steps++) {
        if (s->insns[i].flow == CS_ISA_FLOW_CALL && !caller_keeps(*reg))
            return NONE;
        if (!jump_writes(s, i, *reg))
            continue;
        struct op o = op_at(s, i);
        bool widens = o.opcode == 0x1b && o.f3 == 0; /* sext.w: the bounds of an index keep it as it is */
        if ((is_addi(&o) || widens) && o.immediate == 0 && o.rs1)
            *reg = o.rs1;
        else if (is_add(&o) && o.rs1 == 0)
            *reg = o.rs2;
        else
            return i;
    }
    return NONE;
}

/* What `reg` holds at `at` when that is a constant or an address. */
static bool value_of(const struct jump_scan *s, uint32_t at, unsigned reg, unsigned most, uint64_t *value)
{
    uint64_t added = 0;
    for (int pieces = 0; pieces < 2; pieces++) {
        uint32_t i = definition(s, at, &reg, most);
        struct op o = i == NONE ? (struct op){0} : op_at(s, i);
        if (o.opcode == 0x17 || o.opcode == 0x37) {
            *value = (o.opcode == 0x17 ? s->insns[i].offset : 0) + (uint64_t)o.immediate + added;
            return true;
        }
        if (!is_addi(&o) && !(o.opcode == 0x1b && o.f3 == 0)) /* addiw: as good for what is small */
            return false;
        added += (uint64_t)o.immediate;
        if (o.rs1 == 0) {
            *value = added;
            return true;
        }
        reg = o.rs1;
        at = i;
    }
    return false;
}

struct table {
    struct jump_entries entries;
    unsigned index; /* register */
    uint32_t shift; /* the instruction that multiplies the index */
};

/* The index behind the multiplication, which may also be the second half of a widening. */
static bool read_index(const struct jump_scan *s, uint32_t at, unsigned reg, struct table *t)
{
    unsigned amount, before, log = t->entries.bytes == 4 ? 2 : 3;
    uint32_t i = definition(s, at, &reg, LOOK_BACK);
    if (i == NONE)
        return false;
    struct op o = op_at(s, i);
    t->shift = i;
    t->index = o.rs1;
    if (is_shift(&o, 1, &amount) && amount == log) {
        reg = o.rs1;
        uint32_t wide = definition(s, i, &reg, LOOK_BACK); /* slli 32, srli 32 */
        struct op w = wide == NONE ? (struct op){0} : op_at(s, wide);
        if (!is_shift(&w, 5, &amount) || amount != 32)
            return true;
        i = wide, o = w;
    } else if (!is_shift(&o, 5, &amount) || amount != 32 - log)
        return false;
    reg = o.rs1;
    uint32_t first = definition(s, i, &reg, LOOK_BACK);
    struct op f = first == NONE ? (struct op){0} : op_at(s, first);
    if (!is_shift(&f, 1, &before) || before != 32)
        return false;
    t->shift = first;
    t->index = f.rs1;
    return true;
}

/* 1 found, 0 a table that can't be read, 2 no table. */
static int find_table(const struct jump_scan *s, uint32_t jump, struct table *t)
{
    struct op jr = op_at(s, jump);
    unsigned reg = jr.rs1, base = 0;
    uint32_t i = definition(s, jump, &reg, LOOK_BACK);
    if (i == NONE || jr.opcode != 0x67 || jr.immediate != 0)
        return 2;
    struct op o = op_at(s, i);
    uint32_t load = i;
    const bool relative = is_add(&o);
    if (relative) {
        const struct op sum = o;
        reg = sum.rs1;
        load = definition(s, i, &reg, LOOK_BACK);
        base = sum.rs2;
        if (load == NONE || op_at(s, load).opcode != 0x03) {
            reg = sum.rs2;
            load = definition(s, i, &reg, LOOK_BACK);
            base = sum.rs1;
        }
        if (load == NONE)
            return 2;
        o = op_at(s, load);
    }
    if (o.opcode != 0x03 || (o.f3 != 2 && o.f3 != 3) || (relative && o.f3 != 2))
        return 2;
    t->entries.bytes = o.f3 == 2 ? 4 : 8;
    t->entries.is_signed = true;
    reg = o.rs1;
    uint32_t where = definition(s, load, &reg, LOOK_BACK);
    struct op address = where == NONE ? (struct op){0} : op_at(s, where);
    if (!is_add(&address))
        return 2;
    /* either operand may be the table's address */
    for (int swap = 0; swap < 2; swap++) {
        unsigned from = swap ? address.rs1 : address.rs2, index = swap ? address.rs2 : address.rs1;
        struct jump_entries *e = &t->entries;
        if (!read_index(s, where, index, t) || !value_of(s, where, from, BASE_LOOK_BACK, &e->start))
            continue;
        e->start += (uint64_t)o.immediate;
        return !relative || (value_of(s, i, base, BASE_LOOK_BACK, &e->base) && e->base == e->start);
    }
    return 0;
}

/* Does `reg` hold the index at `at`: a copy of the same value, or (unoptimised code) the same word of memory? */
static bool is_index(const struct jump_scan *s, uint32_t at, unsigned reg, const struct table *t)
{
    unsigned one = reg, other = t->index;
    uint32_t a = definition(s, at, &one, LOOK_BACK), b = definition(s, t->shift, &other, LOOK_BACK);
    if (a == b || a == NONE || b == NONE)
        return a == b && one == other;
    struct op x = op_at(s, a), y = op_at(s, b);
    return x.opcode == 0x03 && y.opcode == 0x03 && x.rs1 == y.rs1 && x.immediate == y.immediate;
}

/* How many entries; 0 = unknown. */
static uint32_t bound(const struct jump_scan *s, const struct table *t)
{
    unsigned index = t->index;
    uint32_t made = definition(s, t->shift, &index, LOOK_BACK);
    for (uint32_t i = t->shift, steps = 0; i-- > 0 && steps < LOOK_BACK; steps++) {
        struct op o = op_at(s, i);
        uint64_t most;
        if (i == made && o.opcode == 0x13 && o.f3 == 7)
            return o.immediate >= 0 && o.immediate < JUMP_ENTRIES_MAX ? (uint32_t)o.immediate + 1 : 0;
        if (o.opcode != 0x63 || o.f3 < 6)
            continue;
        /* bltu M, I leaves when I > M; bgeu I, M, and bltu I, M to the table, when I >= M */
        if (is_index(s, i, o.rs2, t) && value_of(s, i, o.rs1, LOOK_BACK, &most))
            return most < JUMP_ENTRIES_MAX ? (uint32_t)most + 1 : 0;
        if (is_index(s, i, o.rs1, t) && value_of(s, i, o.rs2, LOOK_BACK, &most))
            return most <= JUMP_ENTRIES_MAX ? (uint32_t)most : 0;
    }
    return 0;
}

int jump_table_riscv64(const struct jump_scan *s, uint32_t jump, struct jump_targets *targets)
{
    struct table t = {0};
    int found = find_table(s, jump, &t);
    if (found != 1)
        return found;
    t.entries.n = bound(s, &t);
    return jump_follow(s, &t.entries, targets);
}
