/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An interpreter of our own, because libdw gives the rule of one address and runs a description from its beginning for
 * each. That is quadratic in a description, which a hostile file makes as long as it likes. Here all rows of an image
 * come from one run of each description, and the runs have a bound. It takes a half to a third of libdw's time as well
 * (bench/chains-start). The library libdw still parses the records, and is what the tests compare with, row by row.
 *
 * Expressions aren't evaluated but recognised: those of a PLT, of a realigned stack, and of a signal's frame. */
#include "image/unwind/cfi_rows.h"

#include <dwarf.h>
#include <elf.h>

#define REMEMBERED_MOST 16
#define GNU_window_save 0x2d /* on AArch64: negate_ra_state */

static int slot_of(const struct cfi_runner *runner, uint64_t ra, uint64_t reg)
{
    bool arm = runner->machine == EM_AARCH64;
    if (reg == ra)
        return CFI_RA;
    if (reg == (arm ? 29 : 6))
        return CFI_FP;
    if (reg == (arm ? 31 : 7))
        return CFI_SP;
    return !arm && reg == 3 ? CFI_BX : -1;
}

static struct reader take_block(struct reader *r)
{
    uint64_t n = take_uleb(r);
    if (n > (uint64_t)(r->end - r->at))
        r->bad = true;
    struct reader block = {r->at, r->bad ? r->at : r->at + n, false};
    r->at = block.end;
    return block;
}

/* One of the terms that expressions are made of: breg `reg` + offset. */
static bool take_breg(struct reader *e, uint64_t *reg, int64_t *offset)
{
    uint64_t op = take(e, 1);
    *reg = op == DW_OP_bregx ? take_uleb(e) : op - DW_OP_breg0;
    *offset = take_sleb(e);
    return !e->bad && (op == DW_OP_bregx || (op >= DW_OP_breg0 && op <= DW_OP_breg31));
}

static bool take_number(struct reader *e, int64_t *number)
{
    uint64_t op = take(e, 1);
    if (op >= DW_OP_lit0 && op <= DW_OP_lit31)
        *number = (int64_t)(op - DW_OP_lit0);
    else if (op == DW_OP_const1u)
        *number = (int64_t)take(e, 1);
    else if (op == DW_OP_const1s)
        *number = (int64_t)(take(e, 1) ^ 0x80) - 0x80;
    else
        return false;
    return !e->bad;
}

static bool take_op(struct reader *e, uint8_t op)
{
    return take(e, 1) == op && !e->bad;
}

static bool at_end(const struct reader *e)
{
    return e->at == e->end && !e->bad;
}

/* `reg + offset` alone. */
static bool is_breg(struct reader e, uint64_t reg, int64_t *offset)
{
    uint64_t found;
    return take_breg(&e, &found, offset) && found == reg && at_end(&e);
}

/* sp + 8 + ((pc & 15) >= 11) * 8: of all entries of a PLT at once. */
static bool is_plt(struct reader e, struct cs_unwind_rule *rule)
{
    uint64_t sp, pc;
    int64_t offset, zero, mask, pushed, shift;
    if (!take_breg(&e, &sp, &offset) || !take_breg(&e, &pc, &zero) || !take_number(&e, &mask) ||
        !take_op(&e, DW_OP_and) || !take_number(&e, &pushed) || !take_op(&e, DW_OP_ge) ||
        !take_number(&e, &shift) || !take_op(&e, DW_OP_shl) || !take_op(&e, DW_OP_plus) || !at_end(&e))
        return false;
    rule->cfa = CS_UNWIND_PLT;
    rule->cfa_offset = (int32_t)offset;
    rule->second = (int16_t)pushed;
    return sp == 7 && pc == 16 && zero == 0 && mask == 15 && shift == 3 && offset == (int32_t)offset;
}

/* *(register + offset) + second */
static bool is_behind_pointer(struct reader e, uint64_t *reg, int64_t *offset, int64_t *second)
{
    *second = 0;
    if (!take_breg(&e, reg, offset) || !take_op(&e, DW_OP_deref))
        return false;
    if (at_end(&e))
        return true;
    if (e.at < e.end && *e.at == DW_OP_plus_uconst) {
        e.at++;
        *second = (int64_t)take_uleb(&e);
        return at_end(&e);
    }
    return take_number(&e, second) && take_op(&e, DW_OP_plus) && at_end(&e);
}

static bool fits16(int64_t offset)
{
    return offset == (int16_t)offset;
}

static bool is_signal(const struct cfi_state *s)
{
    uint64_t reg;
    int64_t sp, second, pc;
    return is_behind_pointer(s->cfa.expression, &reg, &sp, &second) && reg == 7 &&
           sp == CS_UNWIND_X86_SIGNAL_SP && second == 0 && s->saved[CFI_RA].how == CFI_EXPRESSION &&
           is_breg(s->saved[CFI_RA].expression, 7, &pc) && pc == CS_UNWIND_X86_SIGNAL_PC;
}

static bool cfa_rule(const struct cfi_runner *runner, const struct cfi_state *s, struct cs_unwind_rule *rule)
{
    bool arm = runner->machine == EM_AARCH64;
    uint64_t reg = s->cfa.reg, sp = arm ? 31 : 7, fp = arm ? 29 : 6;
    int64_t offset = s->cfa.offset, second;
    if (!s->cfa.expression.at) {
        if (offset != (int32_t)offset || reg > UINT8_MAX)
            return false;
        rule->cfa = reg == sp          ? CS_UNWIND_SP
                    : reg == fp        ? CS_UNWIND_FP
                    : reg == 3 && !arm ? CS_UNWIND_BX
                                       : CS_UNWIND_REGISTER;
        rule->cfa_reg = rule->cfa == CS_UNWIND_REGISTER ? (uint8_t)reg : 0;
        rule->cfa_offset = (int32_t)offset;
        return true;
    }
    if (!arm && is_plt(s->cfa.expression, rule))
        return true;
    if (!is_behind_pointer(s->cfa.expression, &reg, &offset, &second) || (reg != sp && reg != fp) ||
        offset != (int32_t)offset || !fits16(second))
        return false;
    rule->cfa = reg == sp ? CS_UNWIND_AT_SP : CS_UNWIND_AT_FP;
    rule->cfa_offset = (int32_t)offset;
    rule->second = (int16_t)second;
    return true;
}

/* What the state says, in the table's terms. */
static struct cs_unwind_rule rule_of(const struct cfi_runner *runner, const struct cfi_state *s,
                                     const struct cfi_common *common)
{
    static const struct cs_unwind_rule unsupported = {.cfa = CS_UNWIND_UNSUPPORTED},
                                       outermost = {.cfa = CS_UNWIND_OUTERMOST};
    struct cs_unwind_rule rule = {0};
    const struct cfi_saved *fp = &s->saved[CFI_FP], *bx = &s->saved[CFI_BX], *ra = &s->saved[CFI_RA];
    const bool arm = runner->machine == EM_AARCH64, signal = common->is_signal;
    int64_t at;
    if (signal && (arm || is_signal(s))) /* AArch64: the kernel's vDSO alone has such code */
        return (struct cs_unwind_rule){.cfa = CS_UNWIND_SIGNAL};
    if (ra->how == CFI_UNDEFINED)
        return outermost;
    if (s->saved[CFI_SP].how != CFI_SAME || signal || !cfa_rule(runner, s, &rule))
        return unsupported;

    if (ra->how == CFI_OFFSET && fits16(ra->offset))
        rule.ra = CS_UNWIND_SAVED;
    else if ((ra->how == CFI_SAME && common->return_register < 64) ||
             (ra->how == CFI_REGISTER && ra->offset >= 0 && ra->offset < 64))
        rule.ra = CS_UNWIND_KEPT;
    else
        return unsupported;
    rule.ra_at = (int16_t)(ra->how == CFI_SAME ? (int64_t)common->return_register : ra->offset);
    if (s->is_signed)
        rule.ra |= CS_UNWIND_SIGNED;

    if (fp->how == CFI_SAME) {
        rule.fp = CS_UNWIND_KEPT;
    } else if (fp->how == CFI_OFFSET && fits16(fp->offset)) {
        rule.fp = CS_UNWIND_SAVED;
        rule.fp_at = (int16_t)fp->offset;
    } else if (fp->how == CFI_EXPRESSION && is_breg(fp->expression, arm ? 29 : 6, &at) && fits16(at)) {
        rule.fp = CS_UNWIND_SAVED_AT_FP;
        rule.fp_at = (int16_t)at;
    } else {
        rule.fp = CS_UNWIND_LOST;
    }
    if (!arm && bx->how != CFI_SAME)
        rule.bx_at = bx->how == CFI_OFFSET && bx->offset && fits16(bx->offset) ? (int16_t)bx->offset
                                                                               : CS_UNWIND_BX_LOST;
    return rule;
}

/* Running. `rows` NULL: the common part's initial state. */
struct running {
    struct cfi_runner *runner;
    const struct cfi_common *common;
    struct cfi_state state, remembered[REMEMBERED_MOST];
    unsigned n_remembered;
    uint64_t address;
    bool told; /* the state was told since it changed */
    void (*row)(uint64_t address, const struct cs_unwind_rule *rule, void *arg);
    void *arg;
};

static void advance(struct running *run, uint64_t to)
{
    if (to > run->address && !run->told && run->row) {
        struct cs_unwind_rule rule = rule_of(run->runner, &run->state, run->common);
        run->row(run->address, &rule, run->arg);
        run->told = true;
    }
    if (to > run->address)
        run->address = to;
}

static void set(struct running *run, uint64_t reg, enum cfi_how how, int64_t offset, struct reader expression)
{
    int slot = slot_of(run->runner, run->common->return_register, reg);
    if (slot < 0)
        return;
    run->state.saved[slot] = (struct cfi_saved){how, offset, expression};
    run->told = false;
}

static void restore(struct running *run, uint64_t reg)
{
    int slot = slot_of(run->runner, run->common->return_register, reg);
    if (slot < 0)
        return;
    run->state.saved[slot] = run->runner->initial.saved[slot];
    run->told = false;
}

static void cfa(struct running *run, uint64_t reg, int64_t offset)
{
    run->state.cfa = (struct cfi_cfa){reg, offset, {0}};
    run->told = false;
}

static int64_t factored(const struct running *run, int64_t n)
{
    int64_t product;
    return __builtin_mul_overflow(n, run->common->data_factor, &product) ? INT64_MIN : product;
}

/* Those of the second kind, in order of their numbers; false: not known, or damaged. */
static bool other_instruction(struct running *run, uint8_t op, struct reader *r)
{
    static const struct reader none = {0};
    struct cfi_state *s = &run->state;
    uint64_t reg, step = run->common->code_factor;
    switch (op) {
    case DW_CFA_nop:
        return true;
    case DW_CFA_set_loc: {
        const struct cfi_section *section = run->runner->section;
        advance(run, cs_image_cfi_address(r, run->common->encoding,
                                          section->address + (uint64_t)(r->at - section->bytes)));
        return !r->bad;
    }
    case DW_CFA_advance_loc1:
        advance(run, run->address + take(r, 1) * step);
        return !r->bad;
    case DW_CFA_advance_loc2:
        advance(run, run->address + take(r, 2) * step);
        return !r->bad;
    case DW_CFA_advance_loc4:
        advance(run, run->address + take(r, 4) * step);
        return !r->bad;
    case DW_CFA_offset_extended:
        reg = take_uleb(r);
        set(run, reg, CFI_OFFSET, factored(run, (int64_t)take_uleb(r)), none);
        return !r->bad;
    case DW_CFA_offset_extended_sf:
        reg = take_uleb(r);
        set(run, reg, CFI_OFFSET, factored(run, take_sleb(r)), none);
        return !r->bad;
    case DW_CFA_GNU_negative_offset_extended:
        reg = take_uleb(r);
        set(run, reg, CFI_OFFSET, factored(run, -(int64_t)take_uleb(r)), none);
        return !r->bad;
    case DW_CFA_restore_extended:
        restore(run, take_uleb(r));
        return !r->bad;
    case DW_CFA_undefined:
        set(run, take_uleb(r), CFI_UNDEFINED, 0, none);
        return !r->bad;
    case DW_CFA_same_value:
        set(run, take_uleb(r), CFI_SAME, 0, none);
        return !r->bad;
    case DW_CFA_register:
        reg = take_uleb(r);
        set(run, reg, CFI_REGISTER, (int64_t)take_uleb(r), none);
        return !r->bad;
    case DW_CFA_remember_state:
        if (run->n_remembered == REMEMBERED_MOST)
            return false;
        run->remembered[run->n_remembered++] = *s;
        return true;
    case DW_CFA_restore_state:
        if (run->n_remembered == 0)
            return false;
        *s = run->remembered[--run->n_remembered];
        run->told = false;
        return true;
    case DW_CFA_def_cfa:
        reg = take_uleb(r);
        cfa(run, reg, (int64_t)take_uleb(r));
        return !r->bad;
    case DW_CFA_def_cfa_sf:
        reg = take_uleb(r);
        cfa(run, reg, factored(run, take_sleb(r)));
        return !r->bad;
    case DW_CFA_def_cfa_register:
        cfa(run, take_uleb(r), s->cfa.offset);
        return !r->bad;
    case DW_CFA_def_cfa_offset:
        cfa(run, s->cfa.reg, (int64_t)take_uleb(r));
        return !r->bad;
    case DW_CFA_def_cfa_offset_sf:
        cfa(run, s->cfa.reg, factored(run, take_sleb(r)));
        return !r->bad;
    case DW_CFA_def_cfa_expression:
        s->cfa.expression = take_block(r);
        run->told = false;
        return !r->bad;
    case DW_CFA_expression:
        reg = take_uleb(r);
        set(run, reg, CFI_EXPRESSION, 0, take_block(r));
        return !r->bad;
    case DW_CFA_val_expression:
        reg = take_uleb(r);
        set(run, reg, CFI_OTHER, 0, take_block(r));
        return !r->bad;
    case DW_CFA_val_offset:
    case DW_CFA_val_offset_sf: {
        reg = take_uleb(r);
        int64_t offset = op == DW_CFA_val_offset ? (int64_t)take_uleb(r) : take_sleb(r);
        bool is_sp = slot_of(run->runner, run->common->return_register, reg) == CFI_SP;
        set(run, reg, is_sp && offset == 0 ? CFI_SAME : CFI_OTHER, 0,
            none); /* the caller's SP is the CFA anyway */
        return !r->bad;
    }
    case DW_CFA_GNU_args_size:
        take_uleb(r);
        return !r->bad;
    case GNU_window_save:
        s->is_signed = run->runner->machine == EM_AARCH64 && !s->is_signed;
        run->told = false;
        return true;
    default:
        return false;
    }
}

static bool instructions(struct running *run, struct reader r)
{
    static const struct reader none = {0};
    while (r.at < r.end) {
        if (run->runner->work_left == 0)
            return false;
        run->runner->work_left--;
        uint8_t op = *r.at++, low = op & 0x3f;
        switch (op & 0xc0) {
        case DW_CFA_advance_loc:
            advance(run, run->address + low * run->common->code_factor);
            break;
        case DW_CFA_offset:
            set(run, low, CFI_OFFSET, factored(run, (int64_t)take_uleb(&r)), none);
            break;
        case DW_CFA_restore:
            restore(run, low);
            break;
        default:
            if (!other_instruction(run, op, &r))
                return false;
        }
        if (r.bad)
            return false;
    }
    return true;
}

void cs_cfi_rows(struct cfi_runner *runner, const struct cfi_description *description,
                 void (*row)(uint64_t address, const struct cs_unwind_rule *rule, void *arg), void *arg)
{
    static const struct cs_unwind_rule unsupported = {.cfa = CS_UNWIND_UNSUPPORTED};
    struct running run;
    run.runner = runner;
    run.common = description->common;
    run.n_remembered = 0;
    run.address = description->start;
    run.told = false;
    run.row = NULL;
    run.arg = arg;
    if (runner->initial_of != description->common->place) {
        /* the callee-saved registers are kept unless something else is said; x86-64's return address is always said */
        runner->initial = (struct cfi_state){0};
        runner->initial.saved[CFI_RA].how = runner->machine == EM_AARCH64 ? CFI_SAME : CFI_UNDEFINED;
        runner->initial_of = UINT64_MAX;
        run.state = runner->initial;
        if (!instructions(&run, description->common->initial)) {
            row(description->start, &unsupported, arg);
            return;
        }
        runner->initial = run.state;
        runner->initial_of = description->common->place;
        run.n_remembered = 0;
        run.address = description->start;
    }
    run.state = runner->initial;
    run.told = false;
    run.row = row;
    if (!instructions(&run, description->instructions))
        row(run.address, &unsupported, arg);
    else
        advance(&run, UINT64_MAX);
}
