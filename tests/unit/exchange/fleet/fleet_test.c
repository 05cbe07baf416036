/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Filters as SQL, batches as bytes, and a spool that sends every count once. */
#include "cli/fleet/fleet_filter.h"
#include "exchange/fleet/batch.h"
#include "exchange/fleet/clickhouse.h"
#include "exchange/fleet/http.h"
#include "store/base/bytes.h"
#include "tests/unit/test.h"
#include "tests/unit/tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void expect_sql(const char *filter, const char *expected)
{
    struct cs_error err = {0};
    char *sql = NULL;
    assert_int_equal(fleet_condition(filter, &sql, &err), 0);
    assert_string_equal(sql, expected);
    free(sql);
}

TEST(a_filter_becomes_a_condition)
{
    expect_sql(NULL, "1");
    expect_sql("", "1");
    expect_sql("host=web1", "1 AND host = 'web1'");
    expect_sql("host=a,event=cycles", "1 AND host = 'a' AND event = 'cycles'");
    expect_sql("since=1970-01-02", "1 AND toUInt32(time) >= 86400");
    expect_sql("until=1970-01-01 00:01", "1 AND toUInt32(time) < 60");
}

TEST(a_filter_can_not_leave_its_quotes)
{
    expect_sql("host=a' OR '1'='1", "1 AND host = 'a\\' OR \\'1\\'=\\'1'");
    expect_sql("host=\\", "1 AND host = '\\\\'");
}

TEST(what_is_no_filter_is_refused_by_name)
{
    static const char *const bad[] = {"color=red", "since=yesterday", "until=5x", "nonsense"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct cs_error err = {0};
        char *sql = NULL;
        assert_true(fleet_condition(bad[i], &sql, &err) < 0);
        assert_null(sql);
        assert_true(err.text[0] != '\0');
    }
}

TEST(a_time_ago_is_counted_from_now)
{
    struct cs_error err = {0};
    char *sql = NULL;
    time_t before = time(NULL);
    assert_int_equal(fleet_condition("since=2h", &sql, &err), 0);
    long at = 0;
    assert_int_equal(sscanf(sql, "1 AND toUInt32(time) >= %ld", &at), 1);
    assert_in_range(at, before - 7200, time(NULL) - 7200);
    free(sql);
}

TEST(a_url_is_escaped_and_its_password_not_shown)
{
    char *text = cs_fleet_http_escape("a b/ü_-.");
    assert_string_equal(text, "a%20b%2F%C3%BC_-.");
    free(text);
    struct cs_fleet_server *server = NULL;
    struct cs_error err = {0};
    int rc = cs_fleet_server_open("http://user:secret@host:8123/base", &server, &err);
    if (rc < 0)
        skip(); /* libcurl isn't here */
    assert_null(strstr(cs_fleet_server_name(server), "secret"));
    assert_non_null(strstr(cs_fleet_server_name(server), "host:8123"));
    cs_fleet_server_close(server);
}

TEST(an_epoch_s_name_has_a_time_and_a_host)
{
    char host[64];
    cs_fleet_epoch_host("19700102T000000Z-web-1", host, sizeof host);
    assert_string_equal(host, "web-1");
    cs_fleet_epoch_host("19700102T000000Z-web1-2", host, sizeof host); /* the second one of that second */
    assert_string_equal(host, "web1");
    assert_int_equal(cs_fleet_epoch_time("19700102T000000Z-web-1"), 86400);
    cs_fleet_epoch_host("made-by-hand", host, sizeof host);
    assert_string_equal(host, "made-by-hand");
    assert_int_equal(cs_fleet_epoch_time("made-by-hand"), 0);
}

static struct cs_fleet_batch one_batch(struct cs_fleet_batch_part *part)
{
    *part = (struct cs_fleet_batch_part){
        .epoch = "e", .host = "h", .path = "/bin/x", .event = "cycles", .time_s = 7};
    part->image = (struct cs_store_image){"x0123456789abcdef", CS_IMAGE_ELF, part->path, part->build_id};
    part->table = cs_table_open(&cs_schema_batch);
    int64_t name = cs_table_text(part->table, "main");
    assert_int_equal(cs_table_add(part->table, (uint64_t[]){16, 8, 32, (uint64_t)name, 5}), 0);
    return (struct cs_fleet_batch){
        .spool = 3, .sequence = 4, .parts = part, .n_parts = 1, .rows = 1, .samples = 5};
}

TEST(a_batch_comes_back_from_its_bytes)
{
    struct cs_fleet_batch_part part;
    struct cs_fleet_batch batch = one_batch(&part), back = {0};
    struct cs_bytes bytes = {0};
    struct cs_error err = {0};
    assert_int_equal(cs_fleet_batch_encode(&batch, &bytes), 0);
    assert_int_equal(cs_fleet_batch_decode(bytes.start, bytes.used, "batch", &back, &err), 0);
    assert_int_equal(back.spool, 3);
    assert_int_equal(back.sequence, 4);
    assert_int_equal(back.n_parts, 1);
    assert_int_equal(back.samples, 5);
    assert_string_equal(back.parts[0].image.path, "/bin/x");
    const uint64_t *row = cs_table_row(back.parts[0].table, 0);
    assert_int_equal(row[CS_FLEET_BATCH_OFFSET], 16);
    assert_string_equal(cs_table_string(back.parts[0].table, row[CS_FLEET_BATCH_NAME]), "main");
    cs_fleet_batch_fini(&back);
    cs_table_close(part.table);
    cs_bytes_fini(&bytes);
}

TEST(no_byte_of_a_batch_can_change_unseen)
{
    struct cs_fleet_batch_part part;
    struct cs_fleet_batch batch = one_batch(&part), back;
    struct cs_bytes bytes = {0};
    struct cs_error err;
    assert_int_equal(cs_fleet_batch_encode(&batch, &bytes), 0);
    for (size_t i = 0; i < bytes.used; i++) {
        bytes.start[i] ^= 0x10;
        assert_true(cs_fleet_batch_decode(bytes.start, bytes.used, "batch", &back, &err) < 0);
        bytes.start[i] ^= 0x10;
        assert_true(cs_fleet_batch_decode(bytes.start, i, "batch", &back, &err) < 0);
    }
    cs_table_close(part.table);
    cs_bytes_fini(&bytes);
}

/* ---- a spool beside a store ---- */

static void add(struct cs_store *store, uint64_t samples)
{
    struct cs_error err = {0};
    struct cs_store_image image = {"x1111111111111111", CS_IMAGE_UNKNOWN, "[unknown]", ""};
    struct cs_store_profile_head head = {.event = "cycles", .unit = "cycles", .period_sum = samples};
    struct cs_table *t = cs_table_open(&cs_schema_points);
    assert_int_equal(cs_table_add(t, (uint64_t[]){64, samples}), 0);
    assert_int_equal(cs_store_merge(store, &image, &head, t, &err), 0);
    cs_table_close(t);
}

static int take(const struct cs_fleet_batch *batch, void *arg, struct cs_error *err)
{
    (void)err;
    *(uint64_t *)arg += batch->samples;
    return 0;
}

static int refuse(const struct cs_fleet_batch *batch, void *arg, struct cs_error *err)
{
    (void)batch;
    (void)arg;
    return cs_fail(err, EIO, "the server doesn't answer");
}

TEST(every_count_is_sent_once)
{
    char top[] = "/tmp/fleet_test.XXXXXX", path[64], spool_path[64];
    assert_non_null(mkdtemp(top));
    snprintf(path, sizeof path, "%s/store", top);
    snprintf(spool_path, sizeof spool_path, "%s/spool", top);
    struct cs_error err = {0};
    struct cs_store *store;
    struct cs_fleet_spool *spool;
    const struct cs_fleet_spool_settings settings = {.now_s = 100, .most_bytes = 1 << 20, .most_rows = 1000};
    struct cs_fleet_spool_made made = {0};
    uint64_t sent = 0, batches, bytes;
    assert_int_equal(cs_store_open(path, CS_STORE_WRITE, &store, &err), 0);
    assert_int_equal(cs_store_epoch(store, NULL, &err), 0);
    add(store, 5);
    assert_int_equal(cs_fleet_spool_open(spool_path, &spool, &err), 0);
    assert_true(cs_fleet_spool_is_new(spool));
    assert_int_equal(cs_fleet_spool_begin(spool, &err), 0);
    assert_int_equal(cs_fleet_spool_collect(spool, store, &settings, &made, &err), 0);
    assert_int_equal(made.samples, 5);
    assert_true(cs_fleet_spool_each(spool, refuse, NULL, &err) < 0);
    assert_int_equal(cs_fleet_spool_waiting(spool, &batches, &bytes, &err), 0);
    assert_int_equal(batches, 1); /* what was refused waits */
    cs_fleet_spool_close(spool);

    add(store, 7); /* and another process goes on */
    assert_int_equal(cs_fleet_spool_open(spool_path, &spool, &err), 0);
    assert_false(cs_fleet_spool_is_new(spool));
    made = (struct cs_fleet_spool_made){0};
    assert_int_equal(cs_fleet_spool_collect(spool, store, &settings, &made, &err), 0);
    assert_int_equal(made.samples, 7);
    made = (struct cs_fleet_spool_made){0};
    assert_int_equal(cs_fleet_spool_collect(spool, store, &settings, &made, &err), 0);
    assert_int_equal(made.samples, 0);
    assert_int_equal(cs_fleet_spool_each(spool, take, &sent, &err), 0);
    assert_int_equal(sent, 12);
    assert_int_equal(cs_fleet_spool_each(spool, take, &sent, &err), 0);
    assert_int_equal(sent, 12);
    cs_fleet_spool_close(spool);
    cs_store_close(store);
    remove_tree(top);
}

TEST(at_its_bound_a_spool_takes_no_more)
{
    char top[] = "/tmp/fleet_test.XXXXXX", path[64], spool_path[64];
    assert_non_null(mkdtemp(top));
    snprintf(path, sizeof path, "%s/store", top);
    snprintf(spool_path, sizeof spool_path, "%s/spool", top);
    struct cs_error err = {0};
    struct cs_store *store;
    struct cs_fleet_spool *spool;
    struct cs_fleet_spool_settings settings = {.now_s = 100, .most_bytes = 1, .most_rows = 1000};
    struct cs_fleet_spool_made made = {0};
    uint64_t sent = 0;
    assert_int_equal(cs_store_open(path, CS_STORE_WRITE, &store, &err), 0);
    assert_int_equal(cs_store_epoch(store, NULL, &err), 0);
    add(store, 5);
    assert_int_equal(cs_fleet_spool_open(spool_path, &spool, &err), 0);
    assert_int_equal(cs_fleet_spool_begin(spool, &err), 0);
    assert_int_equal(cs_fleet_spool_collect(spool, store, &settings, &made, &err), 0);
    uint64_t waiting = made.samples;
    add(store, 6);
    made = (struct cs_fleet_spool_made){0};
    assert_int_equal(cs_fleet_spool_collect(spool, store, &settings, &made, &err), 0);
    assert_true(made.full);
    assert_int_equal(made.samples, 0);
    assert_int_equal(cs_fleet_spool_each(spool, take, &sent, &err), 0);
    assert_int_equal(sent, waiting);
    settings.most_bytes = 1 << 20;
    assert_int_equal(cs_fleet_spool_each(spool, take, &sent, &err), 0);
    assert_int_equal(cs_fleet_spool_collect(spool, store, &settings, &made, &err), 0);
    assert_int_equal(cs_fleet_spool_each(spool, take, &sent, &err), 0);
    assert_int_equal(sent, 11); /* nothing is lost by waiting */
    cs_fleet_spool_close(spool);
    cs_store_close(store);
    remove_tree(top);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_filter_becomes_a_condition),
        cmocka_unit_test(a_filter_can_not_leave_its_quotes),
        cmocka_unit_test(what_is_no_filter_is_refused_by_name),
        cmocka_unit_test(a_time_ago_is_counted_from_now),
        cmocka_unit_test(a_url_is_escaped_and_its_password_not_shown),
        cmocka_unit_test(an_epoch_s_name_has_a_time_and_a_host),
        cmocka_unit_test(a_batch_comes_back_from_its_bytes),
        cmocka_unit_test(no_byte_of_a_batch_can_change_unseen),
        cmocka_unit_test(every_count_is_sent_once),
        cmocka_unit_test(at_its_bound_a_spool_takes_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
