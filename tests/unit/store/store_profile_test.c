/* SPDX-License-Identifier: GPL-2.0-or-later */
/* store/profile.h: a table to bytes and back; damage of every bit and at every length is noticed. */
#include "store/profile.h"
#include "tests/unit/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct cs_schema foreign = {
    "foreign", 4, 3, {{"a", CS_KEY}, {"what", CS_KEY_TEXT}, {"b", CS_KEY}, {"least", CS_MIN}}};

static uint64_t state = 88172645463325252ull;
static uint64_t draw(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static const struct cs_store_profile_head head = {.event = "cpu-clock:u",
                                                  .label = "cc1",
                                                  .unit = "ns",
                                                  .period_sum = 123456789012345,
                                                  .enabled_ns = 55,
                                                  .running_ns = UINT64_MAX};

static struct cs_table *random_table(const struct cs_schema *schema, unsigned n)
{
    struct cs_table *table = cs_table_open(schema);
    assert_non_null(table);
    assert_true(cs_table_text(table, "never used by a row") >= 0);
    for (unsigned i = 0; i < n; i++) {
        uint64_t row[CS_TABLE_COLUMNS_MAX];
        for (unsigned c = 0; c < schema->n_columns; c++) {
            row[c] = draw() >> (draw() % 64);
            if (schema->columns[c].kind == CS_KEY_TEXT) {
                char text[32];
                snprintf(text, sizeof text, "text%u", (unsigned)(draw() % 50));
                row[c] = (uint64_t)cs_table_text(table, draw() % 9 ? text : "");
            }
        }
        assert_int_equal(cs_table_add(table, row), 0);
    }
    return table;
}

static void assert_same(struct cs_table *a, struct cs_table *b)
{
    const struct cs_schema *schema = cs_table_schema(a);
    assert_true(cs_schema_equal(schema, cs_table_schema(b)));
    assert_int_equal(cs_table_rows(a), cs_table_rows(b));
    for (size_t i = 0; i < cs_table_rows(a); i++)
        for (unsigned c = 0; c < schema->n_columns; c++) {
            uint64_t x = cs_table_row(a, i)[c], y = cs_table_row(b, i)[c];
            if (schema->columns[c].kind == CS_KEY_TEXT)
                assert_string_equal(cs_table_string(a, x), cs_table_string(b, y));
            else
                assert_int_equal(x, y);
        }
}

TEST(what_was_encoded_decodes_to_the_same)
{
    const struct cs_schema *schemas[] = {&cs_schema_points,    &cs_schema_edges, &cs_schema_stacks,
                                         &cs_schema_intervals, &cs_schema_names, &foreign};
    for (unsigned round = 0; round < 60; round++) {
        struct cs_table *table =
                            random_table(schemas[round % 6], round < 6 ? round : (unsigned)(draw() % 500)),
                        *back;
        struct cs_bytes bytes = {0};
        struct cs_store_profile_file file;
        struct cs_error err;
        assert_int_equal(cs_store_profile_encode(&head, table, &bytes), 0);
        assert_int_equal(cs_store_profile_decode(bytes.start, bytes.used, "x", &file, &back, &err), 0);
        assert_same(table, back);
        assert_string_equal(file.head.event, head.event);
        assert_string_equal(file.head.label, head.label);
        assert_string_equal(file.head.unit, head.unit);
        assert_int_equal(file.head.period_sum, head.period_sum);
        assert_int_equal(file.head.enabled_ns, head.enabled_ns);
        assert_int_equal(file.head.running_ns, head.running_ns);
        assert_int_equal(cs_store_profile_decode_head(bytes.start, bytes.used > 2048 ? 2048 : bytes.used,
                                                      bytes.used, "x", &file, &err),
                         0);
        assert_int_equal(file.n_rows, cs_table_rows(table));
        cs_table_close(back);
        cs_table_close(table);
        cs_bytes_fini(&bytes);
    }
}

TEST(the_bytes_do_not_depend_on_the_order_of_filling)
{
    for (unsigned round = 0; round < 20; round++) {
        struct cs_table *a = random_table(&foreign, 60), *b = random_table(&foreign, 60);
        struct cs_table *ab = cs_table_open(&foreign), *ba = cs_table_open(&foreign);
        struct cs_bytes x = {0}, y = {0};
        assert_int_equal(cs_table_merge(ab, a) + cs_table_merge(ab, b), 0);
        assert_int_equal(cs_table_merge(ba, b) + cs_table_merge(ba, a), 0);
        assert_int_equal(cs_store_profile_encode(&head, ab, &x) + cs_store_profile_encode(&head, ba, &y), 0);
        assert_int_equal(x.used, y.used);
        assert_memory_equal(x.start, y.start, x.used);
        struct cs_table *all[] = {a, b, ab, ba};
        for (size_t i = 0; i < 4; i++)
            cs_table_close(all[i]);
        cs_bytes_fini(&x);
        cs_bytes_fini(&y);
    }
}

static void expect_refusal(const uint8_t *bytes, size_t n)
{
    struct cs_store_profile_file file;
    struct cs_table *table;
    struct cs_error err = {0};
    /* A copy of exactly n bytes: a sanitizer sees any look beyond. */
    uint8_t *copy = malloc(n ? n : 1);
    memcpy(copy, bytes, n);
    int rc = cs_store_profile_decode(copy, n, "the/file", &file, &table, &err);
    free(copy);
    if (rc == 0)
        cs_table_close(table);
    assert_true(rc == -EBADMSG || rc == -EPROTONOSUPPORT);
    assert_non_null(strstr(err.text, "the/file"));
}

TEST(every_flipped_bit_is_noticed)
{
    for (unsigned n = 3; n < 400; n += 150) {
        struct cs_table *table = random_table(&foreign, n);
        struct cs_bytes bytes = {0};
        assert_int_equal(cs_store_profile_encode(&head, table, &bytes), 0);
        for (size_t bit = 0; bit < 8 * bytes.used; bit++) {
            bytes.start[bit / 8] ^= (uint8_t)(1u << bit % 8);
            expect_refusal(bytes.start, bytes.used);
            bytes.start[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
        cs_table_close(table);
        cs_bytes_fini(&bytes);
    }
}

TEST(every_truncation_and_extension_is_noticed)
{
    struct cs_table *table = random_table(&cs_schema_edges, 100);
    struct cs_bytes bytes = {0};
    assert_int_equal(cs_store_profile_encode(&head, table, &bytes), 0);
    for (size_t n = 0; n < bytes.used; n++)
        expect_refusal(bytes.start, n);
    cs_bytes_put_u8(&bytes, 0);
    expect_refusal(bytes.start, bytes.used);
    cs_table_close(table);
    cs_bytes_fini(&bytes);
}

/* The bound of FORMAT.md: 2^20 bytes and 1,000 times the stored ones. */
TEST(a_body_that_would_unpack_too_far_is_written_without_compression)
{
    struct cs_table *table = cs_table_open(&foreign), *back;
    struct cs_bytes bytes = {0};
    struct cs_store_profile_file file;
    struct cs_error err;
    int64_t text = cs_table_text(table, "one");
    for (uint64_t i = 0; i < 1000000; i++)
        assert_int_equal(cs_table_add(table, (uint64_t[]){i, (uint64_t)text, 7, 1}), 0);
    assert_int_equal(cs_store_profile_encode(&head, table, &bytes), 0);
    assert_true(bytes.used > 3000000); /* 4 MB of ones and zeros, which zstd makes 400 bytes of */
    assert_int_equal(cs_store_profile_decode(bytes.start, bytes.used, "x", &file, &back, &err), 0);
    assert_int_equal(cs_table_rows(back), 1000000);
    cs_table_close(back);
    cs_table_close(table);
    cs_bytes_fini(&bytes);
}

TEST(a_newer_version_is_refused_in_words)
{
    struct cs_table *table = random_table(&cs_schema_points, 10), *back;
    struct cs_bytes bytes = {0};
    struct cs_store_profile_file file;
    struct cs_error err;
    assert_int_equal(cs_store_profile_encode(&head, table, &bytes), 0);
    bytes.start[4] = 99;
    assert_int_equal(cs_store_profile_decode(bytes.start, bytes.used, "x.prof", &file, &back, &err),
                     -EPROTONOSUPPORT);
    assert_non_null(strstr(err.text, "x.prof was written by a newer cyclescope (format 99"));
    cs_table_close(table);
    cs_bytes_fini(&bytes);
}

TEST(heads_add_up_and_other_units_are_refused)
{
    struct cs_store_profile_head sum = head, other = head;
    assert_int_equal(cs_store_profile_head_merge(&sum, &head), 0);
    assert_int_equal(sum.period_sum, 2 * head.period_sum);
    assert_int_equal(sum.running_ns, UINT64_MAX);
    strcpy(other.unit, "cycles");
    assert_int_equal(cs_store_profile_head_merge(&sum, &other), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_encoded_decodes_to_the_same),
        cmocka_unit_test(the_bytes_do_not_depend_on_the_order_of_filling),
        cmocka_unit_test(every_flipped_bit_is_noticed),
        cmocka_unit_test(every_truncation_and_extension_is_noticed),
        cmocka_unit_test(a_body_that_would_unpack_too_far_is_written_without_compression),
        cmocka_unit_test(a_newer_version_is_refused_in_words),
        cmocka_unit_test(heads_add_up_and_other_units_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
