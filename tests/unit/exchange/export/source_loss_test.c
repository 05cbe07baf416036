/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What lines can't express, on graphs small enough to be counted by hand. */
#include "exchange/export/source_loss.h"
#include "tests/unit/test.h"

#include <math.h>
#include <string.h>

#define EXACTLY(a, b) assert_true(fabs((a) - (b)) < 1e-9)

TEST(a_block_takes_the_largest_count_of_its_lines)
{
    struct cs_export_source_loss_notes notes = {0};
    struct cs_export_source_loss loss = {0};
    /* Site 0 belongs to the first block alone, site 1 to both: the rare block is read back as the frequent
     * one. */
    cs_export_source_loss_block(&notes, 1000, 3);
    cs_export_source_loss_place(&notes, 0, 1);
    cs_export_source_loss_place(&notes, 1, 1);
    uint32_t rare = cs_export_source_loss_block(&notes, 10, 5);
    cs_export_source_loss_place(&notes, 1, 1);
    cs_export_source_loss_flow(&notes, 0, 0, 990);
    cs_export_source_loss_flow(&notes, 0, rare, 10);
    assert_int_equal(cs_export_source_loss_sum(&notes, (double[]){1000, 1000}, &loss), 0);
    EXACTLY(loss.instructions, 3050);
    EXACTLY(loss.blurred, 50);
    EXACTLY(loss.unlined, 0);
    EXACTLY(loss.edges, 1000);
    EXACTLY(loss.edges_lost, 10);
    cs_export_source_loss_fini(&notes);
}

TEST(a_block_without_lines_is_lost_and_so_are_its_edges)
{
    struct cs_export_source_loss_notes notes = {0};
    struct cs_export_source_loss loss = {0};
    uint32_t a = cs_export_source_loss_block(&notes, 7, 2), b = cs_export_source_loss_block(&notes, 7, 4);
    cs_export_source_loss_place(&notes, 0, 1);
    cs_export_source_loss_flow(&notes, a, b, 7);
    assert_int_equal(cs_export_source_loss_sum(&notes, (double[]){7}, &loss), 0);
    EXACTLY(loss.unlined, 14);
    EXACTLY(loss.blurred, 0);
    EXACTLY(loss.edges_lost, 7);
    cs_export_source_loss_fini(&notes);
}

TEST(copies_of_an_unrolled_loop_come_back_with_their_own_counts)
{
    struct cs_export_source_loss_notes notes = {0};
    struct cs_export_source_loss loss = {0};
    for (int copy = 0; copy < 4; copy++) {
        cs_export_source_loss_block(&notes, 25, 6);
        cs_export_source_loss_place(&notes, 0, 4);
    }
    assert_int_equal(cs_export_source_loss_sum(&notes, (double[]){100}, &loss), 0);
    EXACTLY(loss.instructions, 600);
    EXACTLY(loss.blurred, 0);
    cs_export_source_loss_fini(&notes);
}

TEST(nothing_that_ran_is_no_division_by_zero)
{
    struct cs_export_source_loss_notes notes = {0};
    struct cs_export_source_loss loss = {0};
    char text[512];
    assert_int_equal(cs_export_source_loss_sum(&notes, NULL, &loss), 0);
    cs_export_source_loss_text(&loss, text, sizeof text);
    assert_null(strstr(text, "nan"));
    cs_export_source_loss_fini(&notes);
}

TEST(many_blocks_grow_the_notes)
{
    struct cs_export_source_loss_notes notes = {0};
    struct cs_export_source_loss loss = {0};
    for (uint32_t i = 0; i < 5000; i++) {
        uint32_t block = cs_export_source_loss_block(&notes, 1, 1);
        assert_int_equal(block, i);
        cs_export_source_loss_place(&notes, 0, 1);
        cs_export_source_loss_flow(&notes, block, block, 1);
    }
    assert_int_equal(cs_export_source_loss_sum(&notes, (double[]){1}, &loss), 0);
    EXACTLY(loss.instructions, 5000);
    EXACTLY(loss.edges_lost, 0);
    cs_export_source_loss_fini(&notes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_takes_the_largest_count_of_its_lines),
        cmocka_unit_test(a_block_without_lines_is_lost_and_so_are_its_edges),
        cmocka_unit_test(copies_of_an_unrolled_loop_come_back_with_their_own_counts),
        cmocka_unit_test(nothing_that_ran_is_no_division_by_zero),
        cmocka_unit_test(many_blocks_grow_the_notes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
