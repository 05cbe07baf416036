/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sampler/placing/intervals.h and store/coarsen.h: no sample is lost on the way into intervals, nor when they get
 * longer. */
#include "sampler/placing/intervals.h"
#include "store/coarsen.h"
#include "tests/unit/store/each_profile.h"
#include "tests/unit/test.h"
#include "tests/unit/tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define S 1000000000ull

static char place[64];
static struct cs_error err;
static struct cs_store *store;

static int open_store(void **unused)
{
    (void)unused;
    strcpy(place, "/tmp/intervals-test-XXXXXX");
    return mkdtemp(place) && cs_store_open(place, CS_STORE_WRITE, &store, &err) == 0 &&
                   cs_store_epoch(store, NULL, &err) == 0
               ? 0
               : -1;
}

static int close_store(void **unused)
{
    (void)unused;
    cs_store_close(store);
    return remove_tree(place);
}

static const struct cs_store_image program = {
    .id = "ab", .kind = CS_IMAGE_ELF, .path = "/bin/x", .build_id = "ab"};
static const struct cs_store_image library = {
    .id = "cd", .kind = CS_IMAGE_ELF, .path = "/lib/y", .build_id = "cd"};

static void add(struct cs_intervals *intervals, const struct cs_store_image *image, uint64_t offset,
                uint64_t samples, uint64_t from_ns, uint64_t to_ns)
{
    const struct cs_sampler_placed placed = {.image = image,
                                             .offset = offset,
                                             .samples = samples,
                                             .from_ns = from_ns,
                                             .to_ns = to_ns,
                                             .label = ""};
    assert_int_equal(cs_intervals_add(intervals, &placed, "cpu-clock"), 0);
}

struct seen {
    uint64_t samples, first_ms, last_ms, shortest_ms, longest_ms, rows, most;
};

static int see(const struct cs_store_profile_ref *ref, void *arg)
{
    struct seen *seen = arg;
    struct cs_table *table;
    assert_string_equal(ref->kind_name, "intervals");
    assert_int_equal(cs_store_load(ref, &table, &err), 0);
    for (size_t i = 0; i < cs_table_rows(table); i++) {
        const uint64_t *row = cs_table_row(table, i);
        assert_int_equal(row[1] % row[0], 0);
        assert_int_equal(row[2] % CS_INTERVAL_BLOCK_BYTES, 0);
        seen->samples += row[3];
        seen->most = row[3] > seen->most ? row[3] : seen->most;
        if (!seen->rows++ || row[1] < seen->first_ms)
            seen->first_ms = row[1];
        if (row[1] > seen->last_ms)
            seen->last_ms = row[1];
        if (!seen->shortest_ms || row[0] < seen->shortest_ms)
            seen->shortest_ms = row[0];
        if (row[0] > seen->longest_ms)
            seen->longest_ms = row[0];
    }
    cs_table_close(table);
    return 0;
}

static struct seen look(void)
{
    struct seen seen = {0};
    assert_int_equal(each_profile(store, see, &seen, &err), 0);
    return seen;
}

TEST(samples_land_in_the_interval_in_which_they_came)
{
    struct cs_intervals *intervals;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t t = (uint64_t)now.tv_sec * S;
    assert_int_equal(cs_intervals_open(1000, 1 << 20, &intervals), 0);
    add(intervals, &program, 0x1234, 5, t, t + S / 10);
    add(intervals, &program, 0x1238, 2, t, t + S / 10);
    add(intervals, &library, 0x1234, 1, t + 60 * S, t + 60 * S);
    assert_int_equal(cs_intervals_merge(intervals, store, NULL, &err), 0);
    struct seen seen = look();
    assert_int_equal(seen.samples, 8);
    assert_int_equal(seen.rows, 2);
    assert_int_equal(seen.most, 7);
    assert_true(seen.last_ms - seen.first_ms >= 59000 && seen.last_ms - seen.first_ms <= 61000);
    assert_true(llabs((long long)(seen.first_ms / 1000) - (long long)time(NULL)) <= 3);
    cs_intervals_close(intervals);
}

TEST(a_late_count_is_spread_over_the_time_it_may_have_come_from)
{
    struct cs_intervals *intervals;
    assert_int_equal(cs_intervals_open(1000, 1 << 20, &intervals), 0);
    add(intervals, &program, 64, 10007, 1000 * S, 1100 * S);
    for (unsigned i = 0; i < 1000; i++) /* single ones too, on average */
        add(intervals, &library, 64, 1, 1000 * S, 1100 * S);
    assert_int_equal(cs_intervals_merge(intervals, store, NULL, &err), 0);
    struct seen seen = look();
    assert_int_equal(seen.samples, 11007);
    assert_true(seen.rows > 190 && seen.rows <= 203);
    assert_true(seen.most <= 210);
    cs_intervals_close(intervals);
}

TEST(a_bound_makes_intervals_longer_and_loses_no_sample)
{
    struct cs_intervals *intervals;
    uint64_t total = 0, bytes, random = 1;
    assert_int_equal(cs_intervals_open(100, 6000, &intervals), 0);
    for (unsigned round = 0; round < 20; round++) {
        for (unsigned i = 0; i < 500; i++) {
            uint64_t at = (100 + round * 50) * S + i * S / 10;
            random = random * 6364136223846793005u + 1442695040888963407u;
            add(intervals, i % 2 ? &program : &library, (random >> 40) % 199 * 64, 1 + i % 3, at, at);
            total += 1 + i % 3;
        }
        assert_int_equal(cs_intervals_merge(intervals, store, NULL, &err), 0);
        assert_int_equal(cs_store_interval_bytes(store, &bytes, &err), 0);
        assert_true(bytes <= 6000);
    }
    struct seen seen = look();
    assert_int_equal(seen.samples, total);
    assert_true(cs_intervals_length_ms(intervals) > 100);
    assert_int_equal(seen.shortest_ms, cs_intervals_length_ms(intervals));
    assert_int_equal(cs_store_verify(place, NULL, NULL, &err), 0);
    cs_intervals_epoch(intervals);
    assert_int_equal(cs_intervals_length_ms(intervals), 100);
    cs_intervals_close(intervals);
}

TEST(coarser_intervals_of_different_lengths_keep_their_sums)
{
    struct cs_table *table = cs_table_open(&cs_schema_intervals);
    for (uint64_t i = 0; i < 1000; i++)
        cs_table_add(table, (uint64_t[]){i % 2 ? 100 : 1600, i % 2 ? i * 100 : i / 16 * 1600, i % 2 * 16, i});
    struct cs_table *coarser = cs_store_intervals_coarser(table, 800);
    assert_non_null(coarser);
    assert_int_equal(cs_table_sum(coarser, 3), cs_table_sum(table, 3));
    assert_true(cs_table_rows(coarser) < cs_table_rows(table));
    for (size_t i = 0; i < cs_table_rows(coarser); i++)
        assert_true(cs_table_row(coarser, i)[0] == 800 || cs_table_row(coarser, i)[0] == 1600);
    cs_table_close(coarser);
    cs_table_close(table);
}

#define IN_A_STORE(f) cmocka_unit_test_setup_teardown(f, open_store, close_store)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_A_STORE(samples_land_in_the_interval_in_which_they_came),
        IN_A_STORE(a_late_count_is_spread_over_the_time_it_may_have_come_from),
        IN_A_STORE(a_bound_makes_intervals_longer_and_loses_no_sample),
        cmocka_unit_test(coarser_intervals_of_different_lengths_keep_their_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
