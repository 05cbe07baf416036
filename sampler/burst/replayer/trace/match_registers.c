/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where in a trace was a thread when it was seen with these registers? Wherever the trace runs the
 * instruction at its PC and each register whose value is known there has the value seen. Known is what a slot
 * noted, or the start, until an instruction writes the register; the stack pointer also follows pushes,
 * calls and the like. Pure: reads the trace and the translator's notes on blocks. */
#include "sampler/burst/replayer/trace/match_registers.h"
#include "sampler/burst/runner/libc.h"

#define MATCH_BLOCKS_MAX 128

/* Of a block: bit i when snapshot i's PC is one of its instructions. Lazily, per walk. */
static uint32_t here[BLOCKS_MAX], here_walk[BLOCKS_MAX], walk;
static uint8_t insn_of[BLOCKS_MAX][32]; /* and which of them, by snapshot */

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

static bool same(const struct snapshot *snapshot, uint32_t which)
{
    for (unsigned reg = 0; which; which >>= 1, reg++)
        if (which & 1 && snapshot->reg[reg] != value[reg])
            return false;
    for (unsigned i = 0; i < n_words && i < snapshot->n_words; i++)
        if (snapshot->word[i] != word[i])
            return false;
    return true;
}

uint32_t match_blocks[MATCH_BLOCKS_MAX], match_n_blocks;

static uint32_t snapshots_in(const struct block *block, const struct snapshot *snapshots, unsigned n)
{
    uint32_t number = (uint32_t)(block - blocks);
    if (here_walk[number] == walk)
        return here[number];
    uint32_t found = 0;
    for (unsigned k = 0; k < n; k++)
        if (snapshots[k].pc - block->pc < block->bytes)
            for (unsigned i = 0; i < block->n_insns; i++)
                if (insn_notes[block->first_note + i].offset == snapshots[k].pc - block->pc) {
                    found |= 1U << k;
                    insn_of[number][k] = (uint8_t)i;
                }
    here_walk[number] = walk;
    if (found && match_n_blocks < MATCH_BLOCKS_MAX)
        match_blocks[match_n_blocks++] = number;
    return here[number] = found;
}

static void begin(struct snapshot *snapshots, unsigned n)
{
    walk++;
    match_n_blocks = 0;
    for (unsigned k = 0; k < n; k++)
        snapshots[k].n = snapshots[k].visits = 0, snapshots[k].known = 0xffff;
}

static void fits(struct snapshot *snapshot, uint64_t position, uint32_t which)
{
    if (!snapshot->n++)
        snapshot->first = position;
    snapshot->last = position;
    snapshot->known &= which;
}

/* The instruction `position` of the trace, before it runs, is at `pc`. */
static void compare(struct snapshot *snapshots, uint32_t candidates, uint64_t pc, bool repeats,
                    uint64_t position)
{
    for (unsigned k = 0; candidates >> k; k++) {
        struct snapshot *snapshot = &snapshots[k];
        if (!(candidates >> k & 1) || snapshot->pc != pc)
            continue;
        snapshot->visits++;
        uint32_t which = known & ~(repeats ? 1U << RCX | 1U << RSI | 1U << RDI : 0U);
        if (same(snapshot, which))
            fits(snapshot, position, which);
    }
}

uint64_t match(const struct run *run, const struct registers *r, struct snapshot *snapshots, unsigned n)
{
    const uint64_t first[16] = {r->rax, r->rcx, r->rdx, r->rbx, r->rsp, r->rbp, r->rsi, r->rdi,
                                r->r8,  r->r9,  r->r10, r->r11, r->r12, r->r13, r->r14, r->r15};
    uint64_t position = 0;
    memcpy(value, first, sizeof value);
    known = 0xffff;
    begin(snapshots, n);
    for (const uint8_t *p = run->start, *next; p < run->end; p = next) {
        const struct block *block = record_block(p);
        const loose64 *slots = record_slots(p);
        next = record_next(p);
        if (!record_whole(run, next))
            break;
        uint32_t candidates = snapshots_in(block, snapshots, n);
        uint64_t noted = learn(block, slots, AT_START);
        for (unsigned i = 0; i < block->n_insns; i++) {
            const struct insn_note *note = &insn_notes[block->first_note + i];
            n_words = 0;
            if (noted >> i & 1) /* a block has at most BLOCK_INSNS_MAX */
                learn(block, slots, i);
            compare(snapshots, candidates, block->pc + note->offset, note->repeats, position + i);
            forget(note);
        }
        position += block->n_insns;
    }
    return position;
}

/* Does what the record noted right before this instruction agree with the snapshot? `which`: registers noted.
 */
static bool noted_same(const struct block *block, const loose64 *slots, unsigned insn,
                       const struct snapshot *snapshot, uint32_t *which)
{
    const struct slot_note *note = &slot_notes[block->first_slot];
    bool repeats = insn_notes[block->first_note + insn].repeats;
    uint32_t aside = repeats ? 1U << RCX | 1U << RSI | 1U << RDI : 0U;
    *which = 0;
    for (unsigned i = 0; i < block->n_slots; i++) {
        if (note[i].insn != insn)
            continue;
        unsigned reg = note[i].reg;
        if (reg < 16 && !(aside >> reg & 1)) {
            *which |= 1U << reg;
            if (slots[i] != snapshot->reg[reg])
                return false;
        } else if (reg >= 16 && reg - 16 < snapshot->n_words && slots[i] != snapshot->word[reg - 16]) {
            return false;
        }
    }
    return true;
}

uint64_t match_noted(const struct run *run, struct snapshot *snapshots, unsigned n)
{
    uint64_t position = 0;
    begin(snapshots, n);
    for (const uint8_t *p = run->start, *next; p < run->end; p = next) {
        const struct block *block = record_block(p);
        next = record_next(p);
        if (!record_whole(run, next))
            break;
        uint32_t candidates = snapshots_in(block, snapshots, n);
        for (unsigned k = 0; candidates >> k; k++) {
            if (!(candidates >> k & 1))
                continue;
            unsigned insn = insn_of[block - blocks][k];
            uint32_t which;
            snapshots[k].visits++;
            if (noted_same(block, record_slots(p), insn, &snapshots[k], &which))
                fits(&snapshots[k], position + insn, which);
        }
        position += block->n_insns;
    }
    return position;
}

/* The branch that these instructions of the trace executed most; 0: none. A walk goes on where the one before
 * it ended. */
uint64_t busiest_branch(const struct run *run, uint64_t from, uint64_t to)
{
    static uint32_t count[BLOCKS_MAX], counted[BLOCKS_MAX], round;
    static struct {
        const struct run *run;
        const uint8_t *start, *end, *p;
        uint64_t position;
    } last;
    const struct block *best = NULL;
    round++;
    if (last.run != run || last.start != run->start || last.end != run->end || from < last.position ||
        from == 0) {
        last.run = run;
        last.start = last.p = run->start;
        last.end = run->end;
        last.position = 0;
    }
    for (; last.p < run->end && last.position < to; last.p = record_next(last.p)) {
        const struct block *block = record_block(last.p);
        uint32_t number = (uint32_t)(block - blocks);
        if (last.position >= from && block->end < END_FALL) {
            count[number] = counted[number] == round ? count[number] + 1 : 1;
            counted[number] = round;
            if (!best || count[number] > count[best - blocks])
                best = block;
        }
        last.position += block->n_insns;
    }
    return best ? best->branch : 0;
}
