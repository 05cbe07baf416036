/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One instruction over values of which any bit may be unknown. A bit of a result is known where the known
 * bits of its operands settle it. Sums and products are known from the lowest bit on as far as both are,
 * `and` also where one is a known 0. Pure. */
#include "analysis/interpret/operands.h"

#define CALLER_SAVED 0x0fc7 /* rax, rcx, rdx, rsi, rdi, r8 … r11: System V's psABI */
#define RSP 4
#define RBP 5

/* ---- flags ---- */

static void set_flag(struct path_state *s, uint64_t flag, int value)
{
    s->flags.mask = value < 0 ? s->flags.mask & ~flag : s->flags.mask | flag;
    s->flags.bits = value > 0 ? s->flags.bits | flag : s->flags.bits & ~flag;
}

static int bit_of(struct path_value v, unsigned bit)
{
    return !(v.mask >> bit & 1) ? -1 : (int)(v.bits >> bit & 1);
}

static void set_result(struct path_state *s, struct path_value v, unsigned bits)
{
    v = path_cut(v, bits);
    set_flag(s, FLAG_ZERO, v.bits ? 0 : path_is_known(v) ? 1 : -1);
    set_flag(s, FLAG_SIGN, bit_of(v, bits - 1));
    set_flag(s, FLAG_PARITY, (v.mask & 0xff) == 0xff ? !__builtin_parity((unsigned)v.bits & 0xff) : -1);
}

static void set_logic(struct path_state *s, struct path_value v, unsigned bits)
{
    set_result(s, v, bits);
    set_flag(s, FLAG_CARRY, 0);
    set_flag(s, FLAG_OVERFLOW, 0);
}

/* a < b, unsigned, by the least and the most that each may be. */
static int below(struct path_value a, struct path_value b)
{
    uint64_t a_most = a.bits | ~a.mask, b_most = b.bits | ~b.mask;
    return a_most < b.bits ? 1 : a.bits >= b_most ? 0 : -1;
}

static int overflows(struct path_value a, struct path_value b, struct path_value result, unsigned bits)
{
    int x = bit_of(a, bits - 1), y = bit_of(b, bits - 1), z = bit_of(result, bits - 1);
    return x < 0 || y < 0 || z < 0 ? -1 : x == y && x != z;
}

/* ---- arithmetic ---- */

/* Of a register with itself the result is known whatever it holds. */
static bool with_itself(const struct path_op *op)
{
    return op->dst.where == PATH_REGISTER && op->src.where == PATH_REGISTER && op->dst.reg == op->src.reg &&
           op->dst.shift == op->src.shift;
}

/* a + b + carry; subtraction adds the complement. */
static struct path_value sum(struct path_value a, struct path_value b, int carry)
{
    return carry < 0
               ? path_nothing
               : path_lowest(a.bits + b.bits + (uint64_t)carry, path_least(path_low_run(a), path_low_run(b)));
}

static void add(struct path_state *s, const struct path_op *op, int carry)
{
    unsigned bits = op->dst.bits;
    struct path_value a = path_read(s, op, &op->dst), b = path_read(s, op, &op->src);
    struct path_value v = path_cut(sum(a, b, carry), bits);
    int out = !path_is_known(a) || !path_is_known(b) || carry < 0
                  ? -1
                  : v.bits < a.bits || (carry && v.bits == a.bits);
    set_result(s, v, bits);
    set_flag(s, FLAG_CARRY, out);
    set_flag(s, FLAG_OVERFLOW, overflows(a, b, v, bits));
    path_write(s, op, &op->dst, v);
}

static void subtract(struct path_state *s, const struct path_op *op, int borrow, bool keep)
{
    unsigned bits = op->dst.bits;
    struct path_value a = path_read(s, op, &op->dst), b = path_read(s, op, &op->src);
    if (with_itself(op))
        a = b = path_cut(path_constant(0), bits);
    struct path_value complement = {~b.bits & b.mask, b.mask},
                      v = path_cut(sum(a, complement, borrow < 0 ? -1 : !borrow), bits);
    set_result(s, v, bits);
    if (borrow == 0 && (a.bits ^ b.bits) & a.mask & b.mask)
        set_flag(s, FLAG_ZERO, 0); /* some bit is known to differ */
    set_flag(s, FLAG_CARRY,
             borrow == 0                                            ? below(a, b)
             : borrow < 0 || !path_is_known(a) || !path_is_known(b) ? -1
                                                                    : a.bits <= b.bits);
    complement = path_cut(complement, bits);
    set_flag(s, FLAG_OVERFLOW, overflows(a, complement, v, bits));
    if (keep)
        path_write(s, op, &op->dst, v);
}

static void logic(struct path_state *s, const struct path_op *op)
{
    unsigned bits = op->dst.bits;
    struct path_value a = path_read(s, op, &op->dst), b = path_read(s, op, &op->src), v;
    uint64_t zeros_a = a.mask & ~a.bits, zeros_b = b.mask & ~b.bits;
    if (op->kind == PATH_OR)
        v = (struct path_value){a.bits | b.bits, a.bits | b.bits | (zeros_a & zeros_b)};
    else if (op->kind == PATH_XOR)
        v = (struct path_value){(a.bits ^ b.bits) & a.mask & b.mask, a.mask & b.mask};
    else
        v = (struct path_value){a.bits & b.bits, (a.bits & b.bits) | zeros_a | zeros_b};
    if (op->kind == PATH_XOR && with_itself(op))
        v = path_constant(0);
    set_logic(s, v, bits);
    if (op->kind != PATH_TEST)
        path_write(s, op, &op->dst, v);
}

static void step_by_one(struct path_state *s, const struct path_op *op, bool up)
{
    unsigned bits = op->dst.bits;
    struct path_value a = path_read(s, op, &op->dst);
    struct path_value v = path_cut(sum(a, path_constant(up ? 1 : ~UINT64_C(0)), 0), bits);
    uint64_t edge = UINT64_C(1) << (bits - 1);
    set_result(s, v, bits);
    set_flag(s, FLAG_OVERFLOW, path_is_known(v) ? v.bits == (up ? edge : edge - 1) : -1);
    path_write(s, op, &op->dst, v);
}

static void negate(struct path_state *s, const struct path_op *op)
{
    unsigned bits = op->dst.bits;
    struct path_value a = path_read(s, op, &op->dst);
    struct path_value v =
        path_cut(sum((struct path_value){~a.bits & a.mask, a.mask}, path_constant(0), 1), bits);
    set_result(s, v, bits);
    set_flag(s, FLAG_CARRY, a.bits ? 1 : path_is_known(a) ? 0 : -1);
    set_flag(s, FLAG_OVERFLOW, path_is_known(v) ? v.bits == UINT64_C(1) << (bits - 1) : -1);
    path_write(s, op, &op->dst, v);
}

static void shift(struct path_state *s, const struct path_op *op)
{
    unsigned bits = op->dst.bits;
    struct path_value a = path_read(s, op, &op->src2), by = path_read(s, op, &op->src), v;
    uint64_t within = bits == 64 ? 63 : 31;
    uint64_t count = by.bits & within;
    if ((by.mask & within) != within) {
        if (!op->keeps_flags)
            s->flags = path_nothing;
        /* to the right zeros stay zeros */
        bool right =
            op->kind == PATH_SHIFT_RIGHT || (op->kind == PATH_SHIFT_SIGNED && bit_of(a, bits - 1) == 0);
        uint64_t top = a.bits | ~a.mask;
        v = !right ? path_nothing
            : top  ? (struct path_value){0, ~path_ones(64 - (unsigned)__builtin_clzll(top))}
                   : path_constant(0);
        path_write(s, op, &op->dst, v);
        return;
    }
    if (op->kind == PATH_SHIFT_LEFT)
        v = (struct path_value){a.bits << count, a.mask << count | path_ones((unsigned)count)};
    else if (op->kind == PATH_SHIFT_RIGHT)
        v = (struct path_value){a.bits >> count, a.mask >> count | (count ? ~(~UINT64_C(0) >> count) : 0)};
    else {
        struct path_value wide = path_sign_extended(a, bits);
        v = (struct path_value){(uint64_t)((int64_t)wide.bits >> count),
                                (uint64_t)((int64_t)wide.mask >> count)};
        v.bits &= v.mask;
    }
    if (count && !op->keeps_flags) {
        unsigned out = op->kind == PATH_SHIFT_LEFT ? bits - (unsigned)count : (unsigned)count - 1;
        set_result(s, v, bits);
        set_flag(s, FLAG_CARRY, out < bits ? bit_of(a, out) : -1);
        set_flag(s, FLAG_OVERFLOW, -1);
    }
    path_write(s, op, &op->dst, v);
}

static void multiply(struct path_state *s, const struct path_op *op)
{
    struct path_value a = path_read(s, op, &op->src2), b = path_read(s, op, &op->src);
    s->flags.mask &= ~(uint64_t)FLAGS_ALL;
    s->flags.bits &= s->flags.mask;
    path_write(s, op, &op->dst, path_lowest(a.bits * b.bits, path_least(path_low_run(a), path_low_run(b))));
}

static void test_bit(struct path_state *s, const struct path_op *op)
{
    struct path_value by = path_read(s, op, &op->src);
    uint64_t within = op->dst.bits - 1U;
    bool known = op->dst.where == PATH_REGISTER && (by.mask & within) == within;
    set_flag(s, FLAG_CARRY, known ? bit_of(path_read(s, op, &op->dst), (unsigned)(by.bits & within)) : -1);
    set_flag(s, FLAG_SIGN | FLAG_PARITY | FLAG_OVERFLOW, -1);
}

static void count_trailing(struct path_state *s, const struct path_op *op)
{
    struct path_value a = path_read(s, op, &op->src);
    unsigned zeros = a.bits ? (unsigned)__builtin_ctzll(a.bits) : op->src.bits;
    bool found = (a.mask & path_ones(zeros)) == path_ones(zeros); /* nothing unknown below the first 1 */
    struct path_value v = found ? path_constant(zeros) : path_nothing;
    set_flag(s, FLAG_CARRY, a.bits ? 0 : path_is_known(a) ? 1 : -1);
    set_flag(s, FLAG_ZERO, path_is_known(v) ? v.bits == 0 : -1);
    set_flag(s, FLAG_SIGN | FLAG_PARITY | FLAG_OVERFLOW, -1);
    path_write(s, op, &op->dst, v);
}

static void swap_bytes(struct path_state *s, const struct path_op *op)
{
    struct path_value a = path_read(s, op, &op->dst);
    unsigned by = 64U - op->dst.bits;
    struct path_value v = {__builtin_bswap64(a.bits) >> by, __builtin_bswap64(a.mask) >> by};
    path_write(s, op, &op->dst, op->dst.bits >= 32 ? v : path_nothing);
}

/* ---- conditions ---- */

static int either(int a, int b)
{
    return a == 1 || b == 1 ? 1 : a == 0 && b == 0 ? 0 : -1;
}

int path_condition(struct path_value flags, unsigned condition)
{
    int carry = bit_of(flags, 0), parity = bit_of(flags, 2), zero = bit_of(flags, 6), sign = bit_of(flags, 7),
        overflow = bit_of(flags, 11), value;
    int less = sign < 0 || overflow < 0 ? -1 : sign != overflow;
    switch (condition >> 1) {
    case 0:
        value = overflow;
        break;
    case 1:
        value = carry;
        break;
    case 2:
        value = zero;
        break;
    case 3:
        value = either(carry, zero);
        break;
    case 4:
        value = sign;
        break;
    case 5:
        value = parity;
        break;
    case 6:
        value = less;
        break;
    default:
        value = either(zero, less);
    }
    return value < 0 ? -1 : value ^ (int)(condition & 1);
}

/* Where it isn't known which, what both agree in is. */
static struct path_value one_of(struct path_value a, struct path_value b)
{
    uint64_t mask = a.mask & b.mask & ~(a.bits ^ b.bits);
    return (struct path_value){a.bits & mask, mask};
}

static void move_if(struct path_state *s, const struct path_op *op)
{
    struct path_value old = path_read(s, op, &op->dst), new = path_read(s, op, &op->src);
    int yes = path_condition(s->flags, op->condition);
    path_write(s, op, &op->dst, yes < 0 ? one_of(old, new) : yes ? new : old);
}

/* ---- what is left ---- */

static void other(struct path_state *s, const struct path_op *op)
{
    if (op->spoils_stack)
        path_forget_stack(s);
    else if (op->memory.written)
        path_store(s, path_address_of(s, op), path_nothing, op->memory.bytes);
    for (unsigned i = 0; i < 16; i++)
        if (op->registers >> i & 1)
            s->reg[i] = path_nothing;
    s->flags.mask &= ~(uint64_t)op->flags;
    s->flags.bits &= s->flags.mask;
}

void path_step_over(struct path_state *s)
{
    for (unsigned i = 0; i < 16; i++)
        if (CALLER_SAVED >> i & 1)
            s->reg[i] = path_nothing;
    s->flags = path_nothing;
    path_forget_stack(s);
}

void path_execute(struct path_state *s, const struct path_op *op, uint64_t next)
{
    const struct path_operand rax = {.where = PATH_REGISTER, .bits = op->dst.bits},
                              rdx = {PATH_REGISTER, 2, 0, op->dst.bits};
    struct path_value v;
    switch (op->kind) {
    case PATH_MOVE:
        path_write(s, op, &op->dst, path_read(s, op, &op->src));
        break;
    case PATH_MOVE_SIGNED:
        path_write(s, op, &op->dst, path_sign_extended(path_read(s, op, &op->src), op->src.bits));
        break;
    case PATH_ADDRESS:
        path_write(s, op, &op->dst, path_address_of(s, op));
        break;
    case PATH_ADD:
        add(s, op, 0);
        break;
    case PATH_ADD_CARRY:
        add(s, op, bit_of(s->flags, 0));
        break;
    case PATH_SUBTRACT:
        subtract(s, op, 0, true);
        break;
    case PATH_SUBTRACT_BORROW:
        subtract(s, op, bit_of(s->flags, 0), true);
        break;
    case PATH_COMPARE:
        subtract(s, op, 0, false);
        break;
    case PATH_AND:
    case PATH_OR:
    case PATH_XOR:
    case PATH_TEST:
        logic(s, op);
        break;
    case PATH_NOT:
        v = path_read(s, op, &op->dst);
        path_write(s, op, &op->dst, (struct path_value){~v.bits & v.mask, v.mask});
        break;
    case PATH_NEGATE:
        negate(s, op);
        break;
    case PATH_INCREMENT:
        step_by_one(s, op, true);
        break;
    case PATH_DECREMENT:
        step_by_one(s, op, false);
        break;
    case PATH_SHIFT_LEFT:
    case PATH_SHIFT_RIGHT:
    case PATH_SHIFT_SIGNED:
        shift(s, op);
        break;
    case PATH_MULTIPLY:
        multiply(s, op);
        break;
    case PATH_BIT_TEST:
        test_bit(s, op);
        break;
    case PATH_SWAP:
        swap_bytes(s, op);
        break;
    case PATH_COUNT_TRAILING:
        count_trailing(s, op);
        break;
    case PATH_SET: {
        int yes = path_condition(s->flags, op->condition);
        path_write(s, op, &op->dst,
                   yes < 0 ? (struct path_value){0, ~UINT64_C(1)} : path_constant((uint64_t)yes));
        break;
    }
    case PATH_MOVE_IF:
        move_if(s, op);
        break;
    case PATH_WIDEN: /* the lower half of rax into all of it */
        v = s->reg[0];
        path_write(s, op, &rax, path_sign_extended(v, op->dst.bits / 2));
        break;
    case PATH_SIGN_INTO:
        v = path_sign_extended(s->reg[0], op->dst.bits);
        path_write(s, op, &rdx,
                   bit_of(v, 63) < 0 ? path_nothing : path_constant(bit_of(v, 63) ? ~UINT64_C(0) : 0));
        break;
    case PATH_PUSH:
        path_push(s, path_read(s, op, &op->src));
        break;
    case PATH_POP:
        v = path_pop(s);
        path_write(s, op, &op->dst, v);
        break;
    case PATH_LEAVE:
        s->reg[RSP] = s->reg[RBP];
        s->reg[RBP] = path_pop(s);
        break;
    case PATH_CALL:
        path_push(s, path_constant(next));
        break;
    case PATH_RETURN:
        (void)path_pop(s);
        s->reg[RSP] = path_lowest(s->reg[RSP].bits + (uint64_t)op->immediate, path_low_run(s->reg[RSP]));
        break;
    case PATH_OTHER:
        other(s, op);
        break;
    default: /* branches and jumps change nothing */
        break;
    }
}
