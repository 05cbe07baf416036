/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/profile/profile.h"

#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

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

static void put(struct cs_store *s, const struct cs_image *image, const char *event, const char *label,
                uint64_t offset, uint64_t samples)
{
    struct cs_error err = {0};
    struct cs_profile_head head = {.unit = "ns", .period_sum = samples * 1000};
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
    struct cs_image program = {"x1111111111111111", CS_IMAGE_ELF, self, ""};
    struct cs_image unknown = {"x2222222222222222", CS_IMAGE_UNKNOWN, "[unknown]", ""};
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

static void samples_of_one_procedure_are_one_row(void **state)
{
    (void)state;
    struct profile p;
    struct profile_rows rows = sum(&p, &(struct profile_filter){NULL}, BY_PROCEDURE);
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

static void processes_are_told_apart_across_images(void **state)
{
    (void)state;
    struct profile p;
    struct profile_rows rows = sum(&p, &(struct profile_filter){NULL}, BY_PROCESS);
    assert_string_equal(rows.row[0].name, "one");
    assert_int_equal(rows.row[0].samples[p.main_event], 80);
    assert_string_equal(rows.row[1].name, "two");
    assert_int_equal(rows.row[1].samples[p.main_event], 20);
    profile_rows_fini(&rows);
    profile_close(&p);
}

static void lines_name_file_and_number(void **state)
{
    (void)state;
    struct profile p;
    struct profile_rows rows = sum(&p, &(struct profile_filter){.image = "profile_sum_test"}, BY_LINE);
    assert_true(rows.n >= 2);
    assert_non_null(rows.row[0].file);
    assert_non_null(strstr(rows.row[0].file, "profile_sum_test.c"));
    assert_in_range(rows.row[0].line, HOT_LINE, HOT_LINE + 3);
    profile_rows_fini(&rows);
    profile_close(&p);
}

static void an_absent_event_or_image_gets_a_sentence(void **state)
{
    (void)state;
    struct profile p;
    struct cs_error err = {0};
    assert_true(profile_open(&p, directory, &(struct profile_filter){.main_event = "cycles"}, &err) < 0);
    assert_non_null(strstr(err.text, "cpu-clock"));
    err = (struct cs_error){0};
    assert_true(profile_open(&p, directory, &(struct profile_filter){.image = "nothing"}, &err) < 0);
    assert_non_null(strstr(err.text, "no profile of that image"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_of_one_procedure_are_one_row),
        cmocka_unit_test(processes_are_told_apart_across_images),
        cmocka_unit_test(lines_name_file_and_number),
        cmocka_unit_test(an_absent_event_or_image_gets_a_sentence),
    };
    return cmocka_run_group_tests(tests, make_store, remove_store);
}
