/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Placement on machines written as strings, which we don't have. */

#include "observer/target/placement.h"
#include "tests/unit/test.h"

#include <string.h>

static struct cs_topology *machine(const char *synthetic, const char *allow)
{
    struct cs_topology *t = NULL;
    struct cs_error err;
    assert_int_equal(cs_topology_open(synthetic, &t, &err), 0);
    if (allow)
        assert_int_equal(cs_topology_allow(t, allow, &err), 0);
    return t;
}

/* Two packages with two L3 each, four cores an L3, two threads a core: CPUs 0 to 31. */
#define SERVER "package:2 l3:2 core:4 pu:2"

TEST(nearest_core_shares_the_deepest_cache)
{
    struct cs_topology *t = machine(SERVER, NULL);
    struct cs_placement p;
    struct cs_error err;
    assert_int_equal(cs_placement_choose(t, 9, CS_ANY_CPU, false, NULL, &p, &err), 0);
    assert_int_equal(p.target, 9);
    assert_int_equal(p.observer, 10); /* 8 is the sibling; 10 the next core of the same L3 */
    assert_false(p.smt);
    assert_string_equal(p.relation, "share the L3 cache");
    cs_topology_close(t);
}

TEST(smt_sibling_when_asked)
{
    struct cs_topology *t = machine(SERVER, NULL);
    struct cs_placement p;
    struct cs_error err;
    assert_int_equal(cs_placement_choose(t, CS_ANY_CPU, 12, true, NULL, &p, &err), 0);
    assert_int_equal(p.target, 13);
    assert_true(p.smt);
    assert_int_equal(cs_placement_choose(t, 4, 5, false, NULL, &p, &err), 0);
    assert_true(p.smt); /* asked for by number: allowed, and told */
    cs_topology_close(t);
}

TEST(without_smt_the_wish_is_refused)
{
    struct cs_topology *t = machine("package:1 l3:1 core:4 pu:1", NULL);
    struct cs_placement p;
    struct cs_error err;
    assert_true(cs_placement_choose(t, CS_ANY_CPU, CS_ANY_CPU, true, NULL, &p, &err) < 0);
    assert_non_null(strstr(err.text, "SMT"));
    assert_int_equal(cs_placement_choose(t, CS_ANY_CPU, CS_ANY_CPU, false, NULL, &p, &err), 0);
    assert_true(p.target == 3 && p.observer == 0);
    cs_topology_close(t);
}

TEST(nonsense_is_refused_in_words)
{
    struct cs_topology *t = machine(SERVER, "0-7");
    struct cs_placement p;
    struct cs_error err;
    assert_true(cs_placement_choose(t, 2, 2, false, NULL, &p, &err) < 0);
    assert_non_null(strstr(err.text, "cannot share CPU 2"));
    assert_true(cs_placement_choose(t, 9, CS_ANY_CPU, false, NULL, &p, &err) < 0);
    assert_non_null(strstr(err.text, "outside this process's cgroup"));
    assert_true(cs_placement_choose(t, 64, CS_ANY_CPU, false, NULL, &p, &err) < 0);
    assert_non_null(strstr(err.text, "no CPU 64"));
    cs_topology_close(t);
    t = machine(SERVER, "3");
    assert_true(cs_placement_choose(t, CS_ANY_CPU, CS_ANY_CPU, false, NULL, &p, &err) < 0);
    assert_non_null(strstr(err.text, "only one CPU"));
    cs_topology_close(t);
}

TEST(a_partner_within_the_cgroup_is_chosen)
{
    struct cs_topology *t = machine(SERVER, "9,20,30");
    struct cs_placement p;
    struct cs_error err;
    assert_int_equal(cs_placement_choose(t, 20, CS_ANY_CPU, false, NULL, &p, &err), 0);
    assert_int_equal(p.observer, 30); /* the same package, another L3 */
    assert_string_equal(p.relation, "share no cache, only the Package");
    cs_topology_close(t);
}

TEST(several_observers_get_pairs_of_their_own)
{
    struct cs_topology *t = machine("package:1 l3:16 core:8 pu:2", NULL); /* 256 CPUs */
    struct cs_cpu_set taken;
    struct cs_error err;
    unsigned seen[256] = {0};
    memset(&taken, 0, sizeof taken);
    for (int i = 0; i < 100; i++) {
        struct cs_placement p;
        assert_int_equal(cs_placement_choose(t, CS_ANY_CPU, CS_ANY_CPU, false, &taken, &p, &err), 0);
        assert_int_equal(seen[p.target]++, 0);
        assert_int_equal(seen[p.observer]++, 0);
        taken.bits[p.target / 64] |= 1ul << p.target % 64;
        taken.bits[p.observer / 64] |= 1ul << p.observer % 64;
        assert_true(cs_placement_choose(t, (int)p.target, CS_ANY_CPU, false, &taken, &p, &err) < 0);
    }
    cs_topology_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nearest_core_shares_the_deepest_cache),
        cmocka_unit_test(smt_sibling_when_asked),
        cmocka_unit_test(without_smt_the_wish_is_refused),
        cmocka_unit_test(nonsense_is_refused_in_words),
        cmocka_unit_test(a_partner_within_the_cgroup_is_chosen),
        cmocka_unit_test(several_observers_get_pairs_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
