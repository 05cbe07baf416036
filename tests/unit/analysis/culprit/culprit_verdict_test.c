/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether the evidence carries a first cause. */
#include "analysis/culprit/verdict.h"
#include "tests/unit/analysis/culprit/classify/culprit_stalls.h"

/* Draws bursts, each of the first cause, the second or another one, and counts how often the second leads: so many
 * bursts as are said to be needed make that one verdict in twenty, and a quarter of them more. */
static void so_many_bursts_as_needed_name_the_wrong_one_of_two_causes_seldom(void **state)
{
    (void)state;
    static const double shares[][2] = {{0.7, 0.3}, {0.6, 0.25}, {0.5, 0.3}, {0.4, 0.2}};
    uint64_t random = 88172645463325252ULL;
    for (size_t k = 0; k < sizeof shares / sizeof shares[0]; k++) {
        int needed = (int)cs_culprit_bursts_needed(shares[k][0], shares[k][1]);
        int wrong = 0, wrong_of_few = 0, rounds = 4000;
        for (int r = 0; r < rounds; r++)
            for (int few = 0; few < 2; few++) {
                int lead = 0, n = few ? (needed + 3) / 4 : needed;
                for (int b = 0; b < n; b++) {
                    random ^= random << 13;
                    random ^= random >> 7;
                    random ^= random << 17;
                    double u = (double)(random >> 11) * 0x1p-53;
                    lead += u < shares[k][0] ? 1 : u < shares[k][0] + shares[k][1] ? -1 : 0;
                }
                *(few ? &wrong_of_few : &wrong) += lead < 0;
            }
        assert_true(wrong < rounds * 0.07);
        assert_true(wrong_of_few > wrong);
    }
    assert_true(cs_culprit_bursts_needed(0.95, 0.02) == 5);
    assert_true(cs_culprit_bursts_needed(0.3, 0.3) >= 100 && cs_culprit_bursts_needed(0.2, 0.3) >= 100);
}

static struct cs_culprit_verdict of_shares(double port_static, double d_cache, bool generic)
{
    struct cs_cfg cfg = {0};
    struct cs_cycle_account a = {.cfg = &cfg, .generic_core = generic, .summary.total = 100};
    a.summary.statics[CS_CAUSE_PORT] = port_static;
    a.summary.share[CS_CAUSE_DCACHE] = d_cache;
    return cs_culprit_verdict(&a);
}

/* By the fit the model's 60 of 100 samples were 30. */
static void what_the_schedule_has_only_by_a_lifted_scale_is_no_evidence_for_it(void **state)
{
    (void)state;
    struct cs_cfg cfg = {0};
    struct cs_cycle_account a = {
        .cfg = &cfg, .scale_fitted = true, .scale = 2, .scale_model = 2, .summary.total = 100};
    a.summary.statics[CS_CAUSE_DEPENDENCY] = 60;
    a.summary.share[CS_CAUSE_MISPREDICT] = 25;
    double needed = cs_culprit_verdict(&a).needed;
    assert_true(needed == cs_culprit_bursts_needed(0.6, 0.25));
    a.scale_model = 1;
    assert_true(cs_culprit_verdict(&a).needed == cs_culprit_bursts_needed(0.3, 0.25));
    a.scale_fitted = false; /* counted */
    assert_true(cs_culprit_verdict(&a).needed == needed);
}

/* Of 60 samples 24 are left by the fit, in a loop that very many bursts saw. */
static bool is_named(double scale_model, double second, bool fitted, bool *lifted)
{
    struct cs_culprit_classification none = {0};
    struct cs_cfg cfg = {.n_insns = 1, .n_blocks = 1};
    struct cs_cycle_account_insn insn = {.visits = 1, .classification = &none, .step.port = 60};
    struct cs_cycle_account_block block = {.bursts = 1000};
    struct cs_cycle_account a = {.cfg = &cfg,
                                 .insns = &insn,
                                 .blocks = &block,
                                 .frequencies = true,
                                 .scale = 5,
                                 .scale_model = scale_model,
                                 .scale_fitted = fitted,
                                 .cycles_a_sample = 5,
                                 .summary.total = 100};
    a.summary.statics[CS_CAUSE_PORT] = 60;
    a.summary.share[CS_CAUSE_MISPREDICT] = second;
    const struct cs_culprit_verdict v = cs_culprit_verdict(&a);
    *lifted = v.lifted;
    return v.enough;
}

static void no_number_of_bursts_names_what_is_first_by_the_lifted_scale_alone(void **state)
{
    bool lifted;
    (void)state;
    assert_true(!is_named(2, 30, true, &lifted) && lifted);
    assert_true(is_named(2, 15, true, &lifted) && !lifted); /* first by the fit, too */
    assert_true(is_named(4, 30, true, &lifted) && !lifted);
    assert_true(is_named(2, 30, false, &lifted) && !lifted); /* counted */
}

/* A thousand bursts saw the code. At its load a miss has 60 of 100 samples. */
static struct cs_culprit_verdict of_a_load(enum cs_culprit_cause cause, bool observed, uint32_t kind)
{
    struct cs_culprit_classification miss = {
        .n = 1, .suspects[0] = {.cause = cause, .share = 60, .observed = observed}};
    struct cs_cfg cfg = {.n_insns = 1, .n_blocks = 1};
    struct cs_cycle_account_insn insn = {.visits = 1, .classification = &miss, .op.flags = kind};
    struct cs_cycle_account_block block = {.bursts = 1000};
    struct cs_cycle_account a = {.cfg = &cfg,
                                 .insns = &insn,
                                 .blocks = &block,
                                 .frequencies = true,
                                 .scale = 1,
                                 .cycles_a_sample = 1,
                                 .summary.total = 100};
    a.summary.share[cause] = 60;
    return cs_culprit_verdict(&a);
}

static void a_miss_that_no_burst_saw_is_no_verdict(void **state)
{
    (void)state;
    assert_true(of_a_load(CS_CAUSE_DCACHE, true, CS_ISA_OP_LOAD).enough);
    assert_false(of_a_load(CS_CAUSE_DCACHE, false, CS_ISA_OP_LOAD).enough);
    assert_true(of_a_load(CS_CAUSE_DCACHE, false, CS_ISA_OP_LOAD).unconfirmed);
    assert_false(of_a_load(CS_CAUSE_DTLB, false, CS_ISA_OP_LOAD).enough);
    assert_true(of_a_load(CS_CAUSE_DCACHE, false, CS_ISA_OP_PREFETCH).enough); /* bursts follow none */
    assert_true(of_a_load(CS_CAUSE_DEPENDENCY, false, CS_ISA_OP_LOAD).enough); /* the text shows it */
}

/* 60 samples have a cause at the most executions that timed bursts allow; they say as many, or fewer by this factor. */
static struct cs_culprit_verdict verdict_stretched(double factor)
{
    struct cs_culprit_classification none = {0};
    struct cs_cfg cfg = {.n_insns = 1, .n_blocks = 1};
    struct cs_cycle_account_insn insn = {
        .visits = 1, .classification = &none, .cycles = 100, .step.port = 60, .step.m = 60};
    struct cs_cycle_account_block block = {.bursts = 1000};
    struct cs_cycle_account a = {.cfg = &cfg,
                                 .insns = &insn,
                                 .blocks = &block,
                                 .frequencies = true,
                                 .scale = 5,
                                 .scale_model = 10,
                                 .scale_timed = 1,
                                 .scale_sure = 5 / factor,
                                 .scale_fitted = true,
                                 .cycles_a_sample = 5,
                                 .summary.total = 100};
    a.summary.statics[CS_CAUSE_PORT] = 60;
    a.summary.unexplained = 40;
    return cs_culprit_verdict(&a);
}

static void a_cause_is_named_only_if_it_is_one_at_the_executions_that_bursts_say(void **state)
{
    (void)state;
    const struct cs_culprit_verdict as_many = verdict_stretched(1.1), fewer = verdict_stretched(3);
    assert_true(as_many.enough && !as_many.stretched);
    assert_true(fewer.stretched && !fewer.enough && !fewer.n_several);
    assert_true(fabs(fewer.unknown_as_timed - 0.8) < 1e-6); /* a third of 60 is left */
}

static void what_nothing_explains_is_not_covered_by_a_small_cause(void **state)
{
    (void)state;
    struct cs_cfg cfg = {0};
    struct cs_cycle_account a = {.cfg = &cfg, .summary.total = 100, .summary.unexplained = 60};
    a.summary.share[CS_CAUSE_SPLIT] = 20;
    struct cs_culprit_verdict v = cs_culprit_verdict(&a);
    assert_true(v.obscure && v.first == CS_N_CAUSES && v.named == CS_CAUSE_SPLIT);
    a.summary.share[CS_CAUSE_SPLIT] = 35;
    assert_false(cs_culprit_verdict(&a).obscure);
    a.summary.share[CS_CAUSE_SPLIT] = 0;
    a.summary.statics[CS_CAUSE_DEPENDENCY] = 35; /* the schedule alone speaks for it */
    assert_true(cs_culprit_verdict(&a).obscure);
    a.summary.statics[CS_CAUSE_DEPENDENCY] = 61;
    assert_false(cs_culprit_verdict(&a).obscure);
}

static void a_cause_that_is_small_or_that_the_generic_core_alone_names_is_no_verdict(void **state)
{
    (void)state;
    assert_true(of_shares(4, 1, false).slight && !of_shares(6, 1, false).slight);
    assert_true(of_shares(25, 0, true).sketched);
    assert_false(of_shares(25, 0, false).sketched); /* llvm-mca spoke */
    assert_false(of_shares(45, 0, true).sketched);  /* more than that core may be off */
    assert_false(of_shares(0, 25, true).sketched);  /* seen, not modelled */
}

static void what_the_core_s_width_takes_is_no_cause(void **state)
{
    (void)state;
    struct cs_cfg cfg = {0};
    struct cs_cycle_account a = {.cfg = &cfg, .summary.total = 100, .summary.execution = 82};
    a.summary.statics[CS_CAUSE_PORT] = 18;
    struct cs_culprit_verdict v = cs_culprit_verdict(&a);
    assert_true(v.at_width && !v.enough && fabs(v.work - 0.82) < 1e-9);
    a.summary.statics[CS_CAUSE_PORT] = 0;
    a.summary.share[CS_CAUSE_MISPREDICT] = 18; /* seen, not modelled */
    assert_false(cs_culprit_verdict(&a).at_width);
    a.summary.share[CS_CAUSE_MISPREDICT] = 0;
    a.summary.statics[CS_CAUSE_PORT] = 45; /* more than the model may be off */
    a.summary.execution = 55;
    assert_false(cs_culprit_verdict(&a).at_width);
}

static struct cs_culprit_verdict of_three(double first, double second, double third, double bursts,
                                          bool taken)
{
    struct cs_culprit_classification none = {0};
    struct cs_cfg cfg = {.n_insns = 1, .n_blocks = 1};
    struct cs_cycle_account_insn insn = {.visits = 1, .classification = &none};
    struct cs_cycle_account_block block = {.bursts = bursts};
    struct cs_cycle_account a = {.cfg = &cfg,
                                 .insns = &insn,
                                 .blocks = &block,
                                 .frequencies = true,
                                 .scale = 1,
                                 .scale_fitted = true,
                                 .cycles_a_sample = 1,
                                 .summary.total = 100};
    insn.step.port = first;
    a.summary.statics[CS_CAUSE_PORT] = first;
    a.summary.share[CS_CAUSE_DCACHE] = second;
    a.summary.share[CS_CAUSE_MISPREDICT] = third;
    a.summary.unexplained = 100 - first - second - third;
    a.summary.high[CS_CAUSE_FALSE_SHARING] = taken ? 5 : 0;
    return cs_culprit_verdict(&a);
}

static void causes_of_one_size_are_all_named_where_none_can_have_half(void **state)
{
    (void)state;
    struct cs_culprit_verdict v = of_three(34, 32, 30, 40, false);
    assert_true(!v.enough && v.n_several == 3);
    assert_int_equal(v.several[0], CS_CAUSE_PORT);
    assert_int_equal(v.several[1], CS_CAUSE_DCACHE);
    assert_int_equal(v.several[2], CS_CAUSE_MISPREDICT);
    assert_true(v.several_share[0] > v.several_share[1] && v.several_share[1] > v.several_share[2]);
    assert_int_equal(of_three(34, 32, 10, 40, false).n_several, 2); /* unexplained 24: 10 isn't one of them */
    assert_int_equal(of_three(34, 32, 30, 5, false).n_several, 0);
    assert_int_equal(of_three(80, 10, 8, 40, false).n_several, 0);
    assert_true(of_three(80, 10, 8, 40, false).enough);
}

static void a_static_cause_is_no_verdict_where_another_thread_writes_the_lines(void **state)
{
    (void)state;
    assert_false(of_three(80, 10, 8, 40, true).enough);
    assert_true(of_three(80, 10, 8, 40, true).contended);
    assert_false(of_three(10, 80, 8, 40, true).contended);
}

static void a_chain_is_no_verdict_where_a_taken_line_may_cost_as_much(void **state)
{
    (void)state;
    struct cs_cfg cfg = {0};
    struct cs_cycle_account a = {.cfg = &cfg, .scale_fitted = true, .scale_timed = 1, .summary.total = 100};
    a.summary.share[CS_CAUSE_DEPENDENCY] = 60;
    a.summary.high[CS_CAUSE_FALSE_SHARING] = 40;
    assert_false(cs_culprit_verdict(&a).contended);
    a.summary.high[CS_CAUSE_FALSE_SHARING] = 70;
    assert_true(cs_culprit_verdict(&a).contended);
    a.summary.high[CS_CAUSE_FALSE_SHARING] = 0;
    a.summary.contended = 20;
    assert_false(cs_culprit_verdict(&a).contended); /* most of it isn't in such a line */
    a.summary.contended = 50;
    assert_true(cs_culprit_verdict(&a).contended && !cs_culprit_verdict(&a).enough);
}

static void a_chain_is_no_verdict_where_returns_may_cost_half_as_much(void **state)
{
    (void)state;
    struct cs_cfg cfg = {0};
    struct cs_cycle_account a = {.cfg = &cfg, .summary.total = 100};
    a.summary.statics[CS_CAUSE_DEPENDENCY] = 60;
    a.summary.high[CS_CAUSE_RETURN] = 20;
    assert_false(cs_culprit_verdict(&a).returns);
    a.summary.high[CS_CAUSE_RETURN] = 35;
    assert_true(cs_culprit_verdict(&a).returns && !cs_culprit_verdict(&a).enough);
    a.summary.statics[CS_CAUSE_DEPENDENCY] = 0;
    a.summary.share[CS_CAUSE_DCACHE] = 60; /* that was seen */
    assert_false(cs_culprit_verdict(&a).returns);
}

static void returns_are_first_only_where_their_least_is(void **state)
{
    (void)state;
    struct cs_cfg cfg = {0};
    struct cs_cycle_account a = {.cfg = &cfg, .summary.total = 100};
    a.summary.share[CS_CAUSE_RETURN] = 60;
    a.summary.share[CS_CAUSE_DCACHE] = 30;
    a.summary.low[CS_CAUSE_RETURN] = 50;
    assert_true(cs_culprit_verdict(&a).named == CS_CAUSE_RETURN && !cs_culprit_verdict(&a).returns);
    a.summary.low[CS_CAUSE_RETURN] = 25;
    assert_true(cs_culprit_verdict(&a).returns && !cs_culprit_verdict(&a).enough);
}

static void a_lock_is_no_verdict_where_false_sharing_may_cost_as_much(void **state)
{
    (void)state;
    struct cs_cfg cfg = {0};
    struct cs_cycle_account a = {.cfg = &cfg, .summary.total = 100};
    a.summary.share[CS_CAUSE_LOCK] = 60;
    a.summary.high[CS_CAUSE_FALSE_SHARING] = 40;
    assert_false(cs_culprit_verdict(&a).contended);
    a.summary.high[CS_CAUSE_FALSE_SHARING] = 80;
    assert_true(cs_culprit_verdict(&a).contended);
    a.summary.high[CS_CAUSE_FALSE_SHARING] = 0;
    a.summary.high[CS_CAUSE_TRUE_SHARING] = 80; /* of the lock itself: the same advice */
    assert_false(cs_culprit_verdict(&a).contended);
}

static void sharing_that_a_fit_has_is_first_only_where_its_least_is(void **state)
{
    (void)state;
    struct cs_cfg cfg = {0};
    struct cs_cycle_account a = {.cfg = &cfg, .scale_fitted = true, .summary.total = 100};
    a.summary.share[CS_CAUSE_FALSE_SHARING] = 60;
    a.summary.share[CS_CAUSE_DEPENDENCY] = 30;
    a.summary.sharing_in_doubt = 20;
    assert_false(cs_culprit_verdict(&a).contended);
    a.summary.sharing_in_doubt = 35;
    assert_true(cs_culprit_verdict(&a).contended && !cs_culprit_verdict(&a).enough);
    a.summary.share[CS_CAUSE_TRUE_SHARING] = a.summary.share[CS_CAUSE_FALSE_SHARING];
    a.summary.share[CS_CAUSE_FALSE_SHARING] = 0;
    assert_true(cs_culprit_verdict(&a).contended);
    a.scale_fitted = false;
    assert_false(cs_culprit_verdict(&a).contended);
    a.scale_fitted = true;
    a.scale_timed = 1; /* the stall is measured */
    assert_false(cs_culprit_verdict(&a).contended);
}

/* It is second then itself, and must not be its own rival. */
static void where_nothing_explains_most_a_cause_is_compared_with_the_next_cause(void **state)
{
    (void)state;
    struct cs_cfg cfg = {0};
    struct cs_cycle_account a = {
        .cfg = &cfg, .scale_fitted = true, .summary = {.total = 100, .unexplained = 55}};
    a.summary.share[CS_CAUSE_FALSE_SHARING] = 38;
    a.summary.share[CS_CAUSE_PORT] = 1;
    a.summary.sharing_in_doubt = 30;
    const struct cs_culprit_verdict v = cs_culprit_verdict(&a);
    assert_true(v.first == CS_N_CAUSES && v.named == CS_CAUSE_FALSE_SHARING && v.rival == CS_CAUSE_PORT);
    assert_false(v.contended);
    a.summary.sharing_in_doubt = 38;
    assert_true(cs_culprit_verdict(&a).contended);
    a.summary.share[CS_CAUSE_FALSE_SHARING] = 0;
    a.summary.share[CS_CAUSE_RETURN] = 38;
    a.summary.low[CS_CAUSE_RETURN] = 5;
    assert_false(cs_culprit_verdict(&a).returns);
    a.summary.low[CS_CAUSE_RETURN] = 0.5;
    assert_true(cs_culprit_verdict(&a).returns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(so_many_bursts_as_needed_name_the_wrong_one_of_two_causes_seldom),
        cmocka_unit_test(what_the_schedule_has_only_by_a_lifted_scale_is_no_evidence_for_it),
        cmocka_unit_test(a_cause_is_named_only_if_it_is_one_at_the_executions_that_bursts_say),
        cmocka_unit_test(no_number_of_bursts_names_what_is_first_by_the_lifted_scale_alone),
        cmocka_unit_test(a_miss_that_no_burst_saw_is_no_verdict),
        cmocka_unit_test(what_nothing_explains_is_not_covered_by_a_small_cause),
        cmocka_unit_test(a_cause_that_is_small_or_that_the_generic_core_alone_names_is_no_verdict),
        cmocka_unit_test(what_the_core_s_width_takes_is_no_cause),
        cmocka_unit_test(causes_of_one_size_are_all_named_where_none_can_have_half),
        cmocka_unit_test(a_static_cause_is_no_verdict_where_another_thread_writes_the_lines),
        cmocka_unit_test(a_chain_is_no_verdict_where_a_taken_line_may_cost_as_much),
        cmocka_unit_test(sharing_that_a_fit_has_is_first_only_where_its_least_is),
        cmocka_unit_test(a_chain_is_no_verdict_where_returns_may_cost_half_as_much),
        cmocka_unit_test(returns_are_first_only_where_their_least_is),
        cmocka_unit_test(where_nothing_explains_most_a_cause_is_compared_with_the_next_cause),
        cmocka_unit_test(a_lock_is_no_verdict_where_false_sharing_may_cost_as_much),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
