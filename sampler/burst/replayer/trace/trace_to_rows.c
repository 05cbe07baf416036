/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A trace to rows, when the thread runs again: edges here, memory in memory_profile.c, branches in
 * branch_predictors.c. */
#include "sampler/burst/replayer/trace/trace_to_rows.h"
#include "sampler/burst/replayer/trace/branch_predictors.h"
#include "sampler/burst/replayer/trace/match_registers.h"
#include "sampler/burst/replayer/trace/memory_profile.h"
#include "sampler/burst/replayer/translator/pages.h"
#include "sampler/burst/replayer/translator/translate.h"
#include "sampler/burst/runner/libc.h"

#define SLOTS (CS_BURST_EDGES_MAX * 2)
static uint16_t edge_slots[SLOTS]; /* 1 + row */
#define EXECUTED_MAX 8192
static uint32_t executed[EXECUTED_MAX]; /* distinct blocks of the burst */
static unsigned n_executed;
static uint32_t block_seen[BLOCKS_MAX], burst_number;
static uint64_t loaded_at[16]; /* 1 + number of the instruction whose load a register's value comes from */

static void edge(struct cs_burst_shared *shared, uint64_t from, uint64_t to, unsigned kind, uint32_t position)
{
    struct cs_burst_outcome *outcome = &shared->outcome;
    uint64_t hash = (from ^ to * 0x9e3779b97f4a7c15ULL) * 0xff51afd7ed558ccdULL;
    unsigned slot = (unsigned)(hash >> 40) % SLOTS;
    struct cs_burst_edge_row *row;
    for (;; slot = (slot + 1) % SLOTS) {
        if (!edge_slots[slot]) {
            if (outcome->n_edges == CS_BURST_EDGES_MAX) {
                outcome->rows_dropped++;
                return;
            }
            row = &shared->edges[outcome->n_edges++];
            *row = (struct cs_burst_edge_row){.from = from, .to = to, .kind = kind};
            edge_slots[slot] = (uint16_t)outcome->n_edges;
            break;
        }
        row = &shared->edges[edge_slots[slot] - 1];
        if (row->from == from && row->to == to)
            break;
    }
    row->count++;
    row->count_512 += position < 512;
    row->count_4096 += position < 4096;
}

/* Marks what the instruction's results come from; says whether `address` comes from a recent load. */
static bool follow_loads(const struct insn_note *note, bool loads, uint16_t address, uint64_t number)
{
    uint64_t newest = 0, newest_address = 0;
    for (unsigned reg = 0; reg < 16; reg++) {
        if (note->reads >> reg & 1 && loaded_at[reg] > newest)
            newest = loaded_at[reg];
        if (address >> reg & 1 && loaded_at[reg] > newest_address)
            newest_address = loaded_at[reg];
    }
    for (unsigned writes = note->writes & ~(1U << RSP), reg = 0; writes; writes >>= 1, reg++)
        if (writes & 1)
            loaded_at[reg] = loads ? number + 1 : newest;
    return newest_address && number + 1 - newest_address < 16;
}

static void memory(const struct block *block, const loose64 *slots, const struct registers *registers,
                   uint64_t number)
{
    const struct memory_op *op = &memory_ops[block->first_op], *ops_end = op + block->n_ops;
    for (unsigned i = 0; i < block->n_insns; i++) {
        const struct insn_note *note = &insn_notes[block->first_note + i];
        bool loads = false;
        uint16_t address = 0;
        for (const struct memory_op *o = op; o < ops_end && o->insn == i; o++)
            if (o->flags & OP_READ) {
                loads = true;
                address |= o->address;
            }
        bool pointer = follow_loads(note, loads, address, number + i) && loads;
        for (unsigned k = 0; op < ops_end && op->insn == i; op++, k++) {
            uint64_t addr = operand_address(op, slots, registers), size = op->size;
            if (op->flags & OP_REPEAT) {
                size *= slots[op->count_slot];
                if (!size)
                    continue;
                if (size > 65536)
                    size = 65536;
            }
            memory_profile_access(block->pc + note->offset, k, op->flags, addr, size, pointer);
        }
    }
}

/* Bytes of trace for 1024 instructions: the most lately needed, slowly forgotten, and a quarter more. */
static uint64_t bytes_1024 = 6 * 1024;

static void learn(uint64_t bytes, uint32_t instructions)
{
    uint64_t needed = bytes * 1024 / instructions;
    bytes_1024 -= bytes_1024 / 64;
    if (bytes_1024 < needed)
        bytes_1024 = needed;
}

uint64_t trace_room(uint32_t instructions)
{
    return (bytes_1024 * instructions / 1024) * 5 / 4 + 512;
}

void trace_to_rows(struct cs_burst_shared *shared, const struct run *run, const struct registers *registers)
{
    struct cs_burst_outcome *outcome = &shared->outcome;
    memset(edge_slots, 0, sizeof edge_slots);
    memset(loaded_at, 0, sizeof loaded_at);
    n_executed = 0;
    burst_number++;
    memory_profile_begin(shared);
    branch_predictors_begin(shared);
    uint32_t position = 0, wanted = shared->command.instructions;
    bool timed = pages_many; /* a long burst is */
    uint32_t followed = timed ? shared->command.timed_instructions : wanted;
    const uint8_t *p = run->start;
    while (p < run->end && position < followed) {
        struct block *block = record_block(p);
        const uint8_t *next = record_next(p);
        if (!record_whole(run, next))
            break;
        uint64_t to = next < run->end ? record_block(next)->pc : run->last_partial ? 0 : run->next;
        uint32_t number = (uint32_t)(block - blocks);
        if (block_seen[number] != burst_number && n_executed < EXECUTED_MAX) {
            block_seen[number] = burst_number;
            executed[n_executed++] = number;
        }
        bool edges_only = position >= wanted;
        if (block->n_insns && !edges_only) {
            memory_profile_code(block->pc, block->pc + block->bytes);
            memory(block, record_slots(p), registers, position);
        }
        position += block->n_insns;
        if (!edges_only) {
            outcome->instructions = position;
            outcome->blocks++;
        }
        if (block->end < END_FALL && to) {
            edge(shared, block->branch, to, block->end, position);
            if (!edges_only)
                branch_predictors_execute(block->branch, block->end, to, block->branch + block->last_length);
        }
        p = next;
    }
    if (position >= wanted)
        outcome->cause = CS_BURST_FULL; /* what happened behind the end is of no interest */
    else if (outcome->cause == CS_BURST_FULL && position < wanted - wanted / 8)
        outcome->cause = CS_BURST_TRACE_FULL;
    if (position > 256)
        learn((uint64_t)(p - run->start), position);
    outcome->followed = position;
    outcome->hot_branch = busiest_branch(run, 0, wanted);
    if (!outcome->hot_branch)
        outcome->hot_branch = outcome->start;
}

void after_answer(void)
{
    /* A program's first bursts meet new code everywhere. */
    translations_expand(executed, n_executed, burst_number <= 16 ? 12 : 2);
    n_executed = 0;
}
