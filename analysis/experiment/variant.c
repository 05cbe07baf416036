/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/experiment/variant.h"

#include <assert.h>
#include <string.h>

enum { REGISTERS = 48, VECTOR = 16, LONGEST_INSERTED = 6, LINE = 64 };
#define CARRIED 2 /* cycles of a chain from turn to turn: a counter has one */

static size_t legacy_prefixes(const struct cs_isa_op *op)
{
    static const uint8_t prefixes[] = {0x66, 0xf2, 0xf3, 0xf0, 0x2e, 0x36, 0x3e, 0x26, 0x64, 0x65};
    size_t at = 0;
    while (at + 1 < op->length && memchr(prefixes, op->bytes[at], sizeof prefixes))
        at++;
    return at;
}

/* Where the opcode stands, behind prefixes and what says which map it is of. */
static size_t opcode_at(const struct cs_isa_op *op, bool *two_bytes)
{
    size_t at = legacy_prefixes(op);
    const uint8_t first = op->bytes[at];
    *two_bytes = true;
    if (first == 0xc5 || first == 0xc4 || first == 0x62)
        return at + (first == 0xc5 ? 2 : first == 0xc4 ? 3 : 4);
    at += first >> 4 == 4; /* REX */
    *two_bytes = at < op->length && op->bytes[at] == 0x0f;
    return at + *two_bytes;
}

static void decode_again(struct cs_isa_op *op, size_t length)
{
    const struct cs_isa_op old = *op;
    cs_isa_op_decode(CS_ISA_X86_64, old.bytes, length, old.offset, op);
}

static bool is_packed(const struct cs_isa_op *op, size_t opcode)
{
    switch (op->bytes[0]) {
    case 0xc5:
    case 0xc4:
    case 0x62:
        return !(op->bytes[opcode - 1 - (op->bytes[0] == 0x62)] & 2);
    default:
        return !memchr(op->bytes, 0xf2, opcode) && !memchr(op->bytes, 0xf3, opcode);
    }
}

/* mov %eax, %edx; imul OPERAND, %rax: small numbers have such a remainder, so an index made of it goes about. */
static size_t replace_integer_division(const struct cs_isa_op *op, size_t opcode, struct cs_isa_op *out)
{
    static const uint8_t mov[] = {0x89, 0xc2};
    uint8_t bytes[16] = {0};
    memcpy(bytes, op->bytes, opcode);
    if (opcode && bytes[opcode - 1] >> 4 == 4)
        bytes[opcode - 1] &= 0xfb;
    bytes[opcode] = 0x0f;
    bytes[opcode + 1] = 0xaf;
    memcpy(bytes + opcode + 2, op->bytes + opcode + 1, op->length - opcode - 1);
    bytes[opcode + 2] &= 0xc7;
    cs_isa_op_decode(CS_ISA_X86_64, mov, sizeof mov, op->offset, &out[0]);
    /* Where it ends is the same: an operand may be relative to that. */
    cs_isa_op_decode(CS_ISA_X86_64, bytes, op->length + 1u, op->offset - 1, &out[1]);
    return out[1].length == op->length + 1u ? 2 : 0;
}

static size_t replace_division(const struct cs_isa_op *op, struct cs_isa_op *out)
{
    bool two_bytes;
    const size_t at = opcode_at(op, &two_bytes), length = op->length;
    if (at + 1 >= length)
        return 0;
    if (op->flags & CS_ISA_OP_FDIVIDE && two_bytes && op->bytes[at] == 0x5e)
        out->bytes[at] = 0x59; /* mul */
    else if (op->flags & CS_ISA_OP_FDIVIDE && two_bytes && op->bytes[at] == 0x51)
        /* Of one number the rest of the register stays, as a square root leaves it. */
        out->bytes[at] = is_packed(op, at) ? 0x10 : 0x59;
    else if (op->flags & CS_ISA_OP_DIVIDE && !two_bytes && op->bytes[at] == 0xf7 &&
             length < sizeof op->bytes && op->offset)
        return replace_integer_division(op, at, out);
    else if (op->flags & CS_ISA_OP_DIVIDE && !two_bytes && op->bytes[at] == 0xf6)
        out->bytes[at + 1] ^= 2 << 3; /* /6 and /7: div, idiv; /4 and /5: mul, imul */
    else
        return 0;
    decode_again(out, length);
    return out->length == length;
}

/* A prefix that does nothing in its place: all stays where it was. */
static size_t replace_lock(const struct cs_isa_op *op, struct cs_isa_op *out)
{
    const uint8_t *lock = memchr(op->bytes, 0xf0, legacy_prefixes(op));
    bool two_bytes;
    const size_t at = opcode_at(op, &two_bytes);
    out[0] = *op;
    if (lock) {
        out->bytes[lock - op->bytes] = 0x3e; /* ds: */
        decode_again(out, op->length);
        return out->length == op->length;
    }
    if (two_bytes || at + 1 >= op->length || op->bytes[at] >> 1 != 0x86 >> 1)
        return 0;
    out[0].bytes[at] ^= 0x88 ^ 0x86; /* xchg: mov to memory, and from there */
    decode_again(&out[0], op->length);
    out[1] = *op;
    out[1].bytes[at] ^= 0x8a ^ 0x86;
    decode_again(&out[1], op->length);
    return 2;
}

/* Opcodes of three bytes: crc32, aesenc and others that nothing else tells apart. */
static bool is_third_map(const struct cs_isa_op *op)
{
    bool two_bytes;
    const size_t at = opcode_at(op, &two_bytes);
    return two_bytes && op->bytes[at - 1] == 0x0f && (op->bytes[at] | 2) == 0x3a;
}

static unsigned latency(const struct cs_isa_op *op)
{
    return op->flags & CS_ISA_OP_FDIVIDE                                                       ? 13
           : op->flags & CS_ISA_OP_DIVIDE                                                      ? 10
           : op->flags & CS_ISA_OP_MULTIPLY || op->flags & CS_ISA_OP_FLOAT || is_third_map(op) ? 3
                                                                                               : 1;
}

/* Registers of which a turn hands on to the next one what it made of them, through more than a cycle. */
static uint64_t carried(const struct cs_isa_op *ops, size_t n)
{
    int16_t since[REGISTERS + 1][REGISTERS + 1]; /* [r][s]: from r at the head to s now; -1: none */
    uint64_t found = 0;
    memset(since, -1, sizeof since);
    for (int r = 0; r <= REGISTERS; r++)
        since[r][r] = 0;
    for (size_t i = 0; i < n; i++) {
        const bool loads = ops[i].flags & CS_ISA_OP_LOAD;
        for (int r = 0; r <= REGISTERS; r++) {
            int longest = -1;
            for (int s = 0; s <= REGISTERS; s++) {
                const unsigned from_memory = loads && ops[i].address_reads >> s & 1 ? 4 : 0;
                const int path = since[r][s] + (int)(latency(&ops[i]) + from_memory);
                if (ops[i].reads >> s & 1 && since[r][s] >= 0 && path > longest)
                    longest = path;
            }
            for (int s = 0; s <= REGISTERS; s++)
                if (ops[i].writes >> s & 1)
                    since[r][s] = (int16_t)longest;
        }
    }
    for (int r = 0; r < REGISTERS; r++)
        if (since[r][r] >= CARRIED)
            found |= UINT64_C(1) << r;
    return found & ~CS_ISA_OP_REG_RSP;
}

/* mov $VALUE, %r32, or movaps from a register that the loop doesn't write. 0: there is no such instruction here. */
static size_t load_constant(const struct piece *piece, int reg, int from, bool vex, uint8_t *bytes)
{
    size_t n = 0;
    if (reg < VECTOR) {
        const uint32_t value = (uint32_t)piece_register(piece, reg);
        if (reg > 7)
            bytes[n++] = 0x41;
        bytes[n++] = (uint8_t)(0xb8 | (reg & 7));
        memcpy(bytes + n, &value, sizeof value);
        return n + sizeof value;
    }
    const uint8_t to = (uint8_t)(reg - VECTOR), of = (uint8_t)(from - VECTOR);
    if (to > 15 || from < VECTOR)
        return 0;
    const uint8_t operands = (uint8_t)(0xc0 | (to & 7) << 3 | (of & 7));
    const uint8_t legacy[] = {(uint8_t)(0x40 | (to > 7) << 2 | (of > 7)), 0x0f, 0x28, operands},
                  wide[] = {0xc4, (uint8_t)((to > 7 ? 0 : 0x80) | 0x40 | (of > 7 ? 0 : 0x20) | 1), 0x7c, 0x28,
                            operands};
    memcpy(bytes, vex ? wide : legacy, vex ? sizeof wide : sizeof legacy);
    return vex ? sizeof wide : sizeof legacy;
}

static size_t break_chains(const struct cs_isa_op *ops, size_t n, const struct piece *piece,
                           struct cs_isa_op *out, bool *there)
{
    uint64_t written = 0, chains = carried(ops, n);
    bool vex = false;
    int from = 0;
    size_t made = 0;
    for (size_t i = 0; i < n; i++) {
        written |= ops[i].writes;
        vex |= ops[i].bytes[0] == 0xc5 || ops[i].bytes[0] == 0xc4 || ops[i].bytes[0] == 0x62;
    }
    for (int r = VECTOR; r < VECTOR + 16; r++)
        from = written >> r & 1 ? from : r;
    *there = chains;
    const size_t all = (size_t)__builtin_popcountll(chains);
    if (!all || all + n > PIECE_OPS_MAX || ops[0].offset < all * LONGEST_INSERTED)
        return 0;
    uint64_t at = ops[0].offset;
    for (; chains; chains &= chains - 1, made++) {
        uint8_t bytes[15] = {0};
        const size_t length = load_constant(piece, __builtin_ctzll(chains), from, vex, bytes);
        if (!length)
            return 0;
        at -= length;
        cs_isa_op_decode(CS_ISA_X86_64, bytes, length, at, &out[all - 1 - made]);
    }
    memcpy(out + made, ops, n * sizeof *ops);
    return made + n;
}

/* Bytes of the operand in memory: ModRM, and what belongs to it. 0: it isn't one. */
static size_t operand_bytes(const uint8_t *modrm)
{
    const unsigned mod = *modrm >> 6, rm = *modrm & 7;
    const bool sib = rm == 4, absolute = !mod && (rm == 5 || (sib && (modrm[1] & 7) == 5));
    return mod == 3 ? 0 : 1u + sib + (mod == 1 ? 1u : mod == 2 || absolute ? 4u : 0u);
}

/* The operand becomes STACK_AWAY(%rsp). */
static bool load_elsewhere(struct cs_isa_op *op)
{
    enum { STACK_AWAY = 0x600, NEW_BYTES = 6 };
    bool two_bytes;
    const struct cs_isa_op old = *op;
    const size_t prefixes = legacy_prefixes(op), opcode = opcode_at(op, &two_bytes);
    const uint8_t first = old.bytes[prefixes];
    const size_t at = opcode + 1 + is_third_map(op),
                 n = at + 1 < op->length ? operand_bytes(old.bytes + at) : 0;
    if (!n || at + n > op->length || op->length - n + NEW_BYTES > sizeof op->bytes)
        return false;
    if (first == 0xc4 || first == 0x62)
        op->bytes[prefixes + 1] |= 0x60; /* neither %r12 nor an index */
    else if (first >> 4 == 4)
        op->bytes[prefixes] &= 0xfc;
    op->bytes[at] = (uint8_t)((old.bytes[at] & 0x38) | 0x84);
    op->bytes[at + 1] = 0x24;
    memcpy(op->bytes + at + 2, &(const int32_t){STACK_AWAY}, sizeof(int32_t));
    memcpy(op->bytes + at + NEW_BYTES, old.bytes + at + n, op->length - at - n);
    decode_again(op, op->length - n + NEW_BYTES);
    return op->length == old.length - n + NEW_BYTES && op->writes == old.writes &&
           op->access_bytes == old.access_bytes;
}

/* Within a line of each other, as far as their registers tell. */
static bool same_place(const struct cs_isa_memory *a, const struct cs_isa_memory *b)
{
    const int64_t apart = a->displacement - b->displacement;
    return a->base == b->base && a->index == b->index && a->scale == b->scale && apart < 64 && apart > -64;
}

/* Does the turn store where this one loads? */
static bool is_stored(const struct cs_isa_op *op, const struct cs_isa_op *ops, size_t n)
{
    struct cs_isa_insn load, store;
    if (!(op->flags & CS_ISA_OP_LOAD))
        return false;
    cs_isa_decode(CS_ISA_X86_64, op->bytes, op->length, op->offset, &load);
    for (size_t i = 0; i < n; i++) {
        if (!(ops[i].flags & CS_ISA_OP_STORE))
            continue;
        cs_isa_decode(CS_ISA_X86_64, ops[i].bytes, ops[i].length, ops[i].offset, &store);
        for (unsigned a = 0; a < store.n_memory; a++)
            for (unsigned b = 0; b < load.n_memory; b++)
                if (store.memory[a].writes && load.memory[b].reads &&
                    same_place(&store.memory[a], &load.memory[b]))
                    return true;
    }
    return false;
}

bool cs_experiments_forwards(const struct cs_isa_op *ops, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (is_stored(&ops[i], ops, n))
            return true;
    return false;
}

static bool is_removed(enum cs_experiment_variant what, const struct cs_isa_op *op,
                       const struct cs_isa_op *ops, size_t n)
{
    return what == CS_EXPERIMENT_NO_LOCK       ? op->flags & CS_ISA_OP_LOCK
           : what == CS_EXPERIMENT_NO_DIVISION ? op->flags & (CS_ISA_OP_DIVIDE | CS_ISA_OP_FDIVIDE)
                                               : is_stored(op, ops, n);
}

/* What stands for it in `out`, which has room for two; 0: nothing can. */
static size_t replace(enum cs_experiment_variant what, const struct cs_isa_op *op, struct cs_isa_op *out)
{
    *out = *op;
    return what == CS_EXPERIMENT_NO_LOCK       ? replace_lock(op, out)
           : what == CS_EXPERIMENT_NO_DIVISION ? replace_division(op, out)
                                               : !(op->flags & CS_ISA_OP_STORE) && load_elsewhere(out);
}

size_t variant_make(enum cs_experiment_variant what, const struct cs_isa_op *ops, size_t n,
                    const struct piece *piece, struct cs_isa_op *out, bool *there)
{
    struct cs_isa_op turn[PIECE_OPS_MAX];
    const size_t first = piece_beginning(ops, n);
    size_t made = 0;
    assert(n && n <= PIECE_OPS_MAX);
    *there = false;
    for (size_t i = 0; i < n; i++) {
        const struct cs_isa_op *op = &ops[(first + i) % n];
        cs_isa_op_decode(CS_ISA_X86_64, op->bytes, op->length, op->offset, &turn[i]);
    }
    if (what == CS_EXPERIMENT_NO_CHAIN)
        return break_chains(turn, n, piece, out, there);
    for (size_t i = 0; i < n; i++) {
        const bool is = is_removed(what, &turn[i], turn, n);
        *there |= is;
        if (made + 2 > PIECE_OPS_MAX)
            return 0;
        out[made] = turn[i];
        const size_t more = is ? replace(what, &turn[i], &out[made]) : 1;
        if (!more)
            return 0; /* a part of them would say less than nothing */
        made += more;
    }
    return *there ? made : 0;
}

enum cs_experiment_why variant_align(const struct cs_isa_op *ops, size_t n, struct piece *piece)
{
    const uint64_t off = (piece->first + piece->head) % LINE;
    struct cs_isa_insn insn;
    for (size_t i = 0; i < n; i++) {
        cs_isa_decode(CS_ISA_X86_64, ops[i].bytes, ops[i].length, ops[i].offset, &insn);
        for (unsigned m = 0; m < insn.n_memory; m++)
            if (insn.memory[m].pc_relative)
                return CS_EXPERIMENT_FIXED;
    }
    piece->first += off ? LINE - off : 0;
    return off ? CS_EXPERIMENT_DONE : CS_EXPERIMENT_ABSENT;
}
