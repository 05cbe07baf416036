/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a loop takes at least on AMD's cores, by where its code stands. Truth: the same loops, timed on a Zen 4. */
#include "analysis/schedule/schedule.h"
#include "tests/unit/test.h"

#include <math.h>

/* So many moves of three bytes, then the branch back, from `offset` on; a sixteenth of a cycle each. */
static double fetched(uint64_t offset, size_t n_moves, size_t first, bool closed, size_t jump_at)
{
    static const uint8_t move[] = {0x48, 0x89, 0xc8}, back[] = {0x75, 0x00};
    enum { MOST = 32 };
    struct cs_isa_op ops[MOST], turned[MOST];
    struct cs_schedule_step steps[MOST] = {0};
    size_t n = n_moves + 1;
    for (size_t i = 0; i < n; i++) {
        if (i == jump_at)
            offset += 1024;
        bool last = i == n_moves;
        cs_isa_op_decode(CS_ISA_X86_64, last ? back : move, last ? sizeof back : sizeof move, offset,
                         &ops[i]);
        offset += ops[i].length;
        steps[i] = (struct cs_schedule_step){.m = 0.0625, .execution = 0.0625};
    }
    for (size_t i = 0; i < n; i++)
        turned[i] = ops[(first + i) % n];
    cs_schedule_fetch(&(struct cs_schedule_path){turned, n, closed, false}, steps);
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        assert_true(fabs(steps[i].execution + steps[i].front - steps[i].m) < 1e-9);
        sum += steps[i].m;
    }
    return sum;
}

TEST(a_loop_takes_a_cycle_for_each_line_of_code)
{
    const size_t none = SIZE_MAX;
    assert_true(fabs(fetched(0x1000, 3, 0, true, none) - 1) < 1e-9);
    assert_true(fabs(fetched(0x1038, 3, 0, true, none) - 2) < 1e-9); /* the branch stands in the next line */
    assert_true(fabs(fetched(0x1038, 3, 2, true, none) - 2) < 1e-9); /* wherever the path begins */
    assert_true(fabs(fetched(0x1000, 3, 0, true, 2) - 2) < 1e-9);    /* a jump within */
    assert_true(fabs(fetched(0x1038, 3, 0, false, none) - 0.25) < 1e-9); /* no loop */
}

TEST(a_loop_takes_a_cycle_for_eight_operations)
{
    assert_true(fabs(fetched(0x1000, 7, 0, true, SIZE_MAX) - 1) < 1e-9);
    assert_true(fabs(fetched(0x1000, 8, 0, true, SIZE_MAX) - 2) < 1e-9);
    assert_true(fabs(fetched(0x1000, 16, 0, true, SIZE_MAX) - 3) < 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loop_takes_a_cycle_for_each_line_of_code),
        cmocka_unit_test(a_loop_takes_a_cycle_for_eight_operations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
