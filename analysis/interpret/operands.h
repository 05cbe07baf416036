/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where an instruction's operands lie: registers, the stack that was noted, constant memory; and the arithmetic of
 * values of which some bits are known. Internal to this module. */
#pragma once

#include "analysis/interpret/abstract_run_internal.h"

#define path_nothing ((struct path_value){0, 0})

static inline uint64_t path_ones(unsigned bits)
{
    return bits >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << bits) - 1;
}

static inline struct path_value path_constant(uint64_t bits)
{
    return (struct path_value){bits, ~UINT64_C(0)};
}

static inline struct path_value path_cut(struct path_value v, unsigned bits)
{
    return (struct path_value){v.bits & path_ones(bits), v.mask | ~path_ones(bits)};
}

static inline bool path_is_known(struct path_value v)
{
    return v.mask == ~UINT64_C(0);
}

/* So many low bits are known. */
static inline unsigned path_low_run(struct path_value v)
{
    return path_is_known(v) ? 64 : (unsigned)__builtin_ctzll(~v.mask);
}

static inline unsigned path_least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static inline struct path_value path_lowest(uint64_t bits, unsigned run)
{
    return (struct path_value){bits & path_ones(run), path_ones(run)};
}

static inline struct path_value path_sign_extended(struct path_value v, unsigned bits)
{
    uint64_t sign = UINT64_C(1) << (bits - 1), above = ~path_ones(bits);
    v = path_cut(v, bits);
    if (!(v.mask & sign))
        v.mask &= ~above;
    else if (v.bits & sign)
        v.bits |= above;
    return v;
}

struct path_value path_address_of(const struct path_state *s, const struct path_op *op);
void path_store(struct path_state *s, struct path_value address, struct path_value v, unsigned bytes);
void path_write(struct path_state *s, const struct path_op *op, const struct path_operand *o,
                struct path_value v);
void path_forget_stack(struct path_state *s);
void path_push(struct path_state *s, struct path_value v);
struct path_value path_pop(struct path_state *s);
