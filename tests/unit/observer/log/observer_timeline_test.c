/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A log whose samples are known, folded into buckets: times, shares and rates against what was written. */
#include "observer/log/timeline.h"
#include "tests/unit/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HZ 1000000000u
static char path[] = "/tmp/cyclescope-timeline.XXXXXX";

/* 1000 samples 1 us apart: tag 7 for 600, then 9; the counter goes up by 10 a sample, by 30 from sample 500
 * on. */
static int write_log(void **state)
{
    (void)state;
    strcpy(strrchr(path, '.'), ".XXXXXX");
    int fd = mkstemp(path);
    struct cs_observe_log_head head = {
        .n_tags = 1, .n_software = 1, .cycles_per_second = HZ, .tags = {"phase"}, .counters = {"work"}};
    struct cs_observe_log *log;
    struct cs_error err;
    if (fd < 0 || close(fd) < 0 || cs_observe_log_create(path, &head, 0, &log, &err) < 0)
        return -1;
    uint64_t work = 5;
    for (uint64_t i = 0; i < 1000; i++) {
        struct cs_sample s = {.start = 77000 + i * 1000, .end = 77050 + i * 1000, .complete = true};
        work += i < 500 ? 10 : 30;
        s.counters[0] = work;
        s.tags[0] = i < 600 ? 7 : 9;
        cs_observe_log_add(log, 1, 1, false, &s);
    }
    int rc = cs_observe_log_finish(log, &err);
    cs_observe_log_close(log);
    return rc;
}

static int remove_log(void **state)
{
    (void)state;
    return unlink(path);
}

static struct cs_observe_timeline *fold(double from, double to, unsigned buckets)
{
    struct cs_observe_timeline *t = NULL;
    struct cs_error err;
    struct cs_observe_timeline_options options = {.from_seconds = from, .to_seconds = to, .buckets = buckets};
    assert_int_equal(cs_observe_timeline_fold(path, &options, &t, NULL, &err), 0);
    return t;
}

static void assert_near(double expected, double got, double tolerance)
{
    if (!(fabs(expected - got) <= tolerance))
        fail_msg("%g is not %g", got, expected);
}

TEST(rates_and_shares_are_those_of_each_stretch)
{
    struct cs_observe_timeline *t = fold(0, 0, 10);
    assert_int_equal(t->n_buckets, 10);
    assert_near(99905, t->bucket_cycles, 100);
    assert_int_equal(t->n_tags, 2);
    assert_int_equal(t->tag_values[0], 7);
    for (unsigned b = 0; b < 10; b++) {
        const struct cs_observe_timeline_bucket *k = &t->buckets[b];
        if (b != 4 && b != 5)
            assert_near(b < 4 ? 0.01 : 0.03, k->rates[0].mean, 1e-9);
        assert_near(b < 5 ? 0.01 : 0.03, k->rates[0].most, 0.0201);
        if (b != 5 && b != 6)
            assert_near(b < 5 ? 1 : 0, k->tag_cycles[0] / k->seen_cycles, 1e-9);
        assert_near(k->seen_cycles, k->tag_cycles[0] + k->tag_cycles[1] + k->tag_cycles[CS_TIMELINE_TAGS],
                    1e-6);
    }
    cs_observe_timeline_close(t);
}

TEST(times_of_all_buckets_add_up_to_the_log)
{
    struct cs_observe_timeline *t = fold(0, 0, 37);
    double seen = 0, first = 0;
    uint64_t intervals = 0;
    for (unsigned b = 0; b < t->n_buckets; b++) {
        seen += t->buckets[b].seen_cycles;
        first += t->buckets[b].tag_cycles[0];
        intervals += t->buckets[b].intervals;
    }
    assert_near(999000, seen, 1e-3);
    assert_near(599500, first, 1e-3); /* half of the interval in which it changed */
    assert_int_equal(intervals, 999);
    cs_observe_timeline_close(t);
}

TEST(zoom_shows_single_intervals)
{
    struct cs_observe_timeline *t = fold(499e-6, 501e-6, 2);
    assert_near(1000, t->bucket_cycles, 1e-6);
    assert_near(0.499, cs_observe_timeline_ms(t, 0), 1e-9);
    assert_near(t->bucket_cycles, t->buckets[0].seen_cycles, 1e-6);
    assert_near(0.03, t->buckets[1].rates[0].mean, 1e-9);
    cs_observe_timeline_close(t);
}

TEST(stretch_outside_of_the_log_is_refused)
{
    struct cs_observe_timeline *t = NULL;
    struct cs_error err;
    assert_true(
        cs_observe_timeline_fold(path, &(struct cs_observe_timeline_options){.from_seconds = 5, .buckets = 1},
                                 &t, NULL, &err) < 0);
    assert_non_null(strstr(err.text, "nothing was logged"));
    assert_true(cs_observe_timeline_fold(path, &(struct cs_observe_timeline_options){.buckets = 0}, &t, NULL,
                                         &err) < 0);
    assert_true(cs_observe_timeline_fold(path, &(struct cs_observe_timeline_options){.buckets = 1, .tag = 1},
                                         &t, NULL, &err) < 0);
    assert_non_null(strstr(err.text, "no tag number 1"));
}

/* Three code addresses, two of them points of one method: 600 samples, 300 and 100. */
TEST(points_of_one_method_are_one_column)
{
    char file[] = "/tmp/cyclescope-regions.XXXXXX";
    int fd = mkstemp(file);
    const uint64_t code = (uint64_t)0x55 << 40;
    struct cs_observe_log_head head = {.n_tags = 1, .cycles_per_second = HZ, .tags = {"code"}};
    struct cs_observe_log *log;
    struct cs_error err;
    struct cs_observe_timeline *t = NULL;
    assert_true(fd >= 0 && close(fd) == 0 && cs_observe_log_create(file, &head, 0, &log, &err) == 0);
    for (uint64_t i = 0; i < 1001; i++) {
        struct cs_sample s = {.start = 77000 + i * 1000, .end = 77000 + i * 1000, .complete = true};
        s.tags[0] = code + (i < 300 ? 8 : i < 900 ? 4 : 0);
        cs_observe_log_add(log, 1, 0, false, &s);
    }
    assert_int_equal(cs_observe_log_name(log, 0, code + 8, "sort (a.c:7)", &err), 0);
    assert_int_equal(cs_observe_log_name(log, 0, code + 4, "merge (a.c:9)", &err), 0);
    assert_int_equal(cs_observe_log_name(log, 0, code, "sort (a.c:7)", &err), 0);
    assert_int_equal(cs_observe_log_finish(log, &err), 0);
    cs_observe_log_close(log);
    assert_int_equal(
        cs_observe_timeline_fold(file, &(struct cs_observe_timeline_options){.buckets = 10}, &t, NULL, &err),
        0);
    assert_int_equal(t->n_tags, 2);
    assert_int_equal(t->tag_values[0], code + 4);
    assert_int_equal(t->tag_values[1], code); /* the least stands for both */
    assert_near(1, t->buckets[0].tag_cycles[1] / t->buckets[0].seen_cycles, 1e-9);
    assert_near(1, t->buckets[5].tag_cycles[0] / t->buckets[5].seen_cycles, 1e-9);
    assert_near(1, t->buckets[9].tag_cycles[1] / t->buckets[9].seen_cycles, 0.02);
    cs_observe_timeline_close(t);
    unlink(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_and_shares_are_those_of_each_stretch),
        cmocka_unit_test(times_of_all_buckets_add_up_to_the_log),
        cmocka_unit_test(zoom_shows_single_intervals),
        cmocka_unit_test(stretch_outside_of_the_log_is_refused),
        cmocka_unit_test(points_of_one_method_are_one_column),
    };
    return cmocka_run_group_tests(tests, write_log, remove_log);
}
