/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where in a trace was a thread when it was seen with these registers? Wherever the trace runs the
 * instruction at its PC and each register whose value is known there has the value seen. Known is what a slot
 * noted, or the start, until an instruction writes the register; the stack pointer also follows pushes,
 * calls and the like. Pure: reads the trace and the translator's notes on blocks. */
#include "sampler/burst/runner.h"
#include "sampler/burst/sys.h"

#define BLOCKS_MAX 65536
#define MATCH_BLOCKS_MAX 128
enum { RCX = 1, RSP = 4, RSI = 6, RDI = 7 };

/* Of a block: bit i when moment i's PC is one of its instructions. Lazily, per walk. */
static uint32_t here[BLOCKS_MAX], here_walk[BLOCKS_MAX], walk;

static uint64_t value[16], word[STACK_WORDS];
static uint32_t known, n_words; /* words of the stack are known at one instruction only */

/* What the slots of this instruction hold. Returns the instructions that have slots, bit = number. */
static uint64_t learn(const struct block *block, const loose64 *slots, unsigned insn)
{
    const struct slot_note *note = &slot_notes[block->first_slot];
    uint64_t noted = 0;
    for (unsigned i = 0; i < block->n_slots; i++) {
        if (note[i].insn != insn) {
            noted |= note[i].insn < 64 ? 1ULL << note[i].insn : 0;
        } else if (note[i].reg >= 16) {
            word[note[i].reg - 16] = slots[i];
            n_words = note[i].reg - 15U;
        } else {
            value[note[i].reg] = slots[i];
            known |= 1U << note[i].reg;
        }
    }
    return noted;
}

static void forget(const struct insn_note *note)
{
    uint32_t writes = note->writes;
    if (note->stack_moves) {
        value[RSP] += (uint64_t)(int64_t)note->stack;
        writes &= ~(1U << RSP);
    }
    known &= ~writes;
}

static bool same(const struct moment *moment, uint32_t which)
{
    for (unsigned reg = 0; which; which >>= 1, reg++)
        if (which & 1 && moment->reg[reg] != value[reg])
            return false;
    for (unsigned i = 0; i < n_words && i < moment->n_words; i++)
        if (moment->word[i] != word[i])
            return false;
    return true;
}

uint32_t match_blocks[MATCH_BLOCKS_MAX], match_n_blocks;

static uint32_t moments_in(const struct block *block, const struct moment *moments, unsigned n)
{
    uint32_t number = (uint32_t)(block - blocks);
    if (here_walk[number] == walk)
        return here[number];
    uint32_t found = 0;
    for (unsigned k = 0; k < n; k++)
        if (moments[k].pc - block->pc < block->bytes)
            for (unsigned i = 0; i < block->n_insns; i++)
                found |= (uint32_t)(insn_notes[block->first_note + i].offset == moments[k].pc - block->pc)
                         << k;
    here_walk[number] = walk;
    if (found && match_n_blocks < MATCH_BLOCKS_MAX)
        match_blocks[match_n_blocks++] = number;
    return here[number] = found;
}

uint64_t match(const struct run *run, const struct registers *r, struct moment *moments, unsigned n)
{
    const uint64_t first[16] = {r->rax, r->rcx, r->rdx, r->rbx, r->rsp, r->rbp, r->rsi, r->rdi,
                                r->r8,  r->r9,  r->r10, r->r11, r->r12, r->r13, r->r14, r->r15};
    uint64_t position = 0;
    walk++;
    memcpy(value, first, sizeof value);
    known = 0xffff;
    for (unsigned k = 0; k < n; k++)
        moments[k].n = moments[k].visits = 0, moments[k].known = 0xffff;
    match_n_blocks = 0;
    for (const uint8_t *p = run->start, *next; p < run->end; p = next) {
        const struct block *block = record_block(p);
        const loose64 *slots = record_slots(p);
        next = record_next(p);
        if (next > run->end || (next == run->end && run->last_partial))
            break;
        uint32_t candidates = moments_in(block, moments, n);
        uint64_t noted = learn(block, slots, AT_START);
        for (unsigned i = 0; i < block->n_insns; i++) {
            const struct insn_note *note = &insn_notes[block->first_note + i];
            n_words = 0;
            if (noted >> i & 1) /* a block has at most 40 */
                learn(block, slots, i);
            for (unsigned k = 0; candidates >> k; k++) {
                struct moment *moment = &moments[k];
                if (!(candidates >> k & 1) || moment->pc != block->pc + note->offset)
                    continue;
                moment->visits++;
                uint32_t which = known & ~(note->repeats ? 1U << RCX | 1U << RSI | 1U << RDI : 0U);
                if (!same(moment, which))
                    continue;
                if (!moment->n++)
                    moment->first = position + i;
                moment->last = position + i;
                moment->known &= which;
            }
            forget(note);
        }
        position += block->n_insns;
    }
    return position;
}

/* The branch that these instructions of the trace executed most; 0: none. */
uint64_t busiest_branch(const struct run *run, uint64_t from, uint64_t to)
{
    static uint32_t count[BLOCKS_MAX], counted[BLOCKS_MAX], round;
    const struct block *best = NULL;
    uint64_t position = 0;
    round++;
    for (const uint8_t *p = run->start; p < run->end && position < to; p = record_next(p)) {
        const struct block *block = record_block(p);
        uint32_t number = (uint32_t)(block - blocks);
        if (position >= from && block->end < END_FALL) {
            count[number] = counted[number] == round ? count[number] + 1 : 1;
            counted[number] = round;
            if (!best || count[number] > count[best - blocks])
                best = block;
        }
        position += block->n_insns;
    }
    return best ? best->branch : 0;
}
