/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where in a made-up trace a thread was: a loop of two blocks,
 *     0x100: load [rdi]; inc rdi; push rax; jnz ...   0x110: pop rax; dec rcx; jmp 0x100
 * of which the trace notes rdi and rsp at the start of the first. */
#include "sampler/burst/replayer/trace/match_registers.h"
#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>

enum {
    TURNS = 1000,
    TURN = 7 /* instructions */,
    AT_LOAD = 0x100,
    AT_PUSH = 0x104,
    AT_POP = 0x110,
    UNKNOWN = 12345
};
static const struct block made_blocks[] = {
    {.pc = 0x100, .branch = 0x106, .n_insns = 4, .bytes = 8, .n_slots = 2, .end = END_COND},
    {.pc = 0x110,
     .branch = 0x113,
     .n_insns = 3,
     .bytes = 5,
     .first_note = 4,
     .first_slot = 2,
     .end = END_JUMP},
};
static const struct insn_note made_notes[] = {
    {.offset = 0, .reads = 1 << RDI, .writes = 1 << RAX},
    {.offset = 2, .reads = 1 << RDI, .writes = 1 << RDI},
    {.offset = 4, .reads = 1 << RAX | 1 << RSP, .writes = 1 << RSP, .stack_moves = true, .stack = -8},
    {.offset = 6},
    {.offset = 0, .writes = 1 << RAX | 1 << RSP, .stack_moves = true, .stack = 8},
    {.offset = 1, .reads = 1 << RCX, .writes = 1 << RCX},
    {.offset = 3},
};
static const struct slot_note made_slots[] = {{AT_START, RDI}, {AT_START, RSP}};

static uint8_t bytes[TURNS * 32];
static const struct registers start = {.rdi = 5000, .rsp = 9000, .rbx = 77, .rcx = UNKNOWN};

static struct run trace(unsigned period)
{
    memcpy(blocks, made_blocks, sizeof made_blocks);
    memcpy(insn_notes, made_notes, sizeof made_notes);
    memcpy(slot_notes, made_slots, sizeof made_slots);
    uint8_t *at = bytes;
    for (unsigned i = 0; i < TURNS; i++) {
        *(loose32 *)at = 0;
        ((loose64 *)(at + 4))[0] = 5000 + i % period;
        ((loose64 *)(at + 4))[1] = 9000;
        *(loose32 *)(at + 20) = 1;
        at += 24;
    }
    return (struct run){.start = bytes, .end = at};
}

static struct snapshot seen(uint64_t pc, uint64_t rdi, uint64_t rsp, uint64_t rbx)
{
    struct snapshot snapshot = {.pc = pc};
    snapshot.reg[RDI] = rdi;
    snapshot.reg[RSP] = rsp;
    snapshot.reg[3] = rbx;
    snapshot.reg[RCX] = UNKNOWN; /* to the trace, after the first turn: must not count */
    return snapshot;
}

TEST(a_snapshot_is_found_by_what_the_trace_noted)
{
    struct run run = trace(TURNS);
    struct snapshot snapshot = seen(AT_LOAD, 5123, 9000, 77);
    assert_int_equal(match(&run, &start, &snapshot, 1), TURNS * TURN);
    assert_int_equal(snapshot.n, 1);
    assert_int_equal(snapshot.first, 123 * TURN);
    assert_int_equal(snapshot.last, 123 * TURN);
    assert_int_equal(snapshot.visits, TURNS);
}

TEST(a_written_register_does_not_count_and_the_stack_pointer_follows)
{
    struct run run = trace(TURNS);
    /* Before the push rdi is written: unknown, so every turn would do. After it rsp is 8 less. */
    struct snapshot snapshots[] = {seen(AT_PUSH, 0, 9000, 77), seen(AT_POP, 0, 8992, 77),
                                   seen(AT_POP, 0, 9000, 77)};
    match(&run, &start, snapshots, 3);
    assert_int_equal(snapshots[0].n, TURNS);
    assert_int_equal(snapshots[0].first, 2);
    assert_int_equal(snapshots[0].last, (TURNS - 1) * TURN + 2);
    assert_int_equal(snapshots[1].n, TURNS);
    assert_int_equal(snapshots[2].n, 0);
}

TEST(a_register_of_the_start_counts_as_long_as_nobody_writes_it)
{
    struct run run = trace(TURNS);
    struct snapshot snapshot = seen(AT_LOAD, 5123, 9000, 78);
    match(&run, &start, &snapshot, 1);
    assert_int_equal(snapshot.n, 0);
}

TEST(what_repeats_itself_is_ambiguous)
{
    struct run run = trace(100);
    struct snapshot snapshot = seen(AT_LOAD, 5023, 9000, 77);
    match(&run, &start, &snapshot, 1);
    assert_int_equal(snapshot.n, TURNS / 100);
    assert_int_equal(snapshot.first, 23 * TURN);
    assert_int_equal(snapshot.last, 923 * TURN);
}

TEST(a_place_that_is_no_instruction_is_nowhere)
{
    struct run run = trace(TURNS);
    struct snapshot snapshot = seen(AT_LOAD + 1, 5123, 9000, 77);
    match(&run, &start, &snapshot, 1);
    assert_int_equal(snapshot.n, 0);
}

TEST(the_block_that_a_trace_left_in_its_middle_does_not_count)
{
    struct run run = trace(TURNS);
    run.last_partial = true;
    struct snapshot snapshot = seen(AT_POP, 0, 8992, 77);
    match(&run, &start, &snapshot, 1);
    assert_int_equal(snapshot.n, TURNS - 1);
}

/* The trace as it is when the first block's first instruction is a probe. */
TEST(what_was_noted_before_an_instruction_is_enough)
{
    struct run run = trace(TURNS);
    struct snapshot snapshots[] = {seen(AT_LOAD, 5123, 9000, 77), seen(AT_LOAD, 5123, 9000 - 8, 77),
                                   seen(AT_PUSH, 5123, 9000, 77)};
    slot_notes[0].insn = slot_notes[1].insn = 0;
    assert_int_equal(match_noted(&run, snapshots, 3), TURNS * TURN);
    slot_notes[0].insn = slot_notes[1].insn = AT_START;
    assert_int_equal(snapshots[0].n, 1);
    assert_int_equal(snapshots[0].first, 123 * TURN);
    assert_int_equal(snapshots[1].n, 0);
    assert_int_equal(snapshots[2].n, TURNS); /* nothing is noted there */
    assert_int_equal(snapshots[2].visits, TURNS);
    assert_int_equal(snapshots[2].first, 2);
    assert_int_equal(snapshots[2].last, (TURNS - 1) * TURN + 2);
}

TEST(the_busiest_branch_is_that_of_the_interval)
{
    struct run run = trace(TURNS);
    assert_int_equal(busiest_branch(&run, 0, 4), 0x106);
    assert_int_equal(busiest_branch(&run, 4 + 70 * TURN, 70 * TURN + 5), 0x113);
    assert_int_equal(busiest_branch(&run, 0, 4), 0x106);
    assert_int_equal(busiest_branch(&run, 4, 7), 0x113);
    assert_int_equal(busiest_branch(&run, 7 * TURNS, 7 * TURNS + 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_snapshot_is_found_by_what_the_trace_noted),
        cmocka_unit_test(a_written_register_does_not_count_and_the_stack_pointer_follows),
        cmocka_unit_test(a_register_of_the_start_counts_as_long_as_nobody_writes_it),
        cmocka_unit_test(what_repeats_itself_is_ambiguous),
        cmocka_unit_test(a_place_that_is_no_instruction_is_nowhere),
        cmocka_unit_test(the_block_that_a_trace_left_in_its_middle_does_not_count),
        cmocka_unit_test(what_was_noted_before_an_instruction_is_enough),
        cmocka_unit_test(the_busiest_branch_is_that_of_the_interval),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
