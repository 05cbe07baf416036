/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which lines a set of the first-level cache still has. */
#include "sampler/burst/replayer/trace/cache_sets.h"
#include "tests/unit/test.h"

static struct cache_sets sets;

/* Goes over `n` lines, `apart` of each other, twice. How many of the second time are gone? */
static unsigned gone(unsigned ways, unsigned n, uint64_t apart)
{
    unsigned lost = 0;
    cache_sets_begin(&sets, ways);
    for (unsigned i = 0; i < 2 * n; i++)
        lost += !cache_sets_use(&sets, 1000 + i % n * apart) && i >= n;
    return lost;
}

TEST(as_many_lines_as_ways_stay)
{
    assert_int_equal(gone(8, 8, 64), 0);
    assert_int_equal(gone(12, 12, 128), 0);
    assert_int_equal(gone(8, 16, 32), 0); /* two sets */
}

TEST(more_of_one_set_take_each_others_place)
{
    assert_int_equal(gone(8, 9, 64), 9);
    assert_int_equal(gone(8, 64, 64), 64);
    assert_int_equal(gone(12, 13, 640), 13);
}

TEST(lines_that_follow_each_other_use_all_sets)
{
    assert_int_equal(gone(8, 256, 1), 0);
    assert_int_equal(gone(8, 256, 65), 0); /* a line of padding a page */
}

TEST(an_unknown_processor_has_as_many_ways_as_any)
{
    assert_int_equal(gone(0, CACHE_WAYS_MAX, 64), 0);
    assert_int_equal(gone(1000, CACHE_WAYS_MAX + 1, 64), CACHE_WAYS_MAX + 1);
    assert_true(cache_sets_ways_here() <= 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_many_lines_as_ways_stay),
        cmocka_unit_test(more_of_one_set_take_each_others_place),
        cmocka_unit_test(lines_that_follow_each_other_use_all_sets),
        cmocka_unit_test(an_unknown_processor_has_as_many_ways_as_any),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
