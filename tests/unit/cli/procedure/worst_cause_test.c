/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the first sentence is about, of made-up accounts of 100 samples. */
#include "cli/procedure/calc.h"
#include "tests/unit/test.h"

enum { INSNS = 3 };

/* Two branches with `each` samples of mispredictions, and a chain of `chain` at the third instruction. */
static struct worst_cause worst_of(double each, double chain)
{
    struct cs_culprit_classification lost = {
        .suspects = {{.cause = CS_CAUSE_MISPREDICT, .share = each, .low = each, .high = each, .reason = ""}},
        .n = 1};
    struct cs_culprit_classification none = {.n = 0};
    struct cs_cycle_account_insn insns[INSNS] = {
        {.op.offset = 0x10, .visits = 1, .classification = &lost},
        {.op.offset = 0x20, .visits = 1, .classification = &lost},
        {.op.offset = 0x30, .visits = 1, .classification = &none, .step.dependency = chain},
    };
    struct cs_cfg cfg = {.n_insns = INSNS};
    struct cs_cycle_account a = {.cfg = &cfg, .insns = insns, .cycles_a_sample = 1, .scale = 1};
    a.summary.total = 100;
    a.summary.share[CS_CAUSE_MISPREDICT] = 2 * each;
    a.summary.statics[CS_CAUSE_DEPENDENCY] = chain;
    return worst_cause(&a);
}

TEST(the_largest_cause_is_named_even_if_another_has_the_worst_place)
{
    const struct worst_cause w = worst_of(25, 33);
    assert_int_equal(w.cause, CS_CAUSE_MISPREDICT);
    assert_true(w.spread);
    assert_int_equal((int)(100 * w.share + 0.5), 50);
    assert_int_equal(w.responsible, 0x10);
}

TEST(a_chain_that_is_larger_is_named)
{
    const struct worst_cause w = worst_of(15, 33);
    assert_int_equal(w.cause, CS_CAUSE_DEPENDENCY);
    assert_false(w.spread);
    assert_int_equal(w.responsible, 0x30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_largest_cause_is_named_even_if_another_has_the_worst_place),
        cmocka_unit_test(a_chain_that_is_larger_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
