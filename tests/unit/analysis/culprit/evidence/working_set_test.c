/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Working sets of known size, from draws as bursts make them: up to sixteen of an access and burst. */
#include "analysis/culprit/evidence/working_set.h"
#include "store/table/burst_schemas.h"
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>

enum { BURSTS = 20, EACH = CS_FOOTPRINT_DRAWS, TRIALS = 100, AT = 0x40 };

static uint64_t random_below(uint64_t n)
{
    return (uint64_t)((((unsigned __int128)lrand48() << 31 | (unsigned long)lrand48()) * n) >> 62);
}

/* Lines of burst `burst` and draw `i`; `begin` is drawn for each burst, below 1. */
typedef uint64_t shape(unsigned burst, unsigned i, double begin);

static uint64_t of_64(unsigned burst, unsigned i, double begin)
{
    return (void)burst, (void)i, (void)begin, 1000 + random_below(64);
}
static uint64_t of_1000(unsigned burst, unsigned i, double begin)
{
    return (void)burst, (void)i, (void)begin, 77 + random_below(1000);
}
static uint64_t of_16384(unsigned burst, unsigned i, double begin)
{
    return (void)burst, (void)i, (void)begin, 1 << 20 | random_below(16384);
}
static uint64_t of_16_million(unsigned burst, unsigned i, double begin)
{
    return (void)burst, (void)i, (void)begin, random_below(16 << 20);
}
static uint64_t along_a_million(unsigned burst, unsigned i, double begin)
{
    return (void)burst, (void)i, (uint64_t)(begin * (1 << 20)) + random_below(125);
}
static uint64_t of_two_arrays(unsigned burst, unsigned i, double begin)
{
    return (void)burst, (void)i, (void)begin, (random_below(2) << 40) + random_below(16384);
}
static uint64_t mostly_of_32(unsigned burst, unsigned i, double begin)
{
    return (void)burst, (void)i, (void)begin,
           random_below(2) ? random_below(32) << 15 : random_below(1 << 20);
}
static uint64_t each_fourth(unsigned burst, unsigned i, double begin)
{
    return (void)burst, (void)i, (void)begin, 4 * random_below(4096);
}
static uint64_t one_of_each_page(unsigned burst, unsigned i, double begin)
{
    const uint64_t page = random_below(768);
    return (void)burst, (void)i, (void)begin, page * 64 + (page * 2654435761 >> 7) % 64;
}
/* A search tree in order of its keys: nodes of all depths are visited equally often. */
static uint64_t down_a_tree(unsigned burst, unsigned i, double begin)
{
    const uint64_t depth = random_below(20), key = random_below(1 << 20);
    return (void)burst, (void)i, (void)begin, (key >> (20 - depth) << (20 - depth)) + (1U << (19 - depth));
}
static uint64_t always_elsewhere(unsigned burst, unsigned i, double begin)
{
    return (void)i, (void)begin, ((uint64_t)burst * burst << 40) + random_below(16);
}

static struct cs_working_set drawn(shape *line, unsigned bursts, unsigned accesses)
{
    struct cs_table *table = cs_table_open(&cs_schema_footprints);
    for (unsigned burst = 0; burst < bursts; burst++) {
        const double begin = drand48();
        for (unsigned access = 0; access < accesses; access++) {
            uint64_t before[EACH];
            for (unsigned i = 0; i < EACH; i++) {
                uint64_t row[CS_FOOTPRINT_N] = {AT + access, line(burst, i, begin), 1, 1};
                before[i] = row[CS_FOOTPRINT_LINE];
                for (unsigned k = 0; k < i; k++)
                    if (before[k] == before[i])
                        row[CS_FOOTPRINT_BURSTS] = 0;
                assert_int_equal(cs_table_add(table, row), 0);
            }
        }
    }
    struct cs_working_set set;
    cs_table_sort(table);
    assert_int_equal(cs_working_set(table, AT, AT + accesses, &set), 0);
    cs_table_close(table);
    return set;
}

static void sizes_are_those_of_what_was_drawn_from(void **state)
{
    (void)state;
    static const struct {
        shape *line;
        const char *name;
        double lines, pages;
        unsigned accesses;
    } of[] = {
        {of_64, "64", 64, 1, 1},
        {of_64, "64 of three accesses", 64, 1, 3},
        {of_1000, "1000", 1000, 16, 1},
        {of_16384, "16384", 16384, 256, 1},
        {of_16384, "16384 of four accesses", 16384, 256, 4},
        {of_16_million, "16 million", 16 << 20, 16 << 14, 1},
        {along_a_million, "along a million", 1 << 20, 1 << 14, 1},
        {along_a_million, "along a million, twenty accesses", 1 << 20, 1 << 14, 20},
        {of_two_arrays, "two arrays", 2 * 16384, 512, 1},
        {mostly_of_32, "mostly of 32", 1 << 20, 1 << 14, 1},
        {one_of_each_page, "one of each page", 768, 768, 1},
        {down_a_tree, "down a tree", 1 << 20, 1 << 14, 1},
        {each_fourth, "each fourth", 4096, 256, 1},
    };
    srand48(1);
    for (size_t s = 0; s < sizeof of / sizeof *of; s++) {
        unsigned near = 0;
        for (unsigned trial = 0; trial < TRIALS; trial++) {
            struct cs_working_set set = drawn(of[s].line, BURSTS, of[s].accesses);
            const double times = set.bytes / 64 / of[s].lines, pages = set.pages / of[s].pages;
            near += times < 1.3 && times > 1 / 1.3 && pages < 2.5 && pages > 0.5 && !set.least;
        }
        print_message("%s: %u of %u\n", of[s].name, near, (unsigned)TRIALS);
        assert_true(near >= 90);
    }
}

static void what_was_met_a_few_times_is_a_lower_bound(void **state)
{
    (void)state;
    struct cs_working_set set = drawn(always_elsewhere, BURSTS, 1);
    assert_true(set.least);
    assert_true(set.bytes >= BURSTS * 8 * 64 && set.bytes <= BURSTS * 32 * 64);
}

static void few_draws_say_nothing(void **state)
{
    (void)state;
    struct cs_working_set set = drawn(of_1000, 1, 1);
    assert_true(set.bytes == 0 && set.pages == 0 && set.draws <= EACH);
    assert_int_equal(cs_working_set(NULL, 0, UINT64_MAX, &set), 0);
    assert_true(set.bytes == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_those_of_what_was_drawn_from),
        cmocka_unit_test(what_was_met_a_few_times_is_a_lower_bound),
        cmocka_unit_test(few_draws_say_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
