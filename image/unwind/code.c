/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/unwind/code.h"
#include "image/isa/decode.h"
#include "store/base/array.h"

#include <assert.h>

#define BYTES_MAX ((size_t)8 << 20) /* of one piece */
#define SP 4
#define FP 5
#define BX 3

enum known { NOTHING, STACK, FRAME, OUTERMOST }; /* CFA = SP + cfa, FP + cfa; no caller */

struct state {
    uint8_t known;
    uint8_t fp; /* enum cs_unwind_saved, of the frame pointer */
    int16_t fp_at, bx_at;
    int32_t cfa;
};

struct pending {
    uint32_t at;
    struct state state;
};

struct callee { /* what is seen behind calls to it: does it return? */
    uint64_t target;
    uint32_t sites, ends;
};
#define CALLEES_MAX 4096  /* by hash, power of two */
#define CFA_MAX (1 << 28) /* no stack is deeper: what says so is no code */

struct code {
    const uint8_t *bytes;
    size_t n;
    uint64_t from;
    uint32_t *state_at; /* of each byte: 1 + a number in `states`, 0: no instruction known to begin here */
    uint8_t *length, *called;
    struct callee *callees; /* n_callees of them, a power of two */
    size_t n_callees;
    CS_ARRAY(struct state) states;
    CS_ARRAY(struct pending) pending;
};

static const struct state entered = {.known = STACK, .cfa = 8};

static bool starts(const uint8_t *b, size_t n, const char *with, size_t n_with)
{
    return n >= n_with && memcmp(b, with, n_with) == 0;
}
#define STARTS(with) starts(b, n, with, sizeof(with) - 1)

static int32_t number32(const uint8_t *b)
{
    int32_t value;
    memcpy(&value, b, 4);
    return value;
}

/* SP moves down by so much. */
static void down(struct state *s, int64_t by)
{
    int64_t to = s->cfa + by;
    if (to < -CFA_MAX || to > CFA_MAX)
        s->known = NOTHING;
    else
        s->cfa = (int32_t)to;
}

static void pushed(struct state *s, int reg)
{
    if (s->known == STACK)
        down(s, 8);
    int at = -s->cfa;
    if (s->known != STACK || at < INT16_MIN)
        return;
    if (reg == FP && s->fp == CS_UNWIND_KEPT) {
        s->fp = CS_UNWIND_SAVED;
        s->fp_at = (int16_t)at;
    } else if (reg == BX && !s->bx_at) {
        s->bx_at = (int16_t)at;
    }
}

static void popped(struct state *s, int reg)
{
    int at = -s->cfa;
    if (reg == FP && s->fp == CS_UNWIND_SAVED && (s->known == FRAME || at == s->fp_at)) {
        s->fp = CS_UNWIND_KEPT;
        if (s->known == FRAME)
            s->known = NOTHING;
    } else if (reg == BX && at == s->bx_at && s->known == STACK) {
        s->bx_at = 0;
    }
    if (s->known == STACK)
        down(s, -8);
}

/* An instruction that changes SP, FP or BX, as compilers write them. */
static void changed(struct state *s, const struct cs_isa_insn *insn, const uint8_t *b, size_t n)
{
    bool rex_b = n > 1 && b[0] == 0x41;
    uint8_t op = b[rex_b];
    bool clears_fp = STARTS("\x31\xed") || STARTS("\x48\x31\xed");
    if (op >= 0x50 && op <= 0x57) {
        pushed(s, rex_b ? 8 : op - 0x50);
    } else if (op >= 0x58 && op <= 0x5f && (op != 0x5c || rex_b)) { /* not pop %rsp */
        popped(s, rex_b ? 8 : op - 0x58);
    } else if (op == 0x6a || op == 0x68 || op == 0x9c ||
               (op == 0xff && insn->n_memory && insn->memory[0].reads && (b[rex_b + 1] & 0x38) == 0x30)) {
        pushed(s, 8);
    } else if (op == 0x9d) {
        popped(s, 8);
    } else if (STARTS("\x48\x83\xec") && s->known == STACK) {
        down(s, (int8_t)b[3]);
    } else if (STARTS("\x48\x81\xec") && s->known == STACK) {
        down(s, number32(b + 3));
    } else if (STARTS("\x48\x83\xc4") && s->known == STACK) {
        down(s, -(int8_t)b[3]);
    } else if (STARTS("\x48\x81\xc4") && s->known == STACK) {
        down(s, -(int64_t)number32(b + 3));
    } else if (STARTS("\x48\x8d\x64\x24") && s->known == STACK) { /* lea d(%rsp), %rsp */
        down(s, -(int8_t)b[4]);
    } else if (STARTS("\x48\x8d\xa4\x24") && s->known == STACK) {
        down(s, -(int64_t)number32(b + 4));
    } else if ((STARTS("\x48\x89\xe5") || STARTS("\x48\x8b\xec")) && s->known == STACK &&
               s->fp == CS_UNWIND_SAVED) {
        s->known = FRAME; /* CFA = SP + cfa still, for FP is SP now */
    } else if ((STARTS("\x48\x89\xec") || STARTS("\x48\x8b\xe5")) && s->known == FRAME) {
        s->known = STACK;
    } else if (op == 0xc9 && s->known == FRAME) {
        s->known = STACK;
        popped(s, FP);
    } else if (STARTS("\x48\x8d\x65") && s->known == FRAME) { /* lea -d(%rbp), %rsp, before pops */
        s->known = STACK;
        down(s, -(int8_t)b[3]);
    } else if (clears_fp && s->fp == CS_UNWIND_KEPT) {
        s->known = OUTERMOST;
    } else {
        if (insn->writes & CS_ISA_REG_GPR(SP) && s->known == STACK)
            s->known = NOTHING;
        if (insn->writes & CS_ISA_REG_GPR(FP)) {
            if (s->known == FRAME)
                s->known = NOTHING;
            if (s->fp == CS_UNWIND_KEPT)
                s->fp = CS_UNWIND_LOST;
        }
        if (insn->writes & CS_ISA_REG_GPR(BX) && !s->bx_at)
            s->bx_at = CS_UNWIND_BX_LOST;
    }
    if (s->cfa < 8 && s->known == STACK)
        s->known = NOTHING;
}

static bool is_inside(const struct code *c, uint64_t vaddr)
{
    return vaddr - c->from < c->n;
}

/* push %rbp; mov %rsp, %rbp: the return address lies on top of the stack, whatever was pushed below the one of before. */
static bool makes_frame(const uint8_t *b, size_t n)
{
    return STARTS("\x55\x48\x89\xe5") || STARTS("\x55\x48\x8b\xec");
}

/* A jump to what others call, or to what makes a frame, is a call in the last place: whatever is thought of the stack there, it
 * begins. */
static void later(struct code *c, uint64_t vaddr, const struct state *state)
{
    const uint64_t at = vaddr - c->from;
    struct pending *p = is_inside(c, vaddr) && !c->state_at[at] ? cs_array_add(&c->pending) : NULL;
    if (p)
        *p = (struct pending){(uint32_t)at,
                              c->called[at] || makes_frame(c->bytes + at, c->n - at) ? entered : *state};
}

static bool is_same(const struct state *a, const struct state *b)
{
    return a->known == b->known && a->fp == b->fp && a->fp_at == b->fp_at && a->bx_at == b->bx_at &&
           a->cfa == b->cfa;
}

static bool note(struct code *c, uint32_t at, const struct state *state)
{
    struct state *last = c->states.n ? &c->states.at[c->states.n - 1] : NULL;
    if (!last || !is_same(last, state)) {
        if (!(last = cs_array_add(&c->states)))
            return false;
        *last = *state;
    }
    c->state_at[at] = (uint32_t)c->states.n;
    return true;
}

/* What calls and then halts was called by nobody; and where it is returned to, the byte before is looked up. */
static void mark_outermost(struct code *c, uint32_t first, uint32_t last)
{
    static const struct state nobody = {.known = OUTERMOST};
    for (uint32_t at = first; at <= last; at++)
        if (c->state_at[at])
            (void)note(c, at, &nobody);
    if (first > 0)
        (void)note(c, first - 1, &nobody);
}

static bool is_padding(const uint8_t *b, size_t n, unsigned *length)
{
    struct cs_isa_insn insn;
    *length = 1;
    if (*b == 0 || *b == 0xcc || *b == 0x90)
        return true;
    if (!cs_isa_decode_flow(CS_ISA_X86_64, b, n, 0, &insn))
        return false;
    *length = insn.length;
    /* Not lea, which the decoder takes for padding, for it may be; nor endbr64. */
    bool is_lea = b[0] == 0x8d || (n > 1 && b[1] == 0x8d);
    return insn.padding && *b != 0xf3 && !is_lea;
}

static struct callee *callee_of(const struct code *c, uint64_t target)
{
    return &c->callees[target * 0x9E3779B97F4A7C15ULL >> 52 & (c->n_callees - 1)];
}

/* Does a call to `target` that ends at `at` come back? Not if most calls of it stand before other functions and padding. */
static bool returns(const struct code *c, uint64_t target, uint32_t at)
{
    const struct callee *callee = callee_of(c, target);
    unsigned length;
    if (at >= c->n || c->called[at])
        return false;
    if (callee->target == target && target && callee->sites > 1)
        return callee->ends * 2 < callee->sites;
    return !is_padding(c->bytes + at, c->n - at, &length);
}

/* Straight on from `at`, until control goes elsewhere or to where one has been. Returns the state at the end, for what lies
 * behind an indirect jump. */
static struct state follow(struct code *c, uint32_t at, struct state state)
{
    uint32_t first = at;
    bool straight = true, after_call = false;
    while (at < c->n && !c->state_at[at]) {
        struct cs_isa_insn insn;
        const uint8_t *b = c->bytes + at;
        if (!cs_isa_decode(CS_ISA_X86_64, b, c->n - at, c->from + at, &insn) || !note(c, at, &state))
            break;
        c->length[at] = insn.length;
        if (insn.flow == CS_ISA_FLOW_RETURN || insn.flow == CS_ISA_FLOW_STOP)
            break;
        if (insn.flow == CS_ISA_FLOW_BRANCH || insn.flow == CS_ISA_FLOW_JUMP) {
            later(c, insn.target, &state);
            straight = false;
        }
        if (insn.flow == CS_ISA_FLOW_JUMP)
            break;
        after_call = insn.flow == CS_ISA_FLOW_CALL;
        if (after_call && straight && at + insn.length < c->n && b[insn.length] == 0xf4)
            mark_outermost(c, first, at);
        if (!after_call && insn.writes & (CS_ISA_REG_GPR(SP) | CS_ISA_REG_GPR(FP) | CS_ISA_REG_GPR(BX)))
            changed(&state, &insn, b, insn.length);
        at += insn.length;
        if ((after_call && !returns(c, insn.target, at)) || (at < c->n && c->called[at]))
            break;
    }
    return state;
}

static void follow_all(struct code *c, uint32_t at, const struct state *state)
{
    (void)follow(c, at, *state);
    while (c->pending.n) {
        struct pending p = c->pending.at[--c->pending.n];
        (void)follow(c, p.at, p.state);
    }
}

/* One pass over all bytes finds who is called, and what stands behind calls. */
static void find_called(struct code *c)
{
    struct cs_isa_insn insn, next;
    unsigned length;
    for (size_t at = 0; at < c->n; at += insn.length ? insn.length : 1)
        if (cs_isa_decode_flow(CS_ISA_X86_64, c->bytes + at, c->n - at, c->from + at, &insn) &&
            insn.flow == CS_ISA_FLOW_CALL && insn.target && is_inside(c, insn.target))
            c->called[insn.target - c->from] = 1;
    for (size_t at = 0; at < c->n; at += insn.length ? insn.length : 1) {
        if (!cs_isa_decode_flow(CS_ISA_X86_64, c->bytes + at, c->n - at, c->from + at, &insn) ||
            insn.flow != CS_ISA_FLOW_CALL || !insn.target)
            continue;
        struct callee *callee = callee_of(c, insn.target);
        size_t behind = at + insn.length;
        if (!callee->sites)
            callee->target = insn.target;
        if (callee->target != insn.target)
            continue;
        callee->sites++;
        callee->ends +=
            behind >= c->n || c->called[behind] || is_padding(c->bytes + behind, c->n - behind, &length) ||
            (cs_isa_decode_flow(CS_ISA_X86_64, c->bytes + behind, c->n - behind, c->from + behind, &next) &&
             next.flow == CS_ISA_FLOW_CALL && next.target == insn.target);
    }
}

static bool looks_entered(const uint8_t *b, size_t n)
{
    return STARTS("\xf3\x0f\x1e\xfa") || STARTS("\x55") || STARTS("\x53") || STARTS("\x48\x83\xec") ||
           STARTS("\x48\x81\xec") || (n > 1 && b[0] == 0x41 && b[1] >= 0x50 && b[1] <= 0x57);
}

/* What no direct branch leads to: a case of a switch, where its function jumps by a table, else the next function. */
static void follow_rest(struct code *c)
{
    struct state in_switch = entered;
    bool switches = false;
    for (uint32_t at = 0; at < c->n;) {
        unsigned length;
        if (c->state_at[at]) {
            const uint8_t *b = c->bytes + at;
            struct cs_isa_insn insn = {.length = c->length[at]};
            if (c->called[at])
                switches = false;
            bool prefixed = at + 1 < c->n && (b[0] == 0x3e || b[0] == 0x41) && b[1] == 0xff;
            if ((b[0] == 0xff || prefixed) &&
                cs_isa_decode_flow(CS_ISA_X86_64, b, c->n - at, c->from + at, &insn) &&
                insn.flow == CS_ISA_FLOW_JUMP) {
                in_switch = c->states.at[c->state_at[at] - 1];
                switches = in_switch.known != STACK ||
                           in_switch.cfa != 8; /* else it may be a call in the last place */
            }
            at += c->length[at] ? c->length[at] : 1;
        } else if (is_padding(c->bytes + at, c->n - at, &length)) {
            at += length;
        } else {
            switches &= !looks_entered(c->bytes + at, c->n - at);
            follow_all(c, at, switches ? &in_switch : &entered);
            if (!c->state_at[at]) /* not code */
                at++;
        }
    }
}

static void fill_rows(const struct code *c, struct unwind_build *build)
{
    static const struct cs_unwind_rule none = {0};
    struct cs_unwind_rule rule = none;
    for (uint32_t at = 0; at < c->n; at++) {
        struct cs_unwind_rule here = rule;
        if (c->state_at[at]) {
            const struct state *s = &c->states.at[c->state_at[at] - 1];
            here = none;
            if (s->known == OUTERMOST)
                here.cfa = CS_UNWIND_OUTERMOST;
            else if (s->known != NOTHING)
                here = (struct cs_unwind_rule){.cfa = s->known == FRAME ? CS_UNWIND_FP : CS_UNWIND_SP,
                                               .ra = CS_UNWIND_SAVED,
                                               .fp = s->fp,
                                               .cfa_offset = s->cfa,
                                               .ra_at = -8,
                                               .fp_at = s->fp == CS_UNWIND_SAVED ? s->fp_at : (int16_t)0,
                                               .bx_at = s->bx_at};
        }
        if (memcmp(&here, &rule, sizeof rule) != 0)
            unwind_build_up_to(build, c->from + at, &rule);
        rule = here;
    }
    unwind_build_up_to(build, c->from + c->n, &rule);
}

/* Between two functions there is mostly nothing else. */
static bool all_padding(const uint8_t *bytes, size_t n)
{
    unsigned length;
    for (size_t at = 0; at < n; at += length ? length : 1)
        if (!is_padding(bytes + at, n - at, &length))
            return false;
    return true;
}

void unwind_code_fill(struct unwind_build *build, const uint8_t *bytes, size_t n, uint64_t from)
{
    assert(bytes || n == 0);
    static const struct cs_unwind_rule none = {0};
    struct code c = {.bytes = bytes, .n = n, .from = from, .n_callees = 8};
    while (c.n_callees < CALLEES_MAX && c.n_callees < n / 8)
        c.n_callees *= 2;
    c.state_at = n <= BYTES_MAX && !all_padding(bytes, n) ? calloc(n + 1, sizeof *c.state_at) : NULL;
    c.length = c.state_at ? calloc(n + 1, 1) : NULL;
    c.called = c.length ? calloc(n + 1, 1) : NULL;
    c.callees = c.called ? calloc(c.n_callees, sizeof *c.callees) : NULL;
    if (c.callees) {
        find_called(&c);
        for (uint32_t at = 0; at < n; at++)
            if (c.called[at])
                follow_all(&c, at, &entered);
        follow_rest(&c);
        fill_rows(&c, build);
    } else {
        unwind_build_up_to(build, from + n, &none);
    }
    free(c.state_at);
    free(c.length);
    free(c.called);
    free(c.callees);
    cs_array_free(&c.states);
    cs_array_free(&c.pending);
}
