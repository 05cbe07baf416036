/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Recordings of equal programs vary in what a cause took: that is no growth. */
#include "cli/gate/causes/cause_compare.h"
#include "cli/gate/causes/surely_grew.h"
#include "tests/unit/test.h"

#include <math.h>

#include <string.h>

enum { RUNS_MAX = 48 };

/* `n` recordings of each, base, head, head, base; a value of each. */
static double chance(const double *base, const double *head, unsigned n, double least, bool hashed)
{
    struct gate_run run[RUNS_MAX];
    for (unsigned i = 0; i < n; i++) {
        const unsigned head_first = i % 2;
        run[2 * i] = (struct gate_run){.side = head_first, .began_ms = 2 * i + 1, .machine = (double)NAN};
        run[2 * i + 1] =
            (struct gate_run){.side = 1 - head_first, .began_ms = 2 * i + 2, .machine = (double)NAN};
        run[2 * i + head_first].value = base[i];
        run[2 * i + 1 - head_first].value = head[i];
    }
    return gate_cause_chance(run, 2 * n, least, hashed);
}

/* Of seven causes that were looked at. */
static bool sure(const double *base, const double *head, unsigned n, double least, bool hashed)
{
    struct gate gate = {.n_guilty = 1};
    gate.guilty[0].cause_chance = chance(base, head, n, least, hashed);
    gate_cause_settle(&gate, 7);
    return gate.guilty[0].sure_cause;
}

TEST(only_addresses_are_recorded)
{
    static const char *const yes[] = {"d-cache", "dtlb", GATE_MEMORY, "false-sharing"};
    static const char *const no[] = {"port",         "mispredict", "dependency",   "front-end",
                                     "i-cache",      "itlb",       "alias",        "split",
                                     "store-buffer", "lock",       "instructions", ""};
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
        assert_true(gate_cause_is_recorded(yes[i]));
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        assert_false(gate_cause_is_recorded(no[i]));
}

/* Percent of a function's time that calc saw in equal programs, recording by recording: one side's bursts met more misses. */
static const double base[] = {3.75, 3.92, 2.97, 8.24}, head[] = {2.94, 0, 0.19, 0.07};

TEST(what_recordings_vary_by_is_no_growth)
{
    assert_false(sure(head, base, 4, 1, false));
    assert_false(sure(base, head, 4, 1, false));
}

TEST(a_growth_beyond_that_is_one)
{
    static const double more[] = {42, 44, 41, 45, 43, 42, 44, 41}, few[] = {3, 4, 2, 5, 3, 4, 2, 5};
    assert_true(sure(few, more, 4, 10, false));
    assert_true(sure(few, more, 8, 10, true));
    assert_false(sure(few, more, 3, 10, false));
    assert_false(sure(few, more, 7, 10, true));  /* where addresses are hashed */
    assert_false(sure(few, more, 8, 41, false)); /* not by as much as is asked for */
    assert_false(sure(more, few, 8, 10, false));
}

/* The more was looked at, the less a chance says; a row that has no such cause takes no part. */
TEST(what_was_looked_at_counts)
{
    for (unsigned k = 0; k < 2; k++) {
        struct gate gate = {.n_guilty = 3};
        gate.guilty[0].cause_chance = 1;
        gate.guilty[2].cause_chance = 1e-4;
        gate_cause_settle(&gate, k ? 6 : 4);
        assert_false(gate.guilty[0].sure_cause || gate.guilty[1].sure_cause);
        assert_int_equal(gate.guilty[2].sure_cause, !k);
    }
}

/* 100,000 comparisons of equal recordings, most of which have none of the cause and some much: more than one in 10,000 would be
 * too many, because such a comparison also needs a pace that grew. */
TEST(equal_recordings_are_rarely_a_growth)
{
    uint64_t x = 88172645463325252;
    unsigned wrong = 0;
    for (unsigned k = 0; k < 100000; k++) {
        double value[2][24];
        const unsigned n = k % 2 ? 4 : 16;
        for (unsigned i = 0; i < 2 * n; i++) {
            x ^= x << 13, x ^= x >> 7, x ^= x << 17;
            const double u = (double)(x >> 11) * 0x1p-53;
            value[i % 2][i / 2] = u < 0.5 ? 0 : (u - 0.5) * (u - 0.5) * 40;
        }
        wrong += sure(value[0], value[1], n, 0.1, false);
    }
    assert_in_range(wrong, 0, 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_addresses_are_recorded),
        cmocka_unit_test(what_recordings_vary_by_is_no_growth),
        cmocka_unit_test(a_growth_beyond_that_is_one),
        cmocka_unit_test(what_was_looked_at_counts),
        cmocka_unit_test(equal_recordings_are_rarely_a_growth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
