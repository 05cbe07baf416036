/* SPDX-License-Identifier: GPL-2.0-or-later */
/* store/table/table.h against a slow model: an unsorted list searched from end to end. */
#include "store/table/table.h"
#include "tests/unit/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct cs_schema mixed = {
    "mixed",
    5,
    2,
    {{"name", CS_KEY_TEXT}, {"offset", CS_KEY}, {"n", CS_SUM}, {"most", CS_MAX}, {"least", CS_MIN}}};

struct model {
    struct {
        char name[24];
        uint64_t offset, n, most, least;
    } rows[2048];
    size_t n_rows;
};

static uint64_t saturating(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static void model_add(struct model *model, const char *name, uint64_t offset, uint64_t n, uint64_t most,
                      uint64_t least)
{
    size_t i = 0;
    while (i < model->n_rows && (strcmp(model->rows[i].name, name) != 0 || model->rows[i].offset != offset))
        i++;
    if (i == model->n_rows) {
        assert_true(model->n_rows < 2048);
        model->n_rows++;
        snprintf(model->rows[i].name, sizeof model->rows[i].name, "%s", name);
        model->rows[i].offset = offset;
        model->rows[i].n = n;
        model->rows[i].most = most;
        model->rows[i].least = least;
        return;
    }
    model->rows[i].n = saturating(model->rows[i].n, n);
    if (most > model->rows[i].most)
        model->rows[i].most = most;
    if (least < model->rows[i].least)
        model->rows[i].least = least;
}

/* xorshift64: the same rows in every run of the test. */
static uint64_t state = 88172645463325252ull;
static uint64_t draw(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static void add_random_rows(struct cs_table *table, struct model *model, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        char name[24];
        snprintf(name, sizeof name, "name%u", (unsigned)(draw() % 40));
        if (draw() % 10 == 0)
            name[0] = '\0';
        uint64_t offset = draw() % 8 == 0 ? draw() : draw() % 16;
        uint64_t count = draw() % 20 == 0 ? UINT64_MAX - draw() % 4 : draw() % 1000;
        uint64_t most = draw(), least = draw();
        int64_t text = cs_table_text(table, name);
        assert_true(text >= 0);
        assert_int_equal(cs_table_add(table, (uint64_t[]){(uint64_t)text, offset, count, most, least}), 0);
        model_add(model, name, offset, count, most, least);
    }
}

static void assert_is(struct cs_table *table, const struct model *model)
{
    assert_int_equal(cs_table_rows(table), model->n_rows);
    for (size_t i = 0; i < cs_table_rows(table); i++) {
        const uint64_t *row = cs_table_row(table, i);
        const char *name = cs_table_string(table, row[0]);
        size_t k = 0;
        while (k < model->n_rows &&
               (strcmp(model->rows[k].name, name) != 0 || model->rows[k].offset != row[1]))
            k++;
        assert_true(k < model->n_rows);
        assert_int_equal(row[2], model->rows[k].n);
        assert_int_equal(row[3], model->rows[k].most);
        assert_int_equal(row[4], model->rows[k].least);
        if (i) {
            char before[24];
            const uint64_t *last = cs_table_row(table, i - 1);
            snprintf(before, sizeof before, "%s", cs_table_string(table, last[0]));
            int order = strcmp(before, name);
            assert_true(order < 0 || (order == 0 && last[1] < row[1]));
        }
    }
}

static void assert_same(struct cs_table *a, struct cs_table *b)
{
    assert_int_equal(cs_table_rows(a), cs_table_rows(b));
    for (size_t i = 0; i < cs_table_rows(a); i++) {
        const uint64_t *x = cs_table_row(a, i), *y = cs_table_row(b, i);
        assert_string_equal(cs_table_string(a, x[0]), cs_table_string(b, y[0]));
        assert_memory_equal(x + 1, y + 1, 4 * sizeof *x);
    }
}

static struct cs_table *merged(struct cs_table *a, struct cs_table *b)
{
    struct cs_table *sum = cs_table_open(&mixed);
    assert_non_null(sum);
    assert_int_equal(cs_table_merge(sum, a), 0);
    assert_int_equal(cs_table_merge(sum, b), 0);
    return sum;
}

TEST(a_table_holds_what_the_model_holds_in_key_order)
{
    for (unsigned round = 0; round < 30; round++) {
        struct model *model = calloc(1, sizeof *model);
        struct cs_table *table = cs_table_open(&mixed);
        for (unsigned part = 0; part < 4; part++) {
            add_random_rows(table, model, (unsigned)(draw() % 300));
            assert_is(table, model); /* sorting in between must not disturb later additions */
        }
        cs_table_close(table);
        free(model);
    }
}

TEST(merge_is_commutative_and_associative_and_equals_adding_all_rows)
{
    for (unsigned round = 0; round < 30; round++) {
        struct model *model = calloc(1, sizeof *model);
        struct cs_table *t[3];
        for (unsigned i = 0; i < 3; i++) {
            t[i] = cs_table_open(&mixed);
            add_random_rows(t[i], model, (unsigned)(draw() % 200));
        }
        struct cs_table *ab = merged(t[0], t[1]), *ba = merged(t[1], t[0]), *bc = merged(t[1], t[2]);
        struct cs_table *ab_c = merged(ab, t[2]), *a_bc = merged(t[0], bc), *c_ba = merged(t[2], ba);
        assert_same(ab, ba);
        assert_same(ab_c, a_bc);
        assert_same(ab_c, c_ba);
        assert_is(ab_c, model);
        struct cs_table *all[] = {t[0], t[1], t[2], ab, ba, bc, ab_c, a_bc, c_ba};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            cs_table_close(all[i]);
        free(model);
    }
}

TEST(merging_a_table_into_itself_doubles_its_sums)
{
    struct cs_table *table = cs_table_open(&cs_schema_points);
    for (uint64_t i = 0; i < 100; i++)
        cs_table_add(table, (uint64_t[]){i * 4, i});
    assert_int_equal(cs_table_merge(table, table), 0);
    assert_int_equal(cs_table_rows(table), 100);
    assert_int_equal(cs_table_sum(table, 1), 2 * 99 * 50);
    cs_table_close(table);
}

TEST(sums_saturate_instead_of_wrapping)
{
    struct cs_table *table = cs_table_open(&cs_schema_points);
    cs_table_add(table, (uint64_t[]){1, UINT64_MAX - 1});
    cs_table_add(table, (uint64_t[]){1, 5});
    cs_table_add(table, (uint64_t[]){2, 5});
    assert_int_equal(cs_table_row(table, 0)[1], UINT64_MAX);
    assert_int_equal(cs_table_sum(table, 1), UINT64_MAX);
    cs_table_close(table);
}

TEST(tables_of_different_schemas_refuse_to_merge)
{
    struct cs_table *points = cs_table_open(&cs_schema_points), *edges = cs_table_open(&cs_schema_edges);
    assert_int_equal(cs_table_merge(points, edges), -EINVAL);
    cs_table_close(points);
    cs_table_close(edges);
}

TEST(strings_stay_where_they_are_while_the_dictionary_grows)
{
    struct cs_table *table = cs_table_open(&cs_schema_stacks);
    int64_t first = cs_table_text(table, "first");
    const char *before = cs_table_string(table, (uint64_t)first);
    for (unsigned i = 0; i < 10000; i++) {
        char text[600];
        snprintf(text, sizeof text, "%0*u", (int)(i % 500) + 1, i);
        assert_true(cs_table_text(table, text) >= 0);
    }
    assert_ptr_equal(cs_table_string(table, (uint64_t)first), before);
    assert_int_equal(cs_table_text(table, "first"), first);
    assert_string_equal(cs_table_string(table, 1u << 30), "");
    cs_table_close(table);
}

TEST(a_cleared_table_is_as_new)
{
    struct cs_table *table = cs_table_open(&cs_schema_points);
    for (uint64_t i = 0; i < 100000; i++)
        cs_table_add(table, (uint64_t[]){i * 7919, 1});
    cs_table_clear(table);
    assert_int_equal(cs_table_rows(table), 0);
    cs_table_add(table, (uint64_t[]){3, 4});
    assert_int_equal(cs_table_sum(table, 1), 4);
    cs_table_close(table);
}

TEST(rows_taken_over_are_as_if_added_one_by_one)
{
    for (size_t n = 0; n < 3000; n = n ? n * 3 : 1) {
        struct cs_table *adopted = cs_table_open(&cs_schema_points),
                        *added = cs_table_open(&cs_schema_points);
        uint64_t *rows = malloc((n ? n : 1) * 2 * sizeof *rows);
        assert_true(adopted && added && rows);
        for (size_t i = 0; i < n; i++) {
            rows[2 * i] = 10 * i + 5;
            rows[2 * i + 1] = i;
            assert_int_equal(cs_table_add(added, &rows[2 * i]), 0);
        }
        assert_int_equal(cs_table_adopt(adopted, rows, n), 0);
        for (size_t i = 0; i < 4000; i++) { /* some are there, some are new */
            uint64_t row[] = {draw() % (12 * n + 100), 1 + draw() % 9};
            assert_int_equal(cs_table_add(added, row), 0);
            assert_int_equal(cs_table_add(adopted, row), 0);
        }
        assert_int_equal(cs_table_rows(adopted), cs_table_rows(added));
        for (size_t i = 0; i < cs_table_rows(added); i++)
            assert_memory_equal(cs_table_row(adopted, i), cs_table_row(added, i), 16);
        cs_table_close(adopted);
        cs_table_close(added);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_holds_what_the_model_holds_in_key_order),
        cmocka_unit_test(merge_is_commutative_and_associative_and_equals_adding_all_rows),
        cmocka_unit_test(merging_a_table_into_itself_doubles_its_sums),
        cmocka_unit_test(sums_saturate_instead_of_wrapping),
        cmocka_unit_test(tables_of_different_schemas_refuse_to_merge),
        cmocka_unit_test(strings_stay_where_they_are_while_the_dictionary_grows),
        cmocka_unit_test(a_cleared_table_is_as_new),
        cmocka_unit_test(rows_taken_over_are_as_if_added_one_by_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
