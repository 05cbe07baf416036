/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Properties of dte/: random readings against definitions written down a second time, in floating point. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dte/bins.h"
#include "dte/dte.h"
#include "dte/moments.h"

#include <math.h>
#include <stdlib.h>

static uint64_t seed = 88172645463325252ull;

static uint64_t draw(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

static uint64_t below(uint64_t limit)
{
    return draw() % limit;
}

static struct cs_dte_reading reading(uint64_t start, uint64_t took, uint64_t thread, uint64_t tag)
{
    return (struct cs_dte_reading){start, start + took, thread, tag, true, false};
}

static void verdict_agrees_with_cpc(void **state)
{
    (void)state;
    struct cs_dte_rule rule = cs_dte_paper_rule();
    unsigned kept = 0, skewed = 0;
    for (int i = 0; i < 200000; i++) {
        struct cs_dte_reading a = reading(draw() >> 2, below(300), 1, 1);
        struct cs_dte_reading b = reading(a.end + 1 + below(1u << (4 + i % 12)), below(300), 1, 2);
        long double starts = b.start - a.start, ends = b.end - a.end;
        long double cpc = ends / starts;
        enum cs_dte_verdict v = cs_dte_judge(&rule, &a, &b);
        if (fabsl(cpc - 1) <= 0.009999999L)
            assert_int_equal(v, CS_DTE_KEPT);
        if (fabsl(cpc - 1) >= 0.010000001L)
            assert_int_equal(v, CS_DTE_SKEW);
        kept += v == CS_DTE_KEPT;
        skewed += v == CS_DTE_SKEW;
    }
    assert_true(kept > 10000 && skewed > 10000);
}

static void the_same_shift_of_all_clocks_changes_no_verdict(void **state)
{
    (void)state;
    struct cs_dte_rule rule = cs_dte_paper_rule();
    rule.same_tag = true;
    for (int i = 0; i < 50000; i++) {
        struct cs_dte_reading a = reading(below(1u << 30), below(200), below(2), below(2));
        struct cs_dte_reading b = reading(a.end + below(20000), below(200), below(2), below(2));
        enum cs_dte_verdict before = cs_dte_judge(&rule, &a, &b);
        uint64_t shift = draw() >> 1;
        a.start += shift, a.end += shift, b.start += shift, b.end += shift;
        assert_int_equal(cs_dte_judge(&rule, &a, &b), before);
    }
}

static void a_wider_band_never_drops_more(void **state)
{
    (void)state;
    for (int i = 0; i < 50000; i++) {
        uint64_t starts = 1 + below(CS_DTE_CYCLES_MAX - 1), ends = 1 + below(2 * starts);
        uint64_t narrow = below(1ull << 32), wide = narrow + below((1ull << 32) - narrow);
        if (cs_dte_in_band(starts, ends, narrow))
            assert_true(cs_dte_in_band(starts, ends, wide));
    }
}

static void equal_reading_times_are_always_kept(void **state)
{
    (void)state;
    struct cs_dte_rule rule = cs_dte_paper_rule();
    rule.band_q32 = 0;
    for (int i = 0; i < 50000; i++) {
        uint64_t took = below(1000);
        struct cs_dte_reading a = reading(draw() >> 2, took, 7, 0);
        struct cs_dte_reading b = reading(a.end + 1 + below(CS_DTE_CYCLES_MAX / 2), took, 7, 0);
        assert_int_equal(cs_dte_judge(&rule, &a, &b), CS_DTE_KEPT);
    }
}

static void each_cause_has_its_verdict(void **state)
{
    (void)state;
    struct cs_dte_rule rule = cs_dte_paper_rule();
    struct cs_dte_reading a = reading(1000, 50, 1, 1), b = reading(2000, 50, 1, 2), c;
    assert_int_equal(cs_dte_judge(&rule, &a, &b), CS_DTE_KEPT);
    rule.same_tag = true;
    assert_int_equal(cs_dte_judge(&rule, &a, &b), CS_DTE_TAG);
    c = b, c.thread = 2;
    assert_int_equal(cs_dte_judge(&rule, &a, &c), CS_DTE_THREAD);
    rule.same_thread = false;
    assert_int_equal(cs_dte_judge(&rule, &a, &c), CS_DTE_TAG);
    c = b, c.complete = false;
    assert_int_equal(cs_dte_judge(&rule, &a, &c), CS_DTE_UNREAD);
    assert_int_equal(cs_dte_judge(&rule, &c, &a), CS_DTE_BACKWARDS);
    assert_int_equal(cs_dte_judge(&rule, &a, &a), CS_DTE_BACKWARDS);
    struct cs_dte_reading away = a, away_too = b;
    away.descheduled = away_too.descheduled = true;
    assert_int_equal(cs_dte_judge(&rule, &away, &away_too), CS_DTE_DESCHEDULED);
    rule.slow_cycles = 49;
    assert_int_equal(cs_dte_judge(&rule, &a, &b), CS_DTE_SKEW);
    rule.slow_cycles = 50;
    assert_int_not_equal(cs_dte_judge(&rule, &a, &b), CS_DTE_SKEW);
    rule.gap_cycles = 1000;
    assert_int_equal(cs_dte_judge(&rule, &a, &b), CS_DTE_GAP);
    rule.gap_cycles = 2000;
    c = reading(2000, 5000, 1, 2); /* away while it was reading */
    assert_int_equal(cs_dte_judge(&rule, &a, &c), CS_DTE_GAP);
    rule.gap_cycles = UINT64_MAX;
    c = reading(a.start + CS_DTE_CYCLES_MAX, 50, 1, 1);
    assert_int_equal(cs_dte_judge(&rule, &a, &c), CS_DTE_GAP);
    for (enum cs_dte_verdict v = 0; v < CS_DTE_VERDICTS; v++)
        assert_true(cs_dte_name(v)[0] && cs_dte_meaning(v)[0]);
}

static void every_interval_is_counted_once(void **state)
{
    (void)state;
    struct cs_dte_rule rule = {cs_dte_band(0.01), 10000, 5000, true, true};
    struct cs_dte_tally tally = {0};
    struct cs_dte_reading from = reading(1, 40, 0, 0), first = from;
    const unsigned n = 100000;
    for (unsigned i = 0; i < n; i++) {
        struct cs_dte_reading to =
            reading(from.end + 1 + below(6000), 40 + below(20), below(50) == 0, below(2));
        to.complete = below(100) != 0;
        cs_dte_count(&tally, cs_dte_judge(&rule, &from, &to), to.start - from.start);
        from = to;
    }
    assert_int_equal(cs_dte_tally_intervals(&tally), n);
    assert_int_equal(cs_dte_tally_cycles(&tally), from.start - first.start);
    assert_true(tally.intervals[CS_DTE_GAP] && tally.intervals[CS_DTE_TAG] && tally.intervals[CS_DTE_UNREAD]);
}

/* A counter in memory takes longer to read when it has just changed. The paper's test then selects intervals
 * by what happened in them; the bound on reading time does not. */
static void reading_time_that_depends_on_the_value_biases_the_band_but_not_the_bound(void **state)
{
    (void)state;
    struct cs_dte_rule paper = cs_dte_paper_rule(), bound = paper;
    bound.band_q32 = cs_dte_band(1);
    bound.slow_cycles = 1000;
    double truth[2] = {0}, by_paper[2] = {0}, by_bound[2] = {0};
    struct cs_dte_reading from = reading(1000, 60, 1, 1);
    for (int i = 0; i < 200000; i++) {
        unsigned events = below(3) == 0;
        uint64_t took = below(1000) == 0 ? 60 + below(50000)
                        : events         ? 200
                                         : 60; /* an interrupt; a cache miss */
        struct cs_dte_reading to = reading(from.end + 100 + below(10), took, 1, 1);
        double *sums[3] = {truth, cs_dte_judge(&paper, &from, &to) == CS_DTE_KEPT ? by_paper : NULL,
                           cs_dte_judge(&bound, &from, &to) == CS_DTE_KEPT ? by_bound : NULL};
        for (int k = 0; k < 3; k++)
            if (sums[k]) {
                sums[k][0] += events;
                sums[k][1] += 1;
            }
        from = to;
    }
    double rate = truth[0] / truth[1];
    assert_true(fabs(by_bound[0] / by_bound[1] / rate - 1) < 0.02);
    assert_true(fabs(by_paper[0] / by_paper[1] / rate - 1) > 0.2);
}

/* Filtering is for this: the rate of a counter that runs at a constant speed, read at a random moment between
 * the two clocks, is off by at most what the band and the reading time allow; unfiltered it is not. */
static void kept_rates_are_near_the_true_rate(void **state)
{
    (void)state;
    struct cs_dte_rule rule = cs_dte_paper_rule();
    double worst_kept = 0, worst_all = 0;
    struct cs_dte_reading from = reading(1000, 60, 1, 1);
    double at_from = 1030;
    unsigned kept = 0;
    for (int i = 0; i < 200000; i++) {
        uint64_t took = below(10) == 0 ? 60 + below(4000) : 60; /* now and then the reading is disturbed */
        struct cs_dte_reading to = reading(from.end + 600 + below(100), took, 1, 1);
        double at_to = (double)to.start + (double)took / 2;
        double rate = (at_to - at_from) / (double)(to.start - from.start); /* truth: one event a cycle */
        worst_all = fmax(worst_all, fabs(rate - 1));
        if (cs_dte_judge(&rule, &from, &to) == CS_DTE_KEPT) {
            worst_kept = fmax(worst_kept, fabs(rate - 1));
            kept++;
        }
        from = to, at_from = at_to;
    }
    assert_true(kept > 100000);
    assert_true(worst_kept <= 0.0101);
    assert_true(worst_all > 0.5);
}

static void a_deviation_is_the_root_of_the_mean_square_distance(void **state)
{
    (void)state;
    /* 1 and 5, weight 3 and 1: mean 2, squares 3 * 1 + 1 * 9. */
    struct cs_dte_moments m = {.weight = 4, .mean = 2, .m2 = 12}, empty = {0};
    assert_true(cs_dte_moments_variance(&m) == 3);
    assert_true(fabs(cs_dte_moments_deviation(&m) - sqrt(3)) < 1e-15);
    assert_true(cs_dte_moments_deviation(&empty) == 0);
}

static void cycle_bins_are_ordered_and_narrow(void **state)
{
    (void)state;
    assert_int_equal(cs_dte_cycle_bin(UINT64_MAX), CS_DTE_CYCLE_BINS - 1);
    for (unsigned b = 0; b < CS_DTE_CYCLE_BINS; b++) {
        uint64_t least = cs_dte_cycle_bin_least(b);
        assert_int_equal(cs_dte_cycle_bin(least), b);
        if (b)
            assert_int_equal(cs_dte_cycle_bin(least - 1), b - 1);
    }
    for (int i = 0; i < 100000; i++) {
        uint64_t x = draw() >> below(64);
        double middle = cs_dte_cycle_bin_middle(cs_dte_cycle_bin(x));
        assert_true(fabs(middle - (double)x) <= (double)x / 16 + 1e-9);
    }
}

static void rate_bins_are_ordered_and_narrow(void **state)
{
    (void)state;
    assert_int_equal(cs_dte_rate_bin(0.0), 0);
    assert_int_equal(cs_dte_rate_bin(1e-30), 1);
    assert_int_equal(cs_dte_rate_bin(1e30), CS_DTE_RATE_BINS - 1);
    assert_int_equal(cs_dte_rate_bin(256.0), CS_DTE_RATE_BINS - 1);
    for (unsigned b = 2; b < CS_DTE_RATE_BINS; b++) {
        double least = cs_dte_rate_bin_least(b);
        assert_int_equal(cs_dte_rate_bin(least), b);
        assert_int_equal(cs_dte_rate_bin(nextafter(least, 0)), b - 1);
    }
    for (int i = 0; i < 100000; i++) {
        double x = ldexp(1.0 + (double)below(1u << 30) / (1u << 30), (int)below(32) - 24);
        double middle = cs_dte_rate_bin_middle(cs_dte_rate_bin(x));
        assert_true(x >= 256 || fabs(middle - x) <= x / 16);
    }
}

static void quantiles_and_distance_follow_their_definitions(void **state)
{
    (void)state;
    static uint64_t counts[CS_DTE_CYCLE_BINS];
    for (int i = 1; i <= 1000; i++)
        counts[cs_dte_cycle_bin((uint64_t)i)]++;
    assert_true(fabs(cs_dte_cycle_quantile(counts, 0.5) - 500) < 32);
    assert_true(fabs(cs_dte_cycle_quantile(counts, 0.99) - 990) < 64);
    assert_true(cs_dte_cycle_quantile(counts, 0) == 1);
    static uint64_t rates[CS_DTE_RATE_BINS];
    for (int i = 1; i <= 100000; i++)
        rates[cs_dte_rate_bin(i * 1e-5)]++;
    for (double q = 0.05; q < 1;
         q += 0.05) /* bins are 6 % wide; evenly spread rates are found within 0.1 % */
        assert_true(fabs(cs_dte_rate_quantile(rates, q) - q) < 0.001);
    double a[4] = {1, 1, 1, 1}, b[4] = {2, 2, 2, 2}, c[4] = {0, 0, 0, 5}, none[4] = {0};
    assert_true(cs_dte_ks_distance(a, b, 4) == 0);
    assert_true(cs_dte_ks_distance(a, c, 4) == 0.75);
    assert_true(cs_dte_ks_distance(c, a, 4) == 0.75);
    assert_true(cs_dte_ks_distance(a, none, 4) == 1);
    assert_true(cs_dte_ks_distance(none, none, 4) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verdict_agrees_with_cpc),
        cmocka_unit_test(the_same_shift_of_all_clocks_changes_no_verdict),
        cmocka_unit_test(a_wider_band_never_drops_more),
        cmocka_unit_test(equal_reading_times_are_always_kept),
        cmocka_unit_test(each_cause_has_its_verdict),
        cmocka_unit_test(every_interval_is_counted_once),
        cmocka_unit_test(reading_time_that_depends_on_the_value_biases_the_band_but_not_the_bound),
        cmocka_unit_test(kept_rates_are_near_the_true_rate),
        cmocka_unit_test(a_deviation_is_the_root_of_the_mean_square_distance),
        cmocka_unit_test(cycle_bins_are_ordered_and_narrow),
        cmocka_unit_test(rate_bins_are_ordered_and_narrow),
        cmocka_unit_test(quantiles_and_distance_follow_their_definitions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
