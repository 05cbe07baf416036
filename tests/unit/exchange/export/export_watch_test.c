/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests exchange/export/export.h: a watcher of an export gets each stage, and never more than there is. */
#include "analysis/frequency/markov_chain.h"
#include "exchange/export/export.h"
#include "tests/unit/test.h"
#include "tests/unit/tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS 600

static char place[64];
static struct cs_error err;

static int remove_place(void **unused)
{
    (void)unused;
    return remove_tree(place);
}

static const struct cs_store_image program = {.id = "0123456789abcdef",
                                              .kind = CS_IMAGE_ELF,
                                              .path = "/nowhere/program",
                                              .build_id = "0123456789abcdef"};

static int make_place(void **unused)
{
    (void)unused;
    strcpy(place, "/tmp/watch-test-XXXXXX");
    if (!mkdtemp(place))
        return -1;
    struct cs_store *store;
    assert_int_equal(cs_store_open(place, CS_STORE_WRITE, &store, &err), 0);
    assert_int_equal(cs_store_epoch(store, NULL, &err), 0);
    static const struct cs_store_profile_head clock = {.event = "cpu-clock", .unit = "ns"},
                                              bursts = {.event = "burst-edges"};
    struct cs_table *points = cs_table_open(&cs_schema_points), *edges = cs_table_open(&cs_schema_edges);
    for (uint64_t i = 0; i < ROWS; i++)
        assert_int_equal(cs_table_add(points, (uint64_t[]){0x100 + 4 * i, 1 + i}), 0);
    uint64_t same = (uint64_t)cs_table_text(edges, "");
    assert_int_equal(cs_table_add(edges, (uint64_t[]){0x110, same, 0x100, 70, 1, 4900}), 0);
    assert_int_equal(cs_table_add(edges, (uint64_t[]){0x110, same, 0x112, 30, 1, 900}), 0);
    assert_int_equal(cs_table_add(edges, (uint64_t[]){0x120, same, 0x100, 30, 1, 900}), 0);
    assert_int_equal(cs_store_merge(store, &program, &clock, points, &err), 0);
    assert_int_equal(cs_store_merge(store, &program, &bursts, edges, &err), 0);
    cs_table_close(points);
    cs_table_close(edges);
    cs_store_close(store);
    return 0;
}

struct told {
    uint64_t rows, rows_total, solutions, solutions_total;
    unsigned calls;
};

static void note(const char *unit, uint64_t done, uint64_t total, void *arg)
{
    struct told *told = arg;
    told->calls++;
    assert_true(done <= total);
    if (strcmp(unit, "rows") == 0) {
        assert_true(done > told->rows);
        told->rows = done;
        told->rows_total = total;
    } else if (strcmp(unit, "solutions") == 0) {
        assert_true(done == 0 || done > told->solutions);
        told->solutions = done;
        told->solutions_total = total;
    }
}

static struct told exported(const char *format, const char *event, bool watched)
{
    struct told told = {0};
    const struct cs_export_watch watch = {note, &told};
    struct cs_store *store;
    struct cs_export from;
    char *text = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);
    assert_non_null(to);
    assert_int_equal(cs_store_open(place, CS_STORE_READ, &store, &err), 0);
    assert_int_equal(cs_export_open(store, event, NULL, watched ? &watch : NULL, &from, &err), 0);
    for (const struct cs_exporter *const *e = cs_exporters; *e; e++)
        if (strcmp((*e)->name, format) == 0)
            (void)(*e)->write(&from, to, &err); /* llvm has nothing to say without lines */
    cs_export_close(&from);
    cs_store_close(store);
    fclose(to);
    free(text);
    return told;
}

TEST(rows_are_told_up_to_their_number)
{
    struct told told = exported("csv", "cpu-clock", true);
    assert_int_equal(told.rows, ROWS / 256 * 256);
    assert_int_equal(told.rows_total, ROWS);
}

TEST(a_format_that_passes_twice_counts_twice)
{
    struct told told = exported("speedscope", "cpu-clock", true);
    assert_int_equal(told.rows, 2 * ROWS / 256 * 256);
    assert_int_equal(told.rows_total, 2 * ROWS);
}

TEST(solving_is_told_once_and_recalled_in_silence)
{
    struct told first = exported("llvm", NULL, true), again = exported("llvm", NULL, true);
    assert_int_equal(first.solutions_total, (CS_EDGE_FLOW_REPLICATES + CS_MARKOV_LANES) / CS_MARKOV_LANES);
    assert_int_equal(first.solutions, first.solutions_total - 1);
    assert_int_equal(again.solutions_total, 0);
}

TEST(nobody_need_watch)
{
    assert_int_equal(exported("csv", NULL, false).calls, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rows_are_told_up_to_their_number, make_place, remove_place),
        cmocka_unit_test_setup_teardown(a_format_that_passes_twice_counts_twice, make_place, remove_place),
        cmocka_unit_test_setup_teardown(solving_is_told_once_and_recalled_in_silence, make_place,
                                        remove_place),
        cmocka_unit_test_setup_teardown(nobody_need_watch, make_place, remove_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
