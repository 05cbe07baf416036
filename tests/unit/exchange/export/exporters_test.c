/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What exporters write of a store of two points, read by others: jansson, zlib, plain comparison. */
#include "exchange/export/export.h"
#include "tests/unit/test.h"
#include "tests/unit/tree.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <jansson.h>

static char top[] = "/tmp/exporters_test.XXXXXX";
static struct cs_store *store;

static int make_store(void **state)
{
    (void)state;
    struct cs_error err = {0};
    struct cs_store_image image = {"x1111111111111111", CS_IMAGE_UNKNOWN, "[odd, \"name\"]", ""};
    struct cs_store_profile_head head = {.event = "cycles", .unit = "cycles", .period_sum = 3000};
    struct cs_table *t = cs_table_open(&cs_schema_points);
    if (!mkdtemp(top) || cs_store_open(top, CS_STORE_WRITE, &store, &err) < 0 ||
        cs_store_epoch(store, NULL, &err) < 0 || cs_table_add(t, (uint64_t[]){16, 2}) < 0 ||
        cs_table_add(t, (uint64_t[]){32, 1}) < 0 || cs_store_merge(store, &image, &head, t, &err) < 0)
        return -1;
    cs_table_close(t);
    return 0;
}

static int remove_store(void **state)
{
    (void)state;
    cs_store_close(store);
    return remove_tree(top);
}

/* The whole output of an exporter; the caller frees it. */
static char *exported(const char *name, size_t *size)
{
    struct cs_export from;
    struct cs_error err = {0};
    char *text = NULL;
    assert_int_equal(cs_export_open(store, NULL, NULL, NULL, &from, &err), 0);
    const struct cs_exporter *const *e = cs_exporters;
    while (*e && strcmp((*e)->name, name) != 0)
        e++;
    assert_non_null(*e);
    FILE *f = open_memstream(&text, size);
    assert_int_equal((*e)->write(&from, f, &err), 0);
    fclose(f);
    cs_export_close(&from);
    return text;
}

static json_t *parsed(const char *name)
{
    size_t n;
    json_error_t why;
    char *text = exported(name, &n);
    json_t *value = json_loadb(text, n, JSON_REJECT_DUPLICATES, &why);
    if (!value)
        fail_msg("%s: %s in line %d", name, why.text, why.line);
    free(text);
    return value;
}

TEST(csv_quotes_what_must_be)
{
    size_t n;
    char *text = exported("csv", &n);
    const char *second = strchr(text, '\n') + 1;
    assert_memory_equal(text, "image,path,event,kind,offset,", 29);
    assert_non_null(strstr(second, "\"[odd, \"\"name\"\"]\""));
    unsigned lines = 0;
    for (const char *p = text; (p = strchr(p, '\n')) != NULL; p++)
        lines++;
    assert_int_equal(lines, 3);
    free(text);
}

TEST(json_has_the_same_rows)
{
    json_t *value = parsed("json"), *rows = json_object_get(value, "rows");
    assert_int_equal(json_array_size(rows), 2);
    json_int_t sum = 0;
    for (size_t i = 0; i < 2; i++) {
        json_t *row = json_array_get(rows, i);
        assert_string_equal(json_string_value(json_object_get(row, "path")), "[odd, \"name\"]");
        sum += json_integer_value(json_object_get(row, "count"));
    }
    assert_int_equal(sum, 3);
    json_decref(value);
}

TEST(folded_stacks_add_up)
{
    size_t n;
    char *text = exported("folded", &n), *rest = text, *line;
    unsigned sum = 0;
    while ((line = strsep(&rest, "\n")) != NULL && *line) {
        assert_memory_equal(line, "cycles;", 7);
        sum += (unsigned)atoi(strrchr(line, ' ') + 1);
    }
    assert_int_equal(sum, 3);
    free(text);
}

TEST(speedscope_weights_add_up)
{
    json_t *value = parsed("speedscope");
    json_t *profile = json_array_get(json_object_get(value, "profiles"), 0);
    json_t *weights = json_object_get(profile, "weights");
    json_int_t sum = 0;
    for (size_t i = 0; i < json_array_size(weights); i++)
        sum += (json_int_t)json_number_value(json_array_get(weights, i));
    assert_int_equal(sum, 3);
    assert_int_equal(json_array_size(json_object_get(profile, "samples")), json_array_size(weights));
    json_decref(value);
}

TEST(every_column_of_firefox_s_tables_is_as_long_as_the_table)
{
    json_t *value = parsed("firefox"), *thread = json_array_get(json_object_get(value, "threads"), 0), *table;
    static const char *const tables[] = {"frameTable", "funcTable", "stackTable"};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        const char *key;
        json_t *column;
        table = json_object_get(thread, tables[i]);
        assert_non_null(table);
        size_t length = (size_t)json_integer_value(json_object_get(table, "length"));
        assert_true(length > 0);
        json_object_foreach(table, key, column) if (json_is_array(column))
            assert_int_equal(json_array_size(column), length);
    }
    json_decref(value);
}

/* Field 2 (samples) of the outermost message, each with its length: profile.proto of github.com/google/pprof. */
static unsigned count_samples(const uint8_t *p, const uint8_t *end)
{
    unsigned samples = 0;
    while (p < end) {
        uint64_t word[2] = {0};
        for (unsigned k = 0; k < 2; k++) {
            unsigned shift = 0;
            do
                word[k] |= (uint64_t)(*p & 0x7f) << shift, shift += 7;
            while (*p++ & 0x80);
        }
        samples += word[0] == (2 << 3 | 2);
        if ((word[0] & 7) == 2)
            p += word[1];
    }
    assert_ptr_equal(p, end);
    return samples;
}

TEST(pprof_is_a_gzipped_message_with_a_sample_a_point)
{
    size_t n;
    char *text = exported("pprof", &n);
    uint8_t plain[65536];
    z_stream z = {
        .next_in = (Bytef *)text, .avail_in = (uInt)n, .next_out = plain, .avail_out = sizeof plain};
    assert_int_equal(inflateInit2(&z, 16 + MAX_WBITS), Z_OK);
    assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
    assert_int_equal(count_samples(plain, plain + z.total_out), 2);
    inflateEnd(&z);
    free(text);
}

TEST(what_is_not_there_is_refused_in_a_sentence)
{
    struct cs_export from;
    struct cs_error err = {0};
    assert_true(cs_export_open(store, "no-such-event", NULL, NULL, &from, &err) < 0);
    assert_non_null(strstr(err.text, "no-such-event"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(csv_quotes_what_must_be),
        cmocka_unit_test(json_has_the_same_rows),
        cmocka_unit_test(folded_stacks_add_up),
        cmocka_unit_test(speedscope_weights_add_up),
        cmocka_unit_test(every_column_of_firefox_s_tables_is_as_long_as_the_table),
        cmocka_unit_test(pprof_is_a_gzipped_message_with_a_sample_a_point),
        cmocka_unit_test(what_is_not_there_is_refused_in_a_sentence),
    };
    return cmocka_run_group_tests(tests, make_store, remove_store);
}
