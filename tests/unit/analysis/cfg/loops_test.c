/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loops of graphs that are drawn by hand. */
#include "analysis/cfg/loops.h"
#include "tests/unit/test.h"

#include <math.h>
#include <string.h>

#define ENTRY CS_CFG_ENTRY
#define EXIT CS_CFG_EXIT

struct drawn {
    struct cs_cfg cfg;
    struct cs_basic_block blocks[8];
    struct cs_cfg_edge edges[16];
    uint32_t in[16];
};

static bool near(double a, double b)
{
    return fabs(a - b) < 1e-9;
}

/* Edges as pairs from, to; those from ENTRY last. */
static void draw(struct drawn *d, uint32_t n_blocks, const uint32_t (*pairs)[2], uint32_t n)
{
    uint32_t at = 0;
    memset(d, 0, sizeof *d);
    d->cfg = (struct cs_cfg){
        .blocks = d->blocks, .edges = d->edges, .in = d->in, .n_blocks = n_blocks, .n_edges = n};
    for (uint32_t e = 0; e < n; e++)
        d->edges[e] = (struct cs_cfg_edge){.from = pairs[e][0], .to = pairs[e][1]};
    for (uint32_t b = 0; b < n_blocks; b++) {
        d->blocks[b].first_in = at;
        for (uint32_t e = 0; e < n; e++)
            if (pairs[e][1] == b)
                d->in[at++] = e;
        d->blocks[b].n_in = at - d->blocks[b].first_in;
    }
}

/* entry -> 0 -> 1 -> 2 -> 1, 2 -> 3 -> exit: blocks 1 and 2 are the loop. */
static const uint32_t one_loop[][2] = {{0, 1}, {1, 2}, {2, 1}, {2, 3}, {3, EXIT}, {ENTRY, 0}};

TEST(a_loop_is_its_head_and_what_comes_back_to_it)
{
    struct drawn d;
    uint32_t blocks[8];
    draw(&d, 4, one_loop, 6);
    assert_int_equal(cs_cfg_loop(&d.cfg, 1, blocks, 8), 2);
    assert_int_equal(blocks[0], 1);
    assert_int_equal(blocks[1], 2);
    for (uint32_t b = 0; b < 4; b++)
        assert_true(b == 1 || cs_cfg_loop(&d.cfg, b, blocks, 8) == 0);
}

TEST(entries_come_from_outside_of_the_loop)
{
    struct drawn d;
    uint32_t blocks[8];
    const double ran[] = {3, 300, 297, 3, 3, 3};
    draw(&d, 4, one_loop, 6);
    const uint32_t n = cs_cfg_loop(&d.cfg, 1, blocks, 8);
    assert_true(near(cs_cfg_loop_entries(&d.cfg, ran, blocks, n), 3));
}

TEST(a_block_that_leads_to_itself_is_a_loop)
{
    struct drawn d;
    uint32_t blocks[8];
    const uint32_t pairs[][2] = {{0, 0}, {0, EXIT}, {ENTRY, 0}};
    const double ran[] = {90, 10, 10};
    draw(&d, 1, pairs, 3);
    assert_int_equal(cs_cfg_loop(&d.cfg, 0, blocks, 8), 1);
    assert_true(near(cs_cfg_loop_entries(&d.cfg, ran, blocks, 1), 10));
}

/* 1 -> 2 -> 2 -> 1: the inner loop is a part of the outer one. */
TEST(an_outer_loop_has_the_inner_ones_blocks)
{
    struct drawn d;
    uint32_t blocks[8];
    const uint32_t pairs[][2] = {{0, 1}, {1, 2}, {2, 2}, {2, 1}, {1, EXIT}, {ENTRY, 0}};
    draw(&d, 3, pairs, 6);
    assert_int_equal(cs_cfg_loop(&d.cfg, 2, blocks, 8), 1);
    assert_int_equal(cs_cfg_loop(&d.cfg, 1, blocks, 8), 2);
}

/* Both blocks of a cycle are entered from outside: neither dominates the other. */
TEST(a_cycle_with_two_entries_is_no_loop)
{
    struct drawn d;
    uint32_t blocks[8];
    const uint32_t pairs[][2] = {{0, 1}, {0, 2}, {1, 2}, {2, 1}, {2, EXIT}, {ENTRY, 0}};
    draw(&d, 3, pairs, 6);
    assert_int_equal(cs_cfg_loop(&d.cfg, 1, blocks, 8), 0);
    assert_int_equal(cs_cfg_loop(&d.cfg, 2, blocks, 8), 0);
}

TEST(a_loop_with_more_blocks_than_asked_for_is_left_out)
{
    struct drawn d;
    uint32_t blocks[8];
    draw(&d, 4, one_loop, 6);
    assert_int_equal(cs_cfg_loop(&d.cfg, 1, blocks, 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loop_is_its_head_and_what_comes_back_to_it),
        cmocka_unit_test(entries_come_from_outside_of_the_loop),
        cmocka_unit_test(a_block_that_leads_to_itself_is_a_loop),
        cmocka_unit_test(an_outer_loop_has_the_inner_ones_blocks),
        cmocka_unit_test(a_cycle_with_two_entries_is_no_loop),
        cmocka_unit_test(a_loop_with_more_blocks_than_asked_for_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
