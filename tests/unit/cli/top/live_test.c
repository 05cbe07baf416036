/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `top` sums: a window of rounds, rows by procedure, process and image, and its keys. */
#include "cli/top/top_view.h"
#include "tests/unit/test.h"

/* after those */
#include <stdlib.h>
#include <string.h>

static const struct cs_store_image one = {"x1", CS_IMAGE_JIT, "/tmp/one", ""};
static const struct cs_store_image two = {"x2", CS_IMAGE_JIT, "/tmp/two", ""};

static void add(struct live *l, const struct cs_store_image *image, pid_t pid, uint64_t offset, uint64_t n)
{
    struct cs_sampler_placed p = {.image = image, .offset = offset, .samples = n, .pid = pid, .label = ""};
    assert_int_equal(live_add(l, &p), 0);
}

static uint64_t total(struct live *l, enum live_by by, struct live_only only, size_t *n)
{
    struct live_rows rows;
    assert_int_equal(live_rows(l, by, &only, &rows), 0);
    uint64_t sum = 0;
    for (size_t i = 0; i < rows.n; i++)
        sum += rows.row[i].samples;
    for (size_t i = 1; i < rows.n; i++)
        assert_true(rows.row[i - 1].samples >= rows.row[i].samples);
    *n = rows.n;
    live_rows_fini(&rows);
    return sum;
}

static void samples_leave_with_their_round(void **state)
{
    struct live *l;
    size_t n;
    (void)state;
    assert_int_equal(live_open(&l, NULL, 3), 0);
    for (unsigned round = 1; round <= 6; round++) {
        add(l, &one, 7, round % 2 ? 16 : 32, round);
        uint64_t expected = 0;
        for (unsigned r = round < 3 ? 1 : round - 2; r <= round; r++)
            expected += r;
        assert_int_equal(total(l, LIVE_IMAGES, (struct live_only){0}, &n), expected);
        assert_int_equal(n, 1);
        live_round(l);
    }
    live_clear(l);
    assert_int_equal(total(l, LIVE_IMAGES, (struct live_only){0}, &n), 0);
    live_close(l);
}

static void many_points_are_forgotten_when_nobody_runs_there(void **state)
{
    struct live *l;
    size_t n;
    (void)state;
    assert_int_equal(live_open(&l, NULL, 2), 0);
    for (unsigned round = 0; round < 6; round++) {
        for (uint64_t i = 0; i < 5000; i++)
            add(l, &two, 9, round * 100000 + i, 2);
        add(l, &one, 7, 16, 5); /* one that stays */
        uint64_t expected = (round ? 2U : 1U) * 10005ULL;
        assert_int_equal(total(l, LIVE_PROCESSES, (struct live_only){0}, &n), expected);
        assert_int_equal(n, 2);
        live_round(l);
    }
    live_close(l);
}

static void parts_are_by_process_image_and_words(void **state)
{
    struct live *l;
    size_t n;
    (void)state;
    assert_int_equal(live_open(&l, NULL, 5), 0);
    add(l, &one, 7, 16, 10);
    add(l, &two, 7, 16, 20);
    add(l, &two, 8, 16, 40);
    assert_int_equal(total(l, LIVE_IMAGES, (struct live_only){.pid = 7}, &n), 30);
    assert_int_equal(n, 2);
    assert_int_equal(total(l, LIVE_PROCESSES, (struct live_only){.image = "two"}, &n), 60);
    assert_int_equal(total(l, LIVE_IMAGES, (struct live_only){.words = "TW"}, &n), 60);
    assert_int_equal(n, 1);
    assert_int_equal(total(l, LIVE_IMAGES, (struct live_only){.words = "none"}, &n), 0);
    live_close(l);
}

static void keys_lead_in_and_out(void **state)
{
    struct live *l;
    struct top_view v;
    (void)state;
    assert_int_equal(live_open(&l, NULL, 5), 0);
    add(l, &one, 7, 16, 10);
    add(l, &two, 8, 16, 40);
    top_view_init(&v);
    assert_true(top_view_key(&v, '3', 24));
    assert_int_equal(top_view_update(&v, l), 0);
    assert_int_equal(v.rows.n, 2);
    top_view_key(&v, KEY_DOWN, 24);
    top_view_key(&v, KEY_DOWN, 24); /* the end is the end */
    assert_int_equal(v.at, 1);
    assert_true(top_view_key(&v, KEY_ENTER, 24));
    assert_int_equal(top_view_update(&v, l), 0);
    assert_string_equal(v.only.image, "one");
    assert_int_equal(v.rows.total, 10);
    assert_true(top_view_key(&v, KEY_ESCAPE, 24));
    assert_int_equal(top_view_update(&v, l), 0);
    assert_int_equal(v.by, LIVE_IMAGES);
    assert_int_equal(v.rows.total, 50);
    const char *typed = "/tq";
    for (; *typed; typed++)
        top_view_key(&v, *typed, 24); /* q is a letter here */
    assert_false(v.quit);
    assert_int_equal(top_view_update(&v, l), 0);
    assert_int_equal(v.rows.n, 0);
    top_view_key(&v, KEY_BACKSPACE, 24);
    top_view_key(&v, KEY_ENTER, 24);
    assert_int_equal(top_view_update(&v, l), 0);
    assert_int_equal(v.rows.n, 1);
    top_view_key(&v, 'q', 24);
    assert_true(v.quit);
    top_view_fini(&v);
    live_close(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_leave_with_their_round),
        cmocka_unit_test(many_points_are_forgotten_when_nobody_runs_there),
        cmocka_unit_test(parts_are_by_process_image_and_words),
        cmocka_unit_test(keys_lead_in_and_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
