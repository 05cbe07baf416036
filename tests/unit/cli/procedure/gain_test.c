/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Gains of made-up accounts: figures by hand from the summary's rows. */
#include "cli/procedure/calc.h"
#include "tests/unit/test.h"

#include <math.h>

static void near(double is, double should)
{
    assert_true(fabs(is - should) < 1e-9);
}

/* 1,000 samples, of which `work` are instructions at the full width. */
static struct cs_cycle_account account_of(double work)
{
    return (struct cs_cycle_account){.summary = {.total = 1000, .execution = work}};
}

static void add(struct cs_cycle_account *a, enum cs_culprit_cause cause, double low, double share,
                double high)
{
    a->summary.low[cause] = low;
    a->summary.share[cause] = share;
    a->summary.high[cause] = high;
}

static struct cause_gain gain_of(const struct cs_cycle_account *a, enum cs_culprit_cause cause, double low,
                                 double share, double high)
{
    const struct worst_cause worst = {.cause = cause, .low = low, .share = share, .high = high, .reason = ""};
    struct cause_gain gain = cause_gain(&worst, a);
    assert_true(0 <= gain.least && gain.least <= gain.likely && gain.likely <= gain.most && gain.most <= 1);
    return gain;
}

static void likely_is_the_cause_at_all_its_places(void **state)
{
    (void)state;
    struct cs_cycle_account a = account_of(100);
    add(&a, CS_CAUSE_LOCK, 700, 700, 800);
    const struct cause_gain all = gain_of(&a, CS_CAUSE_LOCK, 0.7, 0.7, 0.8),
                            part = gain_of(&a, CS_CAUSE_LOCK, 0.35, 0.35, 0.4);
    near(all.likely, 0.7 * 0.9);
    near(part.likely, all.likely);
    near(part.most, all.most);
    near(all.least, 0.7 * 0.9 * 0.65);
    near(part.least, all.least / 2); /* only that place is mended */
}

static void the_least_is_halfway_to_the_lower_bound(void **state)
{
    (void)state;
    struct cs_cycle_account a = account_of(100);
    add(&a, CS_CAUSE_MISPREDICT, 200, 600, 700);
    near(gain_of(&a, CS_CAUSE_MISPREDICT, 0.2, 0.6, 0.7).least, 0.4 * 0.65);
    near(gain_of(&a, CS_CAUSE_MISPREDICT, 0.6, 0.6, 0.7).least, 0.6 * 0.65);
}

static void at_most_all_but_the_work_goes(void **state)
{
    (void)state;
    for (int work = 0; work <= 500; work += 100) {
        struct cs_cycle_account a = account_of(work);
        add(&a, CS_CAUSE_LOCK, 300, 400, 500);
        near(gain_of(&a, CS_CAUSE_LOCK, 0.3, 0.4, 0.5).most, 0.5 + 0.75 * (0.5 - work / 1000.0));
    }
}

/* Vector operations are less work, and so are fewer ones. */
static void work_at_busy_ports_is_no_bound(void **state)
{
    (void)state;
    struct cs_cycle_account a = account_of(400);
    add(&a, CS_CAUSE_PORT, 500, 500, 500);
    near(gain_of(&a, CS_CAUSE_PORT, 0.5, 0.5, 0.5).most, 0.5 + 0.75 * 0.4);
    near(gain_of(&a, CS_CAUSE_PORT, 0.5, 0.5, 0.5).likely, 0.5 * 0.9);
}

/* The model's work may be more than the cause leaves of the time. */
static void too_much_work_takes_nothing_off_the_cause(void **state)
{
    (void)state;
    struct cs_cycle_account a = account_of(600);
    add(&a, CS_CAUSE_LOCK, 500, 500, 500);
    near(gain_of(&a, CS_CAUSE_LOCK, 0.5, 0.5, 0.5).most, 0.5);
}

static void misses_of_both_kinds_go_together(void **state)
{
    (void)state;
    struct cs_cycle_account a = account_of(50);
    add(&a, CS_CAUSE_DCACHE, 0, 500, 850);
    add(&a, CS_CAUSE_DTLB, 0, 300, 800);
    a.summary.memory_high = 910;
    near(gain_of(&a, CS_CAUSE_DCACHE, 0, 0.5, 0.9).likely, 0.8);
    near(gain_of(&a, CS_CAUSE_DCACHE, 0, 0.5, 0.9).most, 0.91 + 0.75 * 0.04);
    const struct worst_cause early = {
        .cause = CS_CAUSE_DCACHE, .share = 0.5, .high = 0.9, .overlaps = true, .reason = ""};
    near(cause_gain(&early, &a).likely, 0.8 * 0.75); /* a prefetch is possible, and does half */
    struct worst_cause padded = early;
    padded.conflicts = true;
    near(cause_gain(&padded, &a).likely, 0.8 * 0.9);
    /* Huge pages save translations, not misses, but both may be translations. */
    near(gain_of(&a, CS_CAUSE_DTLB, 0, 0.3, 0.8).likely, 0.3);
    near(gain_of(&a, CS_CAUSE_DTLB, 0, 0.3, 0.8).most, 0.91 + 0.75 * 0.04);
}

static void four_chains_leave_a_quarter(void **state)
{
    (void)state;
    struct cs_cycle_account a = account_of(50);
    a.summary.statics[CS_CAUSE_DEPENDENCY] = 900;
    near(gain_of(&a, CS_CAUSE_DEPENDENCY, 0.9, 0.9, 0.9).likely, 0.75);
    a.summary.statics[CS_CAUSE_DEPENDENCY] = 600;
    near(gain_of(&a, CS_CAUSE_DEPENDENCY, 0.6, 0.6, 0.6).likely, 0.6);
    near(gain_of(&a, CS_CAUSE_DEPENDENCY, 0.6, 0.6, 0.6).least, 0.6 * 0.75 * 0.65);
}

/* Medians of kernels without their cause (docs/lab/culprits.md). */
static void what_takes_the_place_of_a_cause_is_no_gain(void **state)
{
    (void)state;
    static const struct {
        enum cs_culprit_cause cause;
        double gained;
    } kinds[] = {{CS_CAUSE_DCACHE, 1},       {CS_CAUSE_DTLB, 1},      {CS_CAUSE_MISPREDICT, 1},
                 {CS_CAUSE_STORE_BUFFER, 1}, {CS_CAUSE_FORWARD, 0.9}, {CS_CAUSE_DIVIDER, 0.9},
                 {CS_CAUSE_PORT, 0.9},       {CS_CAUSE_ICACHE, 0.65}, {CS_CAUSE_SYSCALL, 0.5}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct cs_cycle_account a = account_of(100);
        add(&a, kinds[i].cause, 500, 500, 500);
        const struct cause_gain gain = gain_of(&a, kinds[i].cause, 0.5, 0.5, 0.5);
        near(gain.likely, 0.5 * kinds[i].gained);
        near(gain.least, 0.5 * kinds[i].gained * 0.65);
    }
}

/* A split's own cost, as of two pages, goes whole. */
static void of_two_accesses_one_stays(void **state)
{
    (void)state;
    struct cs_cycle_account a = account_of(20);
    add(&a, CS_CAUSE_SPLIT, 900, 900, 900);
    near(gain_of(&a, CS_CAUSE_SPLIT, 0.9, 0.9, 0.9).likely, 0.9);
    a.summary.split_accesses = 90;
    near(gain_of(&a, CS_CAUSE_SPLIT, 0.9, 0.9, 0.9).likely, 0.9 - 0.4 * 0.09);
    near(gain_of(&a, CS_CAUSE_SPLIT, 0.9, 0.9, 0.9).least, (0.9 - 0.4 * 0.09) * 0.65);
    a.summary.split_accesses = 900;
    near(gain_of(&a, CS_CAUSE_SPLIT, 0.9, 0.9, 0.9).likely, 0.9 * 0.6);
}

/* Its share is a weight, so the least is of its lower bound. */
static void a_shared_line_may_cost_little(void **state)
{
    (void)state;
    struct cs_cycle_account a = account_of(100);
    add(&a, CS_CAUSE_FALSE_SHARING, 0, 600, 800);
    const struct cause_gain gain = gain_of(&a, CS_CAUSE_FALSE_SHARING, 0, 0.6, 0.8);
    near(gain.least, 0);
    near(gain.most, 0.8 + 0.75 * 0.1);
    near(gain_of(&a, CS_CAUSE_FALSE_SHARING, 0.5, 0.6, 0.8).least, 0.5 * 0.9 * 0.667);
}

static void no_cause_gains_nothing(void **state)
{
    (void)state;
    struct cs_cycle_account a = account_of(100);
    near(gain_of(&a, CS_N_CAUSES, 0, 0.9, 0.9).most, 0);
    a.summary.total = 0;
    near(gain_of(&a, CS_CAUSE_LOCK, 0, 0.9, 0.9).most, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(likely_is_the_cause_at_all_its_places),
        cmocka_unit_test(the_least_is_halfway_to_the_lower_bound),
        cmocka_unit_test(at_most_all_but_the_work_goes),
        cmocka_unit_test(work_at_busy_ports_is_no_bound),
        cmocka_unit_test(too_much_work_takes_nothing_off_the_cause),
        cmocka_unit_test(misses_of_both_kinds_go_together),
        cmocka_unit_test(four_chains_leave_a_quarter),
        cmocka_unit_test(what_takes_the_place_of_a_cause_is_no_gain),
        cmocka_unit_test(of_two_accesses_one_stays),
        cmocka_unit_test(a_shared_line_may_cost_little),
        cmocka_unit_test(no_cause_gains_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
