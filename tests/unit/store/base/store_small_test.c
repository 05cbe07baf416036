/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The small things that the store module offers to all: arrays, orders, random numbers, delimited text. */

#include "store/base/array.h"
#include "store/base/order.h"
#include "store/base/random.h"
#include "tests/unit/test.h"

struct pair {
    uint32_t number;
    uint64_t square;
};

TEST(an_array_keeps_what_was_added_while_it_grows)
{
    CS_ARRAY(struct pair) pairs = {0};
    for (uint32_t i = 0; i < 1000; i++) {
        struct pair *one = cs_array_add(&pairs);
        assert_non_null(one);
        assert_int_equal(one->number | one->square, 0); /* zeroed */
        *one = (struct pair){i, (uint64_t)i * i};
    }
    assert_int_equal(pairs.n, 1000);
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(pairs.at[i].square, (uint64_t)pairs.at[i].number * i);
    cs_array_free(&pairs);
    assert_null(pairs.at);
    assert_int_equal(pairs.n + pairs.capacity, 0);
}

TEST(an_array_that_cannot_grow_stays_as_it_was)
{
    CS_ARRAY(struct pair) pairs = {0};
    cs_array_add(&pairs)->number = 7;
    size_t capacity = pairs.capacity;
    assert_int_equal(cs_array_reserve(&pairs, SIZE_MAX / 8), -ENOMEM); /* bytes overflow */
    assert_int_equal(pairs.capacity, capacity);
    assert_int_equal(pairs.at[0].number, 7);
    cs_array_free(&pairs);

    uint8_t *bytes = NULL, n = 0, small = 0; /* a capacity of 8 bits is never wrapped */
    for (; cs_array_room(bytes, n, small) == 0; n++)
        bytes[n] = n;
    assert_int_equal(n, 255);
    assert_int_equal(small, 255);
    assert_int_equal(bytes[254], 254);
    free(bytes);
}

CS_ORDER(by_size_then_number, struct pair, cs_order(b->square, a->square), cs_order(a->number, b->number))

TEST(an_order_goes_by_the_first_comparison_that_differs)
{
    struct pair pairs[] = {{2, 5}, {1, UINT64_MAX}, {UINT32_MAX, 5}, {0, 5}, {7, 0}};
    const struct pair sought = {2, 5}, absent = {3, 5};
    qsort(pairs, 5, sizeof *pairs, by_size_then_number);
    const uint32_t expected[] = {1, 0, 2, UINT32_MAX, 7};
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(pairs[i].number, expected[i]);
    assert_ptr_equal(bsearch(&sought, pairs, 5, sizeof *pairs, by_size_then_number), &pairs[2]);
    assert_null(bsearch(&absent, pairs, 5, sizeof *pairs, by_size_then_number));
}

TEST(random_numbers_are_those_of_splitmix64)
{
    /* The first numbers of seed 1234567, as other implementations (Rosetta Code, Java's) give them. */
    struct cs_random random = {1234567};
    assert_true(cs_random_next(&random) == 6457827717110365317u);
    assert_true(cs_random_next(&random) == 3203168211198807973u);
    assert_true(cs_random_next(&random) == 9817491932198370423u);
}

TEST(random_units_fill_the_open_interval_evenly)
{
    struct cs_random random = {0};
    unsigned tenth[10] = {0}, of_ten[10] = {0};
    for (unsigned i = 0; i < 100000; i++) {
        double unit = cs_random_unit(&random);
        assert_true(unit > 0 && unit < 1);
        tenth[(unsigned)(unit * 10)]++;
        uint64_t below = cs_random_below(&random, 10);
        assert_true(below < 10);
        of_ten[below]++;
    }
    for (unsigned i = 0; i < 10; i++) { /* 10,000 each, six standard deviations of 95 */
        assert_in_range(tenth[i], 9430, 10570);
        assert_in_range(of_ten[i], 9430, 10570);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_array_keeps_what_was_added_while_it_grows),
        cmocka_unit_test(an_array_that_cannot_grow_stays_as_it_was),
        cmocka_unit_test(an_order_goes_by_the_first_comparison_that_differs),
        cmocka_unit_test(random_numbers_are_those_of_splitmix64),
        cmocka_unit_test(random_units_fill_the_open_interval_evenly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
