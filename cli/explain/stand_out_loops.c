/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loops that turn often each time they are entered, and are entered often. What the loop does says which question to ask:
 *
 *   bits    neither memory nor calls, and it shifts: bit by bit
 *   search  it only reads, and ends by what it found: a chain, a list, a linear search
 *   loop    anything else that loads, stores or calls, such as clearing, moving on, comparing by calls
 *
 * An inner loop is one of its own: time and turns of a loop around it aren't its. */
#include "analysis/cfg/loops.h"
#include "cli/command/figures.h"
#include "cli/explain/stand_out.h"
#include "image/isa/semantics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOP_FROM 0.04  /* of all samples */
#define BLOCKS_MAX 96u  /* larger ones are a program's phases */
#define CHAIN_TURNS 3   /* of a walk along pointers */
#define SEARCH_TURNS 12 /* of a search in an array */
#define BITS_TURNS 3
#define LOOP_TURNS 12
#define ENTRIES_SEEN 8    /* by bursts, for a mean */
#define SEARCHED_OFTEN 50 /* entries a second of CPU time */
#define OFTEN 500         /* entries a second of CPU time */
#define EACH_TURN 0.25    /* of the turns: what runs in fewer doesn't say what the loop does */
#define INNER_FROM 0.5    /* of its time in an inner loop: that one is named */

/* Registers that carry no address and no value of a chain. */
#define NO_VALUES (CS_ISA_OP_REG_FLAGS | CS_ISA_OP_REG_RSP)

/* Of System V's psABI: rax, rcx, rdx, rsi, rdi, r8 to r11, and vectors. */
#define CALL_LOSES UINT64_C(0xffffffff0fc7)

struct loop {
    uint32_t blocks[BLOCKS_MAX], n;
    double samples, turns, entries;
    bool stores, loads, calls, shifts, follows, locks, skip;
    uint64_t hottest;
};

struct found {
    struct loop at[64];
    size_t n;
};

/* Of its own register, by a bit: the decoder's flags don't name shifts, so the bytes do (D1 /4, /5, /7 and C1 with 1; an
 * addition of a register to itself isn't looked for). x86-64 alone. */
static bool is_shift(const struct cs_isa_op *op)
{
    unsigned i = 0;
    while (i < op->length && (op->bytes[i] == 0x66 || (op->bytes[i] & 0xf0) == 0x40))
        i++;
    if (i + 1 >= op->length)
        return false;
    const unsigned way = op->bytes[i + 1] >> 3 & 7;
    return (op->bytes[i] == 0xd1 && way >= 4) ||
           (op->bytes[i] == 0xc1 && way >= 4 && i + 2 < op->length && op->bytes[i + 2] == 1);
}

/* Which registers hold something of what `load` loaded, behind the block that they had `before`. `*reaches`: its address does. */
static uint64_t behind(const struct cs_cycle_account *a, const struct cs_basic_block *b, uint32_t load,
                       uint64_t before, bool *reaches)
{
    for (uint32_t k = b->first_insn; k < b->first_insn + b->n_insns; k++) {
        const struct cs_isa_op *op = &a->insns[k].op;
        const uint64_t writes = op->writes & ~NO_VALUES;
        if (k == load)
            *reaches |= (before & op->address_reads & ~NO_VALUES) != 0;
        if (op->flags & CS_ISA_OP_CALL)
            before &= ~CALL_LOSES;
        if (k == load || before & (op->reads | op->address_reads))
            before |= writes;
        else
            before &= ~writes;
    }
    return before;
}

/* A load whose address comes from what it loaded in the turn before: registers followed around the loop. */
static bool is_chain(const struct loop *l, const struct cs_cycle_account *a, uint32_t load)
{
    uint64_t out[BLOCKS_MAX] = {0};
    bool reaches = false, changed = true;
    while (changed && !reaches) {
        changed = false;
        for (uint32_t i = 0; i < l->n; i++) {
            const struct cs_basic_block *b = &a->cfg->blocks[l->blocks[i]];
            uint64_t before = 0;
            for (uint32_t k = b->first_in; k < b->first_in + b->n_in; k++)
                for (uint32_t from = 0; from < l->n; from++)
                    if (a->cfg->edges[a->cfg->in[k]].from == l->blocks[from])
                        before |= out[from];
            const uint64_t now = behind(a, b, load, before, &reaches);
            changed |= now != out[i];
            out[i] = now;
        }
    }
    return reaches;
}

static void look_at(struct loop *l, const struct cs_culprit_evidence *evidence,
                    const struct cs_cycle_account *a)
{
    double most = -1;
    for (uint32_t i = 0; i < l->n; i++) {
        const struct cs_basic_block *b = &a->cfg->blocks[l->blocks[i]];
        for (uint32_t k = b->first_insn; k < b->first_insn + b->n_insns; k++) {
            const struct cs_cycle_account_insn *insn = &a->insns[k];
            const bool on_stack = insn->op.address_reads == CS_ISA_OP_REG_RSP;
            l->samples += insn->attributed;
            if (insn->attributed > most) {
                most = insn->attributed;
                l->hottest = insn->op.offset;
            }
            if (a->blocks[l->blocks[i]].visits < EACH_TURN * a->blocks[l->blocks[0]].visits)
                continue;
            l->calls |= (insn->op.flags & (CS_ISA_OP_CALL | CS_ISA_OP_SYSCALL)) != 0;
            l->stores |= (insn->op.flags & CS_ISA_OP_STORE) && !on_stack;
            l->locks |= (insn->op.flags & (CS_ISA_OP_LOCK | CS_ISA_OP_SERIALISE)) != 0;
            l->shifts |= is_shift(&insn->op);
            if ((insn->op.flags & CS_ISA_OP_LOAD) && !on_stack) {
                const struct cs_culprit_memory m = cs_culprit_evidence_memory(evidence, insn->op.offset);
                l->loads = true;
                l->follows |= m.seen && m.pointer >= 0.5 && is_chain(l, a, k);
            }
        }
    }
}

/* Edges that came in from outside, as bursts saw them: the estimate's share of what was seen at the head. */
static double entries_seen(const struct cs_frequency *f, const struct loop *l)
{
    const double head = f->block[l->blocks[0]];
    return head > 0 ? f->seen[l->blocks[0]] * l->entries / head : 0;
}

static bool is_within(const struct loop *inner, const struct loop *outer)
{
    unsigned in = 0;
    for (uint32_t i = 0; i < inner->n; i++)
        for (uint32_t k = 0; k < outer->n; k++)
            in += inner->blocks[i] == outer->blocks[k];
    return in == inner->n && inner->n < outer->n;
}

static const char *kind_of(const struct loop *l, const char **advice)
{
    if (l->locks) /* how often it turns is another thread's doing */
        return NULL;
    if (!l->calls && !l->stores && !l->loads && l->shifts && l->turns >= BITS_TURNS && l->turns <= 64.5) {
        *advice =
            "several bits at once: a table, an instruction made for it (popcount, count of zeros, CRC), or "
            "a multiplication";
        return "bits";
    }
    if (!l->stores && l->loads && (l->follows || !l->calls) &&
        l->turns >= (l->follows ? CHAIN_TURNS : SEARCH_TURNS)) {
        *advice = l->follows
                      ? "shorter chains: a hash that spreads keys, more buckets, another structure than a "
                        "list"
                      : "no search from the beginning each time: a position that is kept, sorted data, "
                        "or a hash";
        return "search";
    }
    if (l->turns >= LOOP_TURNS && (l->calls || l->stores || l->loads)) {
        *advice =
            "fewer turns: only as many elements as are in use, a result that is kept, or another algorithm "
            "for long ranges";
        return "loop";
    }
    return NULL;
}

static bool is_named(const struct loop *l)
{
    const char *ignored;
    return kind_of(l, &ignored) != NULL;
}

static void skip_outer(struct found *found)
{
    for (size_t i = 0; i < found->n; i++)
        for (size_t k = 0; k < found->n; k++)
            if (k != i && is_within(&found->at[k], &found->at[i]) &&
                found->at[k].samples >= INNER_FROM * found->at[i].samples && is_named(&found->at[k]))
                found->at[i].skip = true;
}

static const char *words_of(const struct loop *l, const char *kind)
{
    return strcmp(kind, "bits") == 0 ? "works bit by bit"
           : strcmp(kind, "search") == 0
               ? l->follows ? l->calls
                                  ? "follows pointers and calls in each turn: it goes along a list or a chain"
                                  : "follows pointers and only reads: it searches a chain"
                            : "only reads: it searches or sums up"
           : l->calls  ? "calls in each turn"
           : l->stores ? "writes in each turn"
                       : "reads in each turn";
}

static void add(struct stand_outs *all, const struct calc_subject *s, struct cs_image_code *code,
                const struct cs_cycle_account *a, const struct loop *l)
{
    const double total = (double)s->rows.total[s->profile.main_event], rate = stand_out_rate(s);
    const char *advice = NULL, *kind = kind_of(l, &advice);
    char often[80] = "";
    if (!kind || (rate > 0 && l->entries * rate < (strcmp(kind, "loop") == 0 ? OFTEN : SEARCHED_OFTEN)))
        return;
    struct stand_out row = stand_out_of(kind);
    stand_out_place(&row, code, l->hottest, a->procedure->name);
    row.percent = 100 * fmin(l->samples / total, 1);
    row.saves = row.percent * (strcmp(kind, "loop") == 0 ? 0.5 : 0.9) * (1 - 1 / l->turns);
    row.turns = l->turns;
    row.advice = advice;
    if (rate > 0) {
        row.a_second = l->entries * rate;
        snprintf(often, sizeof often, ", about %s times a second", stand_out_about(row.a_second).text);
    }
    snprintf(row.what, sizeof row.what, "this loop turns %s times each time it is entered%s; it %s",
             figure(l->turns, 2).text, often, words_of(l, kind));
    stand_outs_add(all, &row);
}

void stand_out_loops(struct stand_outs *all, const struct calc_subject *s, struct cs_image_code *code,
                     const struct cs_culprit_evidence *evidence, const struct cs_cycle_account *a)
{
    struct cs_frequency f;
    struct cs_error ignored = {0};
    struct found *found = calloc(1, sizeof *found);
    const double least = LOOP_FROM * (double)s->rows.total[s->profile.main_event];
    if (!found ||
        cs_frequency_estimate(a->cfg, &evidence->flow.input, CS_FREQUENCY_BURSTS, &f, &ignored) < 0) {
        free(found);
        return;
    }
    for (uint32_t b = 0;
         !f.from_samples && b < a->cfg->n_blocks && found->n < sizeof found->at / sizeof *found->at; b++) {
        struct loop *l = &found->at[found->n];
        *l = (struct loop){.n = 0};
        l->n = f.block[b] > 0 ? cs_cfg_loop(a->cfg, b, l->blocks, BLOCKS_MAX) : 0;
        if (!l->n)
            continue;
        look_at(l, evidence, a);
        l->entries = cs_cfg_loop_entries(a->cfg, f.edge, l->blocks, l->n);
        l->turns = l->entries > 0 ? f.block[b] / l->entries : 0;
        if (l->samples >= least)
            found->n++;
    }
    skip_outer(found);
    for (size_t i = 0; i < found->n; i++)
        if (!found->at[i].skip && entries_seen(&f, &found->at[i]) >= ENTRIES_SEEN)
            add(all, s, code, a, &found->at[i]);
    cs_frequency_fini(&f);
    free(found);
}
