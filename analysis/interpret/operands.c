/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads and writes operands. A load from what may change is unknown; so is one of which an address bit is. */
#include "analysis/interpret/operands.h"

#include <string.h>

#define RSP 4

/* ---- memory ---- */

struct path_value path_address_of(const struct path_state *s, const struct path_op *op)
{
    if (!op->memory.known)
        return path_nothing;
    uint64_t sum = (uint64_t)op->memory.displacement + (op->memory.relative ? s->delta : 0);
    unsigned run = 64;
    if (op->memory.base != CS_ISA_REG_NONE) {
        sum += s->reg[op->memory.base].bits;
        run = path_low_run(s->reg[op->memory.base]);
    }
    if (op->memory.index != CS_ISA_REG_NONE) {
        sum += s->reg[op->memory.index].bits * op->memory.scale;
        run = path_least(run, path_low_run(s->reg[op->memory.index]));
    }
    return path_lowest(sum, run);
}

struct path_value path_load(const struct path_state *s, struct path_value address, unsigned bits)
{
    unsigned bytes = bits / 8;
    if (!path_is_known(address))
        return path_cut(path_nothing, bits);
    uint64_t at = address.bits - s->stack_low;
    if (at < PATH_STACK && at + bytes <= PATH_STACK) {
        struct path_value v = path_cut(path_nothing, bits);
        for (unsigned i = 0; i < bytes; i++)
            if (s->is_known[at + i]) {
                v.bits |= (uint64_t)s->byte[at + i] << 8 * i;
                v.mask |= UINT64_C(0xff) << 8 * i;
            }
        return v;
    }
    uint64_t value = 0;
    return s->code && cs_image_constant_at(s->code, address.bits - s->delta, bytes, s->delta, &value)
               ? path_constant(value)
               : path_cut(path_nothing, bits);
}

void path_store(struct path_state *s, struct path_value address, struct path_value v, unsigned bytes)
{
    if (!path_is_known(address))
        return;
    uint64_t at = address.bits - s->stack_low;
    for (unsigned i = 0; i < bytes; i++, at++)
        if (at < PATH_STACK) {
            s->is_known[at] = i < 8 && (v.mask >> 8 * i & 0xff) == 0xff;
            s->byte[at] = (uint8_t)(i < 8 ? v.bits >> 8 * i : 0);
        }
}

void path_forget_stack(struct path_state *s)
{
    memset(s->is_known, 0, sizeof s->is_known);
}

/* ---- operands ---- */

struct path_value path_read(const struct path_state *s, const struct path_op *op,
                            const struct path_operand *o)
{
    if (o->where == PATH_IMMEDIATE) /* shorter ones are sign-extended */
        return path_cut(path_constant((uint64_t)op->immediate), op->dst.bits ? op->dst.bits : 64);
    if (o->where == PATH_MEMORY)
        return path_load(s, path_address_of(s, op), o->bits);
    struct path_value v = s->reg[o->reg];
    return path_cut((struct path_value){v.bits >> o->shift, v.mask >> o->shift}, o->bits);
}

void path_write(struct path_state *s, const struct path_op *op, const struct path_operand *o,
                struct path_value v)
{
    v = path_cut(v, o->bits);
    if (o->where == PATH_MEMORY) {
        path_store(s, path_address_of(s, op), v, o->bits / 8);
    } else if (o->bits >= 32) { /* the upper half becomes 0 */
        s->reg[o->reg] = v;
    } else {
        struct path_value *reg = &s->reg[o->reg];
        uint64_t part = path_ones(o->bits) << o->shift;
        reg->bits = (reg->bits & ~part) | (v.bits << o->shift & part);
        reg->mask = (reg->mask & ~part) | (v.mask << o->shift & part);
    }
}

void path_push(struct path_state *s, struct path_value v)
{
    struct path_value *rsp = &s->reg[RSP];
    *rsp = path_lowest(rsp->bits - 8, path_low_run(*rsp));
    path_store(s, *rsp, v, 8);
}

struct path_value path_pop(struct path_state *s)
{
    struct path_value *rsp = &s->reg[RSP], v = path_load(s, *rsp, 64);
    *rsp = path_lowest(rsp->bits + 8, path_low_run(*rsp));
    return v;
}
