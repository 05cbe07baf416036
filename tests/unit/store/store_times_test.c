/* SPDX-License-Identifier: GPL-2.0-or-later */
/* store/times.h and store/base/when.h: what people type as a time, and what of a store has it. */
#include "store/base/when.h"
#include "store/catalog.h"
#include "store/merge_file.h"
#include "store/table/schema.h"
#include "store/times.h"
#include "tests/unit/test.h"
#include "tests/unit/tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define H UINT64_C(3600000)
#define NOON UINT64_C(1795867200000) /* 2026-11-28 12:00 UTC */

static uint64_t parsed(const char *zone, const char *text, uint64_t after_ms)
{
    uint64_t ms = 0;
    setenv("TZ", zone, 1);
    tzset();
    return cs_when_parse(text, NOON, after_ms, &ms) ? ms : 0;
}

TEST(a_time_is_a_clock_s_a_day_s_or_so_long_ago)
{
    assert_int_equal(parsed("UTC", "11:30", 0), NOON - H / 2);
    assert_int_equal(parsed("UTC", "11:30:05", 0), NOON - H / 2 + 5000);
    assert_int_equal(parsed("UTC", "12:00", 0), NOON);
    assert_int_equal(parsed("UTC", "12:01", 0), NOON + H / 60 - 24 * H); /* yesterday's */
    assert_int_equal(parsed("UTC", "00:05", NOON - H), NOON + H / 12 + 12 * H);
    assert_int_equal(parsed("UTC", "11:30", NOON - H), NOON - H / 2);
    assert_int_equal(parsed("UTC", "2026-11-27", 0), NOON - 36 * H);
    assert_int_equal(parsed("UTC", "2026-11-28 13:00", 0), NOON + H);
    assert_int_equal(parsed("UTC", "2026-11-28T13:00:01Z", 0), NOON + H + 1000);
    assert_int_equal(parsed("UTC", "-2h", 0), NOON - 2 * H);
    assert_int_equal(parsed("UTC", "-1.5m", 0), NOON - 90000);
    assert_int_equal(parsed("UTC", "-2d", 0), NOON - 48 * H);
    assert_int_equal(parsed("UTC", "now", 0), NOON);
}

static void a_time_is_local_unless_it_ends_in_z(void **unused)
{
    static const char berlin[] = "CET-1CEST,M3.5.0,M10.5.0/3";
    char text[CS_WHEN_RANGE_MAX];
    (void)unused;
    assert_int_equal(parsed(berlin, "12:30", 0), NOON - H / 2);
    assert_int_equal(parsed(berlin, "11:30Z", 0), NOON - H / 2);
    assert_int_equal(parsed(berlin, "2026-07-01 12:00", 0), parsed("UTC", "2026-07-01 10:00", 0));
    parsed(berlin, "now", 0);
    cs_when_range(NOON, NOON + 100, text);
    assert_string_equal(text, "2026-11-28 13:00:00 to 13:00:01");
    cs_when_range(NOON, NOON + 11 * H, text);
    assert_string_equal(text, "2026-11-28 13:00:00 to 2026-11-29 00:00:00");
}

static void what_is_no_time_is_refused(void **unused)
{
    static const char *const bad[] = {"",        "25:00",      "14",         "14:40 ",   "-2",
                                      "-h",      "--2h",       "-2y",        "-1e2s",    "-1e9d",
                                      "14:40ZZ", "2026-02-30", "2026-13-01", "tomorrow", "-0x2h",
                                      "- 2h",    "-inf h",     "1:2:3:4",    " 14:40",   "2026-11-28 24:61"};
    (void)unused;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (parsed("UTC", bad[i], 0))
            fail_msg("\"%s\" is taken for a time", bad[i]);
}

static char place[64];
static struct cs_error err;
static const struct cs_store_image program = {
    .id = "ab", .kind = CS_IMAGE_ELF, .path = "/bin/x", .build_id = ""};
static const struct cs_store_image chains = {
    .id = "contexts", .kind = CS_IMAGE_CONTEXTS, .path = "", .build_id = ""};

static void merge(struct cs_store *s, const struct cs_store_image *image, const struct cs_schema *schema,
                  const char *label, const uint64_t *rows, size_t n)
{
    struct cs_store_profile_head head = {
        .event = "cpu-clock", .unit = "ns", .period_sum = 1000, .enabled_ns = 10000};
    struct cs_table *t = cs_table_open(schema);
    snprintf(head.label, sizeof head.label, "%s", label);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(cs_table_add(t, rows + i * schema->n_columns), 0);
    assert_int_equal(cs_store_merge(s, image, &head, t, &err), 0);
    cs_table_close(t);
}

/* An epoch from NOON to an hour later: in its first half 60 samples of a block with points 0x10 and 0x14 (3 to 1), in its
 * second 40 of another one. With a label the first point has it, the others have another. */
static struct cs_store *make_store(const char *label, bool intervals, bool ended)
{
    static const uint64_t points[][2] = {{0x10, 45}, {0x14, 15}, {0x20, 40}};
    static const uint64_t times[][4] = {{H / 2, NOON, 0x10, 60}, {H / 2, NOON + H / 2, 0x20, 40}};
    char path[256];
    struct cs_store *s;
    struct cs_table *facts = cs_table_open(&cs_schema_facts);
    setenv("TZ", "UTC", 1);
    tzset();
    strcpy(place, "/tmp/store-times-XXXXXX");
    assert_non_null(mkdtemp(place));
    assert_int_equal(cs_store_open(place, CS_STORE_WRITE, &s, &err), 0);
    assert_int_equal(cs_store_epoch(s, NULL, &err), 0);
    merge(s, &program, &cs_schema_points, label, points[0], *label ? 1 : 3);
    if (*label)
        merge(s, &program, &cs_schema_points, "another", points[1], 2);
    merge(s, &chains, &cs_schema_contexts, label, NULL, 0);
    if (intervals)
        merge(s, &program, &cs_schema_intervals, "", times[0], 2);
    snprintf(path, sizeof path, "%s/%s/epoch.meta", place, cs_store_epoch_name(s));
    cs_store_close(s);
    unlink(path); /* it began now: from here on it says another time */
    cs_store_fact_add(facts, "started", "20261128T120000Z");
    if (ended)
        cs_store_fact_add(facts, "ended", "20261128T130000.000Z");
    assert_int_equal(
        cs_store_file_merge(path, &(struct cs_store_profile_head){.event = "epoch"}, facts, NULL, &err), 0);
    cs_table_close(facts);
    assert_int_equal(cs_store_open(place, CS_STORE_READ, &s, &err), 0);
    return s;
}

static void end(struct cs_store *s)
{
    cs_store_close(s);
    remove_tree(place);
}

static struct cs_store_seen see(struct cs_store *s, uint64_t from_ms, uint64_t to_ms, bool whole)
{
    struct cs_store_seen seen;
    assert_int_equal(
        cs_store_see_times(s, &(struct cs_store_times){NOON + from_ms, NOON + to_ms}, whole, &seen, &err), 0);
    return seen;
}

static void has_points(struct cs_store *s, const uint64_t (*rows)[2], size_t n, uint64_t period_sum)
{
    static const struct cs_query query = {.kind = CS_KIND_POINTS};
    struct cs_store_profile_head head;
    struct cs_table *t;
    assert_int_equal(cs_store_select(s, &query, &t, &head, &err), 0);
    assert_int_equal(cs_table_rows(t), n);
    for (size_t i = 0; i < n; i++)
        assert_memory_equal(cs_table_row(t, i), rows[i], sizeof rows[i]);
    assert_int_equal(head.period_sum, period_sum);
    cs_table_close(t);
}

static unsigned count(struct cs_store *s, enum cs_kind kind)
{
    const struct cs_query query = {.kind = kind};
    const struct cs_catalog *catalog;
    unsigned n = 0;
    assert_int_equal(cs_store_catalog(s, &catalog, &err), 0);
    for (size_t at = 0; cs_catalog_next(catalog, &query, &at);)
        n++;
    return n;
}

static void an_epoch_with_intervals_is_cut_and_its_parts_add_up(void **unused)
{
    static const uint64_t first[][2] = {{0x10, 45}, {0x14, 15}}, second[][2] = {{0x20, 40}},
                          all[][2] = {{0x10, 45}, {0x14, 15}, {0x20, 40}};
    struct cs_store *s = make_store("", true, true);
    (void)unused;
    assert_int_equal(see(s, 0, H / 2, false).grain_ms, 0);
    has_points(s, first, 2, 600);
    assert_int_equal(count(s, CS_KIND_CONTEXTS), 0); /* nothing tells their times */
    assert_int_equal(see(s, H / 2, H, false).grain_ms, 0);
    has_points(s, second, 1, 400);
    assert_int_equal(see(s, 0, H, false).grain_ms, 0);
    has_points(s, all, 3, 1000);
    assert_int_equal(count(s, CS_KIND_CONTEXTS), 1);
    struct cs_store_seen seen = see(s, H / 4, H / 3, false); /* less than an interval: that one */
    has_points(s, first, 2, 600);
    assert_int_equal(seen.times.from_ms, NOON);
    assert_int_equal(seen.times.to_ms, NOON + H / 2);
    assert_int_equal(seen.grain_ms, H / 2);
    assert_false(seen.by_epochs);
    end(s);
}

static void points_with_labels_are_cut_together(void **unused)
{
    static const uint64_t first[][2] = {{0x10, 45}, {0x14, 15}};
    struct cs_store *s = make_store("web (7)", true, true);
    (void)unused;
    see(s, 0, H / 2, false);
    has_points(s, first, 2, 1200);
    assert_int_equal(count(s, CS_KIND_POINTS), 1);
    end(s);
}

static void what_tells_no_finer_times_is_seen_by_epochs(void **unused)
{
    static const uint64_t all[][2] = {{0x10, 45}, {0x14, 15}, {0x20, 40}};
    static const struct {
        const char *label;
        bool intervals, whole;
    } cases[] = {{"", false, false}, {"", true, true}, {"web (7)", true, true}};
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cs_store *s = make_store(cases[i].label, cases[i].intervals, true);
        struct cs_store_seen seen = see(s, H / 2, H + H, cases[i].whole);
        assert_int_equal(seen.times.from_ms, NOON);
        assert_int_equal(seen.times.to_ms, NOON + H);
        assert_int_equal(seen.grain_ms, H);
        assert_true(seen.by_epochs);
        has_points(s, all, 3, *cases[i].label ? 2000 : 1000);
        assert_int_equal(count(s, CS_KIND_CONTEXTS), 1);
        end(s);
    }
}

static void times_without_anything_are_an_error_that_says_what_there_is(void **unused)
{
    struct cs_store_seen seen;
    struct cs_store *s = make_store("", true, true);
    (void)unused;
    assert_int_equal(
        cs_store_see_times(s, &(struct cs_store_times){NOON + H, NOON + 2 * H}, false, &seen, &err), -ENOENT);
    assert_non_null(strstr(
        err.text, "nothing from 2026-11-28 13:00:00 to 14:00:00: it has 2026-11-28 12:00:00 to 13:00:00"));
    end(s);
}

static void an_epoch_without_an_end_lasts_until_its_last_write(void **unused)
{
    struct cs_store *s = make_store("", true, false);
    const struct cs_store_epoch *epochs;
    size_t n;
    (void)unused;
    assert_int_equal(cs_store_epochs(s, &epochs, &n, &err), 0);
    assert_int_equal(n, 1);
    assert_int_equal(epochs[0].times.from_ms, NOON);
    /* Written before the time that it says: then it has none. */
    uint64_t now_ms = (uint64_t)time(NULL) * 1000;
    assert_true(epochs[0].times.to_ms == NOON + 1 || epochs[0].times.to_ms >= now_ms - 60000);
    end(s);
}

static void a_writer_leaves_when_it_had_done(void **unused)
{
    struct cs_store *s;
    const struct cs_store_epoch *epochs;
    size_t n;
    (void)unused;
    strcpy(place, "/tmp/store-times-XXXXXX");
    assert_non_null(mkdtemp(place));
    assert_int_equal(cs_store_open(place, CS_STORE_WRITE, &s, &err), 0);
    uint64_t before_ms = (uint64_t)time(NULL) * 1000;
    assert_int_equal(cs_store_epoch(s, NULL, &err), 0);
    assert_int_equal(usleep(30000), 0); /* sleeps: what is measured */
    assert_int_equal(cs_store_epoch(s, NULL, &err), 0);
    assert_int_equal(cs_store_epochs(s, &epochs, &n, &err), 0);
    assert_int_equal(n, 2);
    assert_true(epochs[1].times.from_ms >= before_ms);
    assert_true(epochs[1].times.to_ms >= epochs[1].times.from_ms + 30);
    assert_true(epochs[1].times.to_ms <= (uint64_t)(time(NULL) + 1) * 1000);
    end(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_time_is_a_clock_s_a_day_s_or_so_long_ago),
        cmocka_unit_test(a_time_is_local_unless_it_ends_in_z),
        cmocka_unit_test(what_is_no_time_is_refused),
        cmocka_unit_test(an_epoch_with_intervals_is_cut_and_its_parts_add_up),
        cmocka_unit_test(points_with_labels_are_cut_together),
        cmocka_unit_test(what_tells_no_finer_times_is_seen_by_epochs),
        cmocka_unit_test(times_without_anything_are_an_error_that_says_what_there_is),
        cmocka_unit_test(an_epoch_without_an_end_lasts_until_its_last_write),
        cmocka_unit_test(a_writer_leaves_when_it_had_done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
