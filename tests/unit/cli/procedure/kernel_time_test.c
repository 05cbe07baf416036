/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/procedure/kernel_time.h"
#include "tests/unit/test.h"

static void more_time_leads(void **state)
{
    (void)state;
    assert_true(kernel_time_leads(500, 100));
    assert_false(kernel_time_leads(100, 500));
    assert_false(kernel_time_leads(0, 0));
}

/* Twenty more of a thousand are one standard deviation's half. */
static void a_lead_by_chance_is_none(void **state)
{
    (void)state;
    assert_false(kernel_time_leads(510, 490));
    assert_true(kernel_time_leads(560, 440));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(more_time_leads),
                                       cmocka_unit_test(a_lead_by_chance_is_none)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
