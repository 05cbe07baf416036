/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Truth: sums of exact binomial terms, tabulated chi-square quantiles, a worked Benjamini-Hochberg example.
 */
#include "analysis/statistics/significance.h"
#include "tests/unit/test.h"

#include <math.h>
#include <stdlib.h>

#define NEAR(a, b, eps) assert_true(fabs((a) - (b)) <= (eps)*fmax(1e-12, fabs(b)))

static double tail(int k, int n, double p, int upper)
{
    double sum = 0;
    for (int i = upper ? k : 0; i <= (upper ? n : k); i++)
        sum += exp(lgamma(n + 1) - lgamma(i + 1) - lgamma(n - i + 1) + i * log(p) + (n - i) * log1p(-p));
    return sum;
}

TEST(binomial_tails_equal_sums_of_terms)
{
    const double chances[] = {0.5, 0.1, 0.73};
    for (size_t c = 0; c < 3; c++)
        for (int n = 1; n < 200; n += 13)
            for (int k = 0; k <= n; k++) {
                double truth = fmin(1, 2 * fmin(tail(k, n, chances[c], 0), tail(k, n, chances[c], 1)));
                NEAR(cs_binomial_two_sided(k, n, chances[c]), truth, 1e-6);
            }
}

TEST(chi_square_agrees_with_the_table)
{
    NEAR(cs_chi_square_above(3.841459, 1), 0.05, 1e-5);
    NEAR(cs_chi_square_above(18.475307, 7), 0.01, 1e-5);
    NEAR(cs_chi_square_above(2.167350, 7), 0.95, 1e-5);
    NEAR(cs_chi_square_above(124.342113, 100), 0.05, 1e-5);
}

TEST(poisson_runs_differ_as_seldom_as_they_should)
{
    unsigned seed = 7, alarms = 0;
    for (int trial = 0; trial < 2000; trial++) {
        double count[8];
        for (int r = 0; r < 8; r++) {
            int n = 0; /* binomial(2000, 0.05): nearly Poisson(100) */
            for (int i = 0; i < 2000; i++)
                n += rand_r(&seed) % 20 == 0;
            count[r] = n;
        }
        alarms += cs_counts_differ(count, NULL, 8, 1) < 0.05;
    }
    assert_in_range(alarms, 50, 150); /* 5 % of 2000 is 100; the counts are a little under Poisson */
}

TEST(false_discovery_follows_the_worked_example)
{
    const double p[] = {0.01, 0.04, 0.03, 0.005};
    double q[4];
    assert_int_equal(cs_false_discovery(p, 4, 4, q), 0);
    NEAR(q[0], 0.02, 1e-9);
    NEAR(q[1], 0.04, 1e-9);
    NEAR(q[2], 0.04, 1e-9);
    NEAR(q[3], 0.02, 1e-9);
    assert_int_equal(cs_false_discovery(p, 4, 40, q), 0); /* four of forty that were looked at */
    NEAR(q[0], 0.2, 1e-9);
    NEAR(q[1], 0.4, 1e-9);
}

TEST(student_agrees_with_the_table)
{
    NEAR(cs_student_two_sided(12.7062, 1), 0.05, 1e-4);
    NEAR(cs_student_two_sided(-2.776445, 4), 0.05, 1e-4);
    NEAR(cs_student_two_sided(3.355387, 8), 0.01, 1e-4);
    NEAR(cs_student_two_sided(2.575829, (double)INFINITY), 0.01, 1e-4);
    NEAR(cs_student_two_sided(0, 5), 1.0, 1e-9);
}

TEST(median_ignores_what_is_not_finite)
{
    double v[] = {3, (double)NAN, 1, (double)INFINITY, 2};
    NEAR(cs_median(v, 5), 2.0, 0.0);
    assert_true(isnan(cs_median(v, 0)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(binomial_tails_equal_sums_of_terms),
        cmocka_unit_test(chi_square_agrees_with_the_table),
        cmocka_unit_test(poisson_runs_differ_as_seldom_as_they_should),
        cmocka_unit_test(false_discovery_follows_the_worked_example),
        cmocka_unit_test(student_agrees_with_the_table),
        cmocka_unit_test(median_ignores_what_is_not_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
