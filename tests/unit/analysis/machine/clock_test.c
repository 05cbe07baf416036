/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/machine/time_base.h"
#include "tests/unit/test.h"

#include <math.h>

/* Ten chains of 2000 and 6000 adds at 0.7 ticks, reading cost 40; all but one of each kind disturbed. */
TEST(a_single_undisturbed_chain_of_each_length_is_enough)
{
    double shorter[10], longer[10];
    for (int i = 0; i < 10; i++) {
        shorter[i] = 40 + 0.7 * 2000 + 300 * (i != 3);
        longer[i] = 40 + 0.7 * 6000 + 5000 * (i != 7);
    }
    assert_true(fabs(cs_time_base_ticks_per_add(shorter, longer, 10, 2000, 6000) - 0.7) < 1e-9);
}

TEST(chains_of_equal_length_tell_nothing)
{
    double t[1] = {100};
    assert_true(cs_time_base_ticks_per_add(t, t, 1, 2000, 2000) < 0);
    assert_true(cs_time_base_ticks_per_add(t, t, 0, 2000, 6000) < 0);
}

/* A dependent multiplication takes 3 cycles on every x86-64 core since 2008: an independent truth. */
#if defined(__x86_64__)
static double core_cycles_of_a_multiplication(const struct cs_time_base *clock)
{
    double best = 1e18;
    for (int turn = 0; turn < 300; turn++) {
        uint32_t l0, h0, l1, h1, aux;
        uint64_t x = 3, y = 5, n = 400;
        __asm__ volatile("rdtscp" : "=a"(l0), "=d"(h0), "=c"(aux));
        __asm__ volatile("1: imul %1, %0\n\timul %1, %0\n\timul %1, %0\n\timul %1, %0\n\timul %1, %0\n\t"
                         "imul %1, %0\n\timul %1, %0\n\timul %1, %0\n\timul %1, %0\n\timul %1, %0\n\t"
                         "dec %2\n\tjnz 1b"
                         : "+r"(x), "+r"(y), "+r"(n)::"cc");
        __asm__ volatile("rdtscp" : "=a"(l1), "=d"(h1), "=c"(aux));
        double d = (double)(((uint64_t)h1 << 32 | l1) - ((uint64_t)h0 << 32 | l0));
        best = d < best ? d : best;
    }
    return best / 4000 * clock->core_hz / clock->tsc_hz;
}

TEST(a_dependent_multiplication_takes_three_calibrated_cycles)
{
    double cycles = 0;
    for (int attempt = 0; attempt < 5 && !(fabs(cycles - 3) < 0.15); attempt++) { /* the clock may change */
        struct cs_time_base clock;
        struct cs_error err = {0};
        assert_int_equal(cs_time_base_measure(&clock, &err), 0);
        cycles = core_cycles_of_a_multiplication(&clock);
    }
    assert_true(fabs(cycles - 3) < 0.15);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_single_undisturbed_chain_of_each_length_is_enough),
        cmocka_unit_test(chains_of_equal_length_tell_nothing),
#if defined(__x86_64__)
        cmocka_unit_test(a_dependent_multiplication_takes_three_calibrated_cycles),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
