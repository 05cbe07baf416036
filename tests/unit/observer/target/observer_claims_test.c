/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Several observers at once take different CPUs, and leave none behind. CPUs far beyond this machine's are
 * claimed: nothing else asks for them. */
#include "observer/target/claims.h"
#include "tests/unit/test.h"

static bool taken(unsigned cpu)
{
    struct cs_cpu_set set;
    cs_claims_taken(1024, &set);
    return set.bits[cpu / (8 * sizeof set.bits[0])] >> cpu % (8 * sizeof set.bits[0]) & 1;
}

TEST(what_one_has_another_sees_until_it_is_closed)
{
    struct cs_placement p = {.target = 1001, .observer = 1003};
    struct cs_claims mine, other;
    assert_true(cs_claims_open(&p, &mine));
    assert_true(taken(1001) && taken(1003));
    assert_false(taken(1002));
    assert_false(cs_claims_open(&p, &other));
    p = (struct cs_placement){.target = 1002,
                              .observer = 1003}; /* one of the two is enough to be in the way */
    assert_false(cs_claims_open(&p, &other));
    assert_false(taken(1002)); /* and then none is claimed */
    cs_claims_close(&mine);
    assert_false(taken(1001) || taken(1003));
}

TEST(three_observers_on_eight_cpus_get_pairs_of_their_own)
{
    struct cs_topology *t;
    struct cs_error err;
    struct cs_cpu_set set = {0};
    unsigned seen = 0;
    assert_int_equal(cs_topology_open("pack:1 l3:1 core:8 pu:1", &t, &err), 0);
    for (int i = 0; i < 3; i++) {
        struct cs_placement p;
        assert_int_equal(cs_placement_choose(t, CS_ANY_CPU, CS_ANY_CPU, false, &set, &p, &err), 0);
        assert_false(seen >> p.target & 1 || seen >> p.observer & 1);
        seen |= 1u << p.target | 1u << p.observer;
        set.bits[0] = seen;
    }
    cs_topology_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_one_has_another_sees_until_it_is_closed),
        cmocka_unit_test(three_observers_on_eight_cpus_get_pairs_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
