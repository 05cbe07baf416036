/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists of CPUs, as the kernel writes them, and what a look at the real ones says. */
#include "sampler/perf/cpus.h"
#include "tests/unit/test.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h> /* after the four above, which it needs */

static void check(const char *list, int n, const int *wanted)
{
    int *got;
    assert_int_equal(cs_cpus_of_list(list, &got), n);
    for (int i = 0; i < n; i++)
        assert_int_equal(got[i], wanted[i]);
    free(got);
}

TEST(lists_are_ranges_and_numbers)
{
    check("0-3,8\n", 5, (const int[]){0, 1, 2, 3, 8});
    check("7", 1, (const int[]){7});
    check("0,2-3,5-5\n", 4, (const int[]){0, 2, 3, 5});
    check("\n", 0, NULL);
    int *got;
    assert_int_equal(cs_cpus_of_list("3-1", &got), -ENOMEM);
}

TEST(two_looks_at_a_machine_that_does_not_change_see_no_change)
{
    struct cs_cpus cpus;
    assert_int_equal(cs_cpus_open(&cpus), 0);
    assert_int_equal(cpus.n_online, sysconf(_SC_NPROCESSORS_ONLN));
    for (unsigned look = 0; look < 2 + cpus.n; look++) { /* every life is asked for */
        assert_false(cs_cpus_look(&cpus));
        assert_int_equal(cpus.n_online, sysconf(_SC_NPROCESSORS_ONLN));
    }
    cpus.cpu[0].life++; /* as if it had been away meanwhile */
    bool seen = false;
    for (unsigned look = 0; look < 2 + cpus.n / 16 && !seen; look++)
        seen = cs_cpus_look(&cpus);
    assert_true(seen);
    assert_true(cpus.cpu[0].gone);
    assert_true(cpus.cpu[0].online);
    assert_false(cs_cpus_look(&cpus));
    cs_cpus_close(&cpus);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_ranges_and_numbers),
        cmocka_unit_test(two_looks_at_a_machine_that_does_not_change_see_no_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
