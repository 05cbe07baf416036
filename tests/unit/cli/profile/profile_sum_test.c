/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/compare/runs.h"
#include "cli/profile/lines/annotate.h"
#include "cli/profile/lines/hottest_line.h"
#include "cli/profile/profile.h"
#include "tests/unit/test.h"

#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Two procedures of this very program are the profiled ones. */
__attribute__((noinline)) int hot_procedure(int n);
__attribute__((noinline)) int cold_procedure(int n);
enum { HOT_LINE = __LINE__ + 1 };
int hot_procedure(int n)
{
    return n * 3 + 1;
}
int cold_procedure(int n)
{
    return n * 5 + 2;
}

static int load_base(struct dl_phdr_info *info, size_t size, void *base)
{
    (void)size;
    *(uint64_t *)base = info->dlpi_addr;
    return 1; /* the program is the first */
}

static uint64_t offset_of(int (*f)(int))
{
    uint64_t base = 0;
    dl_iterate_phdr(load_base, &base);
    return (uint64_t)(uintptr_t)f - base;
}

static char directory[64], self[512];

static void put(struct cs_store *s, const struct cs_store_image *image, const char *event, const char *label,
                uint64_t offset, uint64_t samples)
{
    struct cs_error err = {0};
    struct cs_store_profile_head head = {.unit = "ns", .period_sum = samples * 1000};
    snprintf(head.event, sizeof head.event, "%s", event);
    snprintf(head.label, sizeof head.label, "%s", label);
    struct cs_table *t = cs_table_open(&cs_schema_points);
    const uint64_t row[2] = {offset, samples};
    assert_int_equal(cs_table_add(t, row), 0);
    assert_int_equal(cs_store_merge(s, image, &head, t, &err), 0);
    cs_table_close(t);
}

static int make_store(void **state)
{
    (void)state;
    snprintf(directory, sizeof directory, "/tmp/profile_sum_test.%d", (int)getpid());
    assert_true(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    struct cs_store *s;
    struct cs_error err = {0};
    assert_int_equal(cs_store_open(directory, CS_STORE_WRITE, &s, &err), 0);
    assert_int_equal(cs_store_epoch(s, NULL, &err), 0);
    struct cs_store_image program = {"x1111111111111111", CS_IMAGE_ELF, self, ""};
    struct cs_store_image unknown = {"x2222222222222222", CS_IMAGE_UNKNOWN, "[unknown]", ""};
    uint64_t hot = offset_of(hot_procedure), cold = offset_of(cold_procedure);
    put(s, &program, "cpu-clock", "one", hot, 60);
    put(s, &program, "cpu-clock", "two", hot + 2, 20);
    put(s, &program, "cpu-clock", "one", cold, 15);
    put(s, &program, "observed-cycles", "", cold, 900);
    put(s, &unknown, "cpu-clock", "one", 1, 5);
    cs_store_close(s);
    return 0;
}

static int remove_store(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", directory);
    return system(command); // NOLINT(cert-env33-c)
}

static struct profile_rows sum(struct profile *p, const struct profile_filter *filter, enum profile_by by)
{
    struct cs_error err = {0};
    struct profile_rows rows;
    assert_int_equal(profile_open(p, directory, filter, &err), 0);
    assert_int_equal(profile_sum(p, by, &rows, &err), 0);
    return rows;
}

TEST(samples_of_one_procedure_are_one_row)
{
    struct profile p;
    struct profile_rows rows = sum(&p, &(struct profile_filter){.label = NULL}, BY_PROCEDURE);
    int observed = profile_event_index(&p, "observed-cycles");
    assert_string_equal(p.events[p.main_event].name, "cpu-clock");
    assert_int_equal(rows.n, 3);
    assert_string_equal(rows.row[0].name, "hot_procedure");
    assert_int_equal(rows.row[0].samples[p.main_event], 80);
    assert_string_equal(rows.row[1].name, "cold_procedure");
    assert_int_equal(rows.row[1].samples[p.main_event], 15);
    assert_int_equal(rows.row[1].samples[observed], 900);
    assert_int_equal(rows.total[p.main_event], 100);
    assert_int_equal(rows.unknown, 5);
    profile_rows_fini(&rows);
    profile_close(&p);
}

TEST(processes_are_told_apart_across_images)
{
    struct profile p;
    struct profile_rows rows = sum(&p, &(struct profile_filter){.label = NULL}, BY_PROCESS);
    assert_string_equal(rows.row[0].name, "one");
    assert_int_equal(rows.row[0].samples[p.main_event], 80);
    assert_string_equal(rows.row[1].name, "two");
    assert_int_equal(rows.row[1].samples[p.main_event], 20);
    profile_rows_fini(&rows);
    profile_close(&p);
}

TEST(lines_name_file_and_number)
{
    struct profile p;
    struct profile_rows rows = sum(&p, &(struct profile_filter){.image = "profile_sum_test"}, BY_LINE);
    assert_true(rows.n >= 2);
    assert_non_null(rows.row[0].file);
    assert_non_null(strstr(rows.row[0].file, "profile_sum_test.c"));
    assert_in_range(rows.row[0].line, HOT_LINE, HOT_LINE + 3);
    profile_rows_fini(&rows);
    profile_close(&p);
}

TEST(an_absent_event_or_image_gets_a_sentence)
{
    struct profile p;
    struct cs_error err = {0};
    assert_true(profile_open(&p, directory, &(struct profile_filter){.main_event = "cycles"}, &err) < 0);
    assert_non_null(strstr(err.text, "cpu-clock"));
    err = (struct cs_error){0};
    assert_true(profile_open(&p, directory, &(struct profile_filter){.image = "nothing"}, &err) < 0);
    assert_non_null(strstr(err.text, "has no image nothing"));
}

TEST(the_hottest_line_is_the_hot_procedures)
{
    struct profile p;
    struct profile_rows rows;
    struct hottest_line hottest;
    struct cs_error err = {0};
    char sentence[1024];
    assert_int_equal(profile_open(&p, directory, &(struct profile_filter){.image = NULL}, &err), 0);
    assert_int_equal(profile_sum(&p, BY_PROCEDURE, &rows, &err), 0);
    struct cs_chains chains;
    assert_int_equal(cs_chains_open(&chains, p.store, &(struct cs_calls_wanted){.event = "cpu-clock"}, &err),
                     0);
    hottest_line_find(&p, &rows, &chains, &hottest);
    cs_chains_close(&chains);
    assert_int_equal(hottest.how, HOTTEST_OWN);
    assert_string_equal(hottest_line_file(&hottest), "profile_sum_test.c");
    assert_in_range(hottest.line, HOT_LINE, HOT_LINE + 3);
    hottest_line_sentence(&hottest, &rows.row[0], sentence, sizeof sentence);
    assert_non_null(strstr(sentence, "hot_procedure"));
    profile_rows_fini(&rows);
    profile_close(&p);
}

TEST(two_lines_that_a_samples_address_cant_tell_apart_are_both_named)
{
    const struct profile_row top = {.name = "hash_of"};
    struct hottest_line hottest = {
        .how = HOTTEST_OWN, .file = "/src/a.c", .line = 18, .samples = 1767, .of = 2811};
    char sentence[1024];
    hottest_line_sentence(&hottest, &top, sentence, sizeof sentence);
    assert_string_equal(sentence, "hash_of: most of it at a.c:18 (1,767 of 2,811 samples).");
    hottest.second_line = 19;
    hottest.second_samples = 1044;
    hottest_line_sentence(&hottest, &top, sentence, sizeof sentence);
    assert_string_equal(sentence,
                        "hash_of: most of it at a.c:18 (1,767 of 2,811 samples) or a.c:19 (1,044), a few "
                        "instructions away.");
}

TEST(a_listing_has_the_samples_at_their_instructions)
{
    struct profile p;
    struct profile_rows rows;
    struct annotation a;
    struct cs_image_code *code;
    struct cs_error err = {0};
    assert_int_equal(profile_open(&p, directory, &(struct profile_filter){.image = NULL}, &err), 0);
    assert_int_equal(profile_sum(&p, BY_PROCEDURE, &rows, &err), 0);
    const struct profile_row *row = find_procedure(&rows, "cold_procedure");
    assert_non_null(row);
    assert_null(find_procedure(&rows, "no_such_procedure"));
    assert_int_equal(cs_image_open(&row->image->image, p.store, &code, &err), 0);
    assert_int_equal(annotate_procedure(&p, row, code, NULL, &a, &err), 0);
    unsigned event = (unsigned)profile_event_index(&p, "cpu-clock");
    uint64_t sum = 0;
    assert_int_equal(a.total[event], 15);
    for (size_t i = 0; i < a.n_insns; i++)
        sum += a.insn[i].samples ? a.insn[i].samples[event] : 0;
    assert_int_equal(sum, 15);
    assert_int_equal(a.insn[0].offset, offset_of(cold_procedure));
    assert_int_equal(a.insn[0].samples[event], 15);
    annotation_fini(&a);
    cs_image_close(code);
    profile_rows_fini(&rows);
    profile_close(&p);
}

TEST(runs_are_the_epochs_of_the_stores)
{
    struct runs runs = {.run = NULL};
    struct cs_error err = {0};
    assert_int_equal(runs_add(&runs, directory, NULL, "cpu-clock", BY_PROCEDURE, &err), 0);
    assert_int_equal(runs_add(&runs, directory, NULL, NULL, BY_PROCEDURE, &err), 0);
    assert_int_equal(runs.n_runs, 2);
    assert_int_equal(runs.n_sets, 2);
    bool found = false;
    for (size_t i = 0; i < runs.n_rows; i++)
        if (runs.row[i].name && strcmp(runs.row[i].name, "hot_procedure") == 0) {
            found = true;
            assert_true(runs.row[i].samples[0] == 80 && runs.row[i].samples[1] == 80);
        }
    assert_true(found);
    runs_fini(&runs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_hottest_line_is_the_hot_procedures),
        cmocka_unit_test(two_lines_that_a_samples_address_cant_tell_apart_are_both_named),
        cmocka_unit_test(a_listing_has_the_samples_at_their_instructions),
        cmocka_unit_test(runs_are_the_epochs_of_the_stores),
        cmocka_unit_test(samples_of_one_procedure_are_one_row),
        cmocka_unit_test(processes_are_told_apart_across_images),
        cmocka_unit_test(lines_name_file_and_number),
        cmocka_unit_test(an_absent_event_or_image_gets_a_sentence),
    };
    return cmocka_run_group_tests(tests, make_store, remove_store);
}
