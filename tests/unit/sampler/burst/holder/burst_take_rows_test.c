/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a process that ran foreign code may say about a burst: any bytes at all, and what comes of them is bounded. */
#include "sampler/burst/holder/take_rows.h"
#include "store/table/burst_schemas.h"
#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>

static struct cs_burst_shared to, rows;

static void fill(void *at, size_t n)
{
    for (uint8_t *p = at; n--; p++)
        *p = (uint8_t)(rand() % 3 ? rand() : 0xff);
}

static void check(uint64_t followed_most, uint64_t watched_ns)
{
    const struct cs_burst_outcome *o = &to.outcome;
    assert_true(o->cause < CS_BURST_CAUSE_N);
    assert_true(o->followed <= followed_most && o->instructions <= o->followed && o->blocks <= o->followed);
    assert_true(o->n_edges <= CS_BURST_EDGES_MAX && o->n_memory <= CS_BURST_ROWS_MAX);
    assert_true(o->n_branches <= CS_BURST_ROWS_MAX && o->n_lines <= CS_BURST_ROWS_MAX);
    assert_true(o->n_intervals <= CS_BURST_INTERVALS_MAX);
    for (uint32_t i = 0; i < o->n_intervals; i++)
        assert_true(o->interval[i].ns <= watched_ns && o->interval[i].after_ns <= watched_ns);
    for (uint32_t i = 0; i < o->n_edges; i++) {
        assert_true(to.edges[i].count <= o->followed && to.edges[i].count_4096 <= to.edges[i].count);
        assert_true(to.edges[i].kind <= CS_BURST_CALL);
    }
    for (uint32_t i = 0; i < o->n_memory; i++)
        for (unsigned k = 0; k < CS_BURST_MEMORY_COLUMNS; k++)
            assert_true(to.memory[i].column[k] <=
                        (k == CS_MEMORY_BYTES - 1 ? 65536ULL : 16ULL) * o->followed);
    for (uint32_t i = 0; i < o->n_memory; i++)
        assert_true(to.memory[i].crowded <= 16ULL * o->followed);
    for (uint32_t i = 0; i < o->n_branches; i++)
        assert_true(to.branches[i].column[CS_BRANCH_KIND - 1] <= 4);
}

TEST(whatever_it_says_is_bounded)
{
    srand(5);
    for (unsigned round = 0; round < 40; round++) {
        bool timed = round % 2;
        uint64_t watched_ns = (uint64_t)rand();
        fill(&rows, sizeof rows);
        fill(&to.outcome, sizeof to.outcome);
        to.outcome.n_intervals = 0;
        to.command = (struct cs_burst_command){.instructions = 16000, .timed_instructions = 400000};
        take_rows(&to, &rows, timed, watched_ns);
        assert_int_equal(to.command.instructions, 16000); /* the command is ours */
        check((timed ? 400000U : 16000U) + 40U, watched_ns);
    }
}

TEST(what_is_right_comes_through)
{
    memset(&rows, 0, sizeof rows);
    memset(&to, 0, sizeof to);
    to.command.instructions = 100;
    rows.outcome = (struct cs_burst_outcome){.cause = CS_BURST_SYSCALL,
                                             .instructions = 90,
                                             .followed = 95,
                                             .blocks = 10,
                                             .hot_branch = 0x1234,
                                             .n_edges = 1,
                                             .n_memory = 1};
    rows.edges[0] = (struct cs_burst_edge_row){1, 2, 50, 40, 45, CS_BURST_RET};
    rows.memory[0].column[0] = 95;
    take_rows(&to, &rows, false, 0);
    assert_int_equal(to.outcome.cause, CS_BURST_SYSCALL);
    assert_int_equal(to.outcome.instructions, 90);
    assert_int_equal(to.outcome.hot_branch, 0x1234);
    assert_memory_equal(to.edges, rows.edges, sizeof *to.edges);
    assert_memory_equal(to.memory, rows.memory, sizeof *to.memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatever_it_says_is_bounded),
        cmocka_unit_test(what_is_right_comes_through),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
