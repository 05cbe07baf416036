/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The summary of one instruction whose cause was drawn by hand. */
#include "analysis/culprit/account/cycle_account_internal.h"
#include "tests/unit/test.h"

#include <math.h>

/* Ten cycles an execution, of which that suspect has its share. */
static struct cs_cycle_account_summary summary_of(const struct cs_culprit_suspect *suspect)
{
    static struct cs_cfg_instruction at[] = {{.offset = 0x10, .length = 4}};
    static struct cs_cfg cfg = {.insns = at, .n_insns = 1};
    static struct cs_cycle_account_block blocks[1];
    const struct cs_culprit_classification c = {
        .n = 1, .stall = 9, .unexplained = 9 - suspect->share, .suspects[0] = *suspect};
    struct cs_cycle_account_insn insn = {
        .attributed = 20, .visits = 2, .cycles = 10, .step = {.m = 1, .execution = 1}, .classification = &c};
    struct cs_cycle_account a = {
        .cfg = &cfg, .insns = &insn, .blocks = blocks, .cycles_a_sample = 1, .scale = 1};
    account_summary(&a);
    assert_true(fabs(a.summary.share[suspect->cause] - 2 * suspect->share) < 1e-9);
    return a.summary;
}

/* What of five cycles is in doubt, in samples. */
static double doubted(double in_doubt)
{
    return summary_of(&(struct cs_culprit_suspect){
                          .cause = CS_CAUSE_FALSE_SHARING, .share = 5, .in_doubt = in_doubt})
        .sharing_in_doubt;
}

static double two_accesses(enum cs_culprit_cause cause, double share)
{
    return summary_of(&(struct cs_culprit_suspect){.cause = cause, .share = share}).split_accesses;
}

TEST(sharing_is_in_doubt_by_no_more_than_its_share)
{
    assert_true(doubted(0) <= 0);
    assert_true(fabs(doubted(2) - 4) < 1e-9);
    assert_true(fabs(doubted(8) - 10) < 1e-9);
}

TEST(two_accesses_are_no_more_than_their_cycles_of_a_split)
{
    assert_true(fabs(two_accesses(CS_CAUSE_SPLIT, 1) - 2) < 1e-9);
    assert_true(fabs(two_accesses(CS_CAUSE_SPLIT, 8) - 4) < 1e-9);
    assert_true(two_accesses(CS_CAUSE_LOCK, 8) <= 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sharing_is_in_doubt_by_no_more_than_its_share),
        cmocka_unit_test(two_accesses_are_no_more_than_their_cycles_of_a_split),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
