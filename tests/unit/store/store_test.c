/* SPDX-License-Identifier: GPL-2.0-or-later */
/* store/store.h in a temporary directory. */
#include "store/store.h"
#include "tests/unit/give_name.h"
#include "tests/unit/store/each_profile.h"
#include "tests/unit/test.h"
#include "tests/unit/tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char place[64], path[128];
static struct cs_error err;

static int make_place(void **unused)
{
    (void)unused;
    strcpy(place, "/tmp/store-test-XXXXXX");
    if (!mkdtemp(place))
        return -1;
    snprintf(path, sizeof path, "%s/store", place);
    return 0;
}

static int remove_place(void **unused)
{
    (void)unused;
    return remove_tree(place);
}

static struct cs_store *opened(enum cs_store_mode mode)
{
    struct cs_store *store;
    if (cs_store_open(path, mode, &store, &err) < 0)
        fail_msg("%s", err.text);
    return store;
}

static const struct cs_store_image program = {.id = "0123456789abcdef",
                                              .kind = CS_IMAGE_ELF,
                                              .path = "/usr/bin/program",
                                              .build_id = "0123456789abcdef"};
static const struct cs_store_profile_head clock_head = {
    .event = "cpu-clock", .unit = "ns", .period_sum = 1000, .enabled_ns = 7, .running_ns = 5};

static struct cs_table *points(uint64_t offset, uint64_t samples)
{
    struct cs_table *table = cs_table_open(&cs_schema_points);
    assert_int_equal(cs_table_add(table, (uint64_t[]){offset, samples}), 0);
    return table;
}

static void merge_points(struct cs_store *store, const struct cs_store_image *image,
                         const struct cs_store_profile_head *head, uint64_t offset, uint64_t samples)
{
    struct cs_table *table = points(offset, samples);
    if (cs_store_merge(store, image, head, table, &err) < 0)
        fail_msg("%s", err.text);
    cs_table_close(table);
}

struct seen {
    unsigned n;
    struct cs_store_profile_head head;
    char path[64], file[512], epoch[128], image[64];
    uint64_t samples, rows;
};

static int see(const struct cs_store_profile_ref *ref, void *arg)
{
    struct seen *seen = arg;
    struct cs_table *table;
    assert_int_equal(cs_store_load(ref, &table, &err), 0);
    seen->n++;
    seen->head = *ref->head;
    snprintf(seen->path, sizeof seen->path, "%s", ref->image->path);
    snprintf(seen->file, sizeof seen->file, "%s", ref->file);
    snprintf(seen->epoch, sizeof seen->epoch, "%s", ref->epoch);
    snprintf(seen->image, sizeof seen->image, "%s", ref->image->id);
    seen->samples += cs_table_sum(table, 1);
    seen->rows += cs_table_rows(table);
    cs_table_close(table);
    return 0;
}

static int n_bad;
static void bad(const char *sentence, void *arg)
{
    (void)arg;
    print_message("%s\n", sentence);
    n_bad++;
}

TEST(merges_of_one_profile_add_up_in_one_file)
{
    struct cs_store *store = opened(CS_STORE_WRITE);
    struct seen seen = {0};
    assert_int_equal(cs_store_epoch(store, "{\"command\":\"true\"}", &err), 0);
    merge_points(store, &program, &clock_head, 64, 3);
    merge_points(store, &program, &clock_head, 64, 4);
    merge_points(store, &program, &clock_head, 68, 1);
    assert_int_equal(each_profile(store, see, &seen, &err), 0);
    assert_int_equal(seen.n, 1);
    assert_int_equal(seen.rows, 2);
    assert_int_equal(seen.samples, 8);
    assert_int_equal(seen.head.period_sum, 3000);
    assert_int_equal(seen.head.running_ns, 15);
    assert_string_equal(seen.path, "/usr/bin/program");
    assert_string_equal(seen.epoch, cs_store_epoch_name(store));
    char expected[512];
    snprintf(expected, sizeof expected, "%s/%s/0123456789abcdef/cpu-clock.prof", path, seen.epoch);
    assert_string_equal(seen.file, expected);
    assert_int_equal(cs_store_verify(path, bad, NULL, &err), 0);
    cs_store_close(store);
}

TEST(events_labels_and_kinds_have_files_of_their_own)
{
    struct cs_store *store = opened(CS_STORE_WRITE);
    struct cs_store_profile_head head = clock_head;
    struct seen seen = {0};
    assert_int_equal(cs_store_epoch(store, NULL, &err), 0);
    merge_points(store, &program, &head, 64, 1);
    strcpy(head.label, "../../etc/passwd");
    merge_points(store, &program, &head, 64, 1);
    memset(head.event, '/', 63);
    memset(head.label, '.', 63);
    merge_points(store, &program, &head, 64, 1);
    head = clock_head;
    struct cs_table *stacks = cs_table_open(&cs_schema_stacks);
    cs_table_add(stacks, (uint64_t[]){(uint64_t)cs_table_text(stacks, "a+1;b+2"), 1});
    assert_int_equal(cs_store_merge(store, &program, &head, stacks, &err), 0);
    cs_table_close(stacks);
    assert_int_equal(each_profile(store, see, &seen, &err), 0);
    assert_int_equal(seen.n, 4);
    assert_int_equal(seen.samples, 4);
    assert_int_equal(cs_store_verify(path, bad, NULL, &err), 0);
    cs_store_close(store);
}

TEST(epochs_started_in_the_same_second_are_two)
{
    struct cs_store *a = opened(CS_STORE_WRITE), *b = opened(CS_STORE_WRITE);
    struct seen seen = {0};
    assert_string_equal(cs_store_epoch_name(a), "");
    assert_int_equal(cs_store_epoch(a, NULL, &err), 0);
    assert_int_equal(cs_store_epoch(b, NULL, &err), 0);
    assert_string_not_equal(cs_store_epoch_name(a), cs_store_epoch_name(b));
    merge_points(a, &program, &clock_head, 64, 1);
    merge_points(b, &program, &clock_head, 64, 1);
    assert_int_equal(each_profile(a, see, &seen, &err), 0);
    assert_int_equal(seen.n, 2);
    cs_store_close(a);
    cs_store_close(b);
}

TEST(counters_add_up_over_epochs)
{
    struct cs_store *store = opened(CS_STORE_WRITE);
    uint64_t sum = 99;
    assert_int_equal(cs_store_epoch(store, NULL, &err), 0);
    assert_int_equal(cs_store_count(store, "lost", 3, &err), 0);
    assert_int_equal(cs_store_count(store, "lost", 4, &err), 0);
    assert_int_equal(cs_store_epoch(store, NULL, &err), 0);
    assert_int_equal(cs_store_count(store, "lost", 5, &err), 0);
    assert_int_equal(cs_store_counter(store, "lost", &sum, &err), 0);
    assert_int_equal(sum, 12);
    assert_int_equal(cs_store_counter(store, "never", &sum, &err), 0);
    assert_int_equal(sum, 0);
    cs_store_close(store);
}

static int see_name(uint64_t offset, uint64_t size, const char *name, void *arg)
{
    char *all = arg;
    sprintf(all + strlen(all), "%llx+%llx=%s ", (unsigned long long)offset, (unsigned long long)size, name);
    return 0;
}

TEST(names_come_back_in_order_without_doubles)
{
    struct cs_store *store = opened(CS_STORE_WRITE);
    const struct cs_store_image jit = {.id = "xjit", .kind = CS_IMAGE_JIT, .path = "[jit]", .build_id = ""};
    char all[256] = "";
    assert_int_equal(cs_store_epoch(store, NULL, &err), 0);
    assert_int_equal(give_name(store, &jit, 0x20, 8, "b", &err), 0);
    assert_int_equal(give_name(store, &jit, 0x10, 8, "a", &err), 0);
    assert_int_equal(cs_store_epoch(store, NULL, &err), 0);
    assert_int_equal(give_name(store, &jit, 0x20, 8, "b", &err), 0);
    assert_int_equal(cs_store_names(store, "xjit", see_name, all, &err), 0);
    assert_string_equal(all, "10+8=a 20+8=b ");
    assert_int_equal(cs_store_names(store, "xother", see_name, all, &err), 0);
    assert_string_equal(all, "10+8=a 20+8=b ");
    assert_int_equal(cs_store_verify(path, bad, NULL, &err), 0);
    cs_store_close(store);
}

TEST(a_damaged_profile_fails_the_walk_and_is_named_by_verify)
{
    struct cs_store *store = opened(CS_STORE_WRITE);
    struct seen seen = {0};
    assert_int_equal(cs_store_epoch(store, NULL, &err), 0);
    merge_points(store, &program, &clock_head, 64, 1);
    assert_int_equal(each_profile(store, see, &seen, &err), 0);
    assert_int_equal(truncate(seen.file, 30), 0);
    assert_int_equal(each_profile(store, see, &seen, &err), -EBADMSG);
    assert_non_null(strstr(err.text, seen.file));
    n_bad = 0;
    assert_int_equal(cs_store_verify(path, bad, NULL, &err), 1);
    assert_int_equal(n_bad, 1);
    cs_store_close(store);
}

TEST(a_profile_under_another_name_is_noticed_by_verify)
{
    struct cs_store *store = opened(CS_STORE_WRITE);
    struct seen seen = {0};
    char moved[600];
    assert_int_equal(cs_store_epoch(store, NULL, &err), 0);
    merge_points(store, &program, &clock_head, 64, 1);
    assert_int_equal(each_profile(store, see, &seen, &err), 0);
    snprintf(moved, sizeof moved, "%.*s/cycles.prof", (int)(strrchr(seen.file, '/') - seen.file), seen.file);
    assert_int_equal(rename(seen.file, moved), 0);
    assert_int_equal(cs_store_verify(path, bad, NULL, &err), 1);
    cs_store_close(store);
}

TEST(another_unit_is_refused_and_the_old_profile_stays)
{
    struct cs_store *store = opened(CS_STORE_WRITE);
    struct cs_store_profile_head cycles = clock_head;
    struct cs_table *table = points(64, 1);
    struct seen seen = {0};
    strcpy(cycles.unit, "cycles");
    assert_int_equal(cs_store_epoch(store, NULL, &err), 0);
    merge_points(store, &program, &clock_head, 64, 5);
    assert_int_equal(cs_store_merge(store, &program, &cycles, table, &err), -EINVAL);
    assert_int_equal(each_profile(store, see, &seen, &err), 0);
    assert_int_equal(seen.samples, 5);
    cs_table_close(table);
    cs_store_close(store);
}

TEST(an_epoch_that_was_removed_is_said_so_and_a_new_one_helps)
{
    struct cs_store *store = opened(CS_STORE_WRITE);
    struct cs_table *table = points(64, 1);
    assert_int_equal(cs_store_epoch(store, NULL, &err), 0);
    assert_int_equal(remove_tree(path), 0);
    assert_int_equal(cs_store_merge(store, &program, &clock_head, table, &err), -ENOENT);
    assert_non_null(strstr(err.text, "start a new one"));
    assert_int_equal(cs_store_epoch(store, NULL, &err), 0);
    assert_int_equal(cs_store_merge(store, &program, &clock_head, table, &err), 0);
    cs_table_close(table);
    cs_store_close(store);
}

TEST(ids_that_would_leave_the_store_are_refused)
{
    struct cs_store *store = opened(CS_STORE_WRITE);
    struct cs_table *table = points(64, 1);
    struct cs_store_image image = program;
    const char *ids[] = {"", ".", "..", "a/b", ".hidden", "a b"};
    assert_int_equal(cs_store_epoch(store, NULL, &err), 0);
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        strcpy(image.id, ids[i]);
        assert_int_equal(cs_store_merge(store, &image, &clock_head, table, &err), -EINVAL);
    }
    cs_table_close(table);
    cs_store_close(store);
}

TEST(an_image_seen_under_ever_new_paths_keeps_the_first_sixteen)
{
    struct cs_store *store = opened(CS_STORE_WRITE);
    struct cs_store_image image = program;
    char where[64], meta[512];
    struct cs_store_profile_head meta_head;
    struct cs_table *facts;
    assert_int_equal(cs_store_epoch(store, NULL, &err), 0);
    for (unsigned i = 0; i < 40; i++) {
        snprintf(where, sizeof where, "/overlay/%u/program", i);
        image.path = where;
        merge_points(store, &image, &clock_head, 64, 1);
    }
    snprintf(meta, sizeof meta, "%s/%s/%s/image.meta", path, cs_store_epoch_name(store), image.id);
    assert_int_equal(cs_store_load_file(meta, &meta_head, &facts, &err), 0);
    assert_int_equal(cs_table_rows(facts), 16 + 2);
    cs_table_close(facts);
    cs_store_close(store);
}

TEST(there_is_no_store_where_none_is)
{
    struct cs_store *store;
    assert_int_equal(cs_store_open(path, CS_STORE_READ, &store, &err), -ENOENT);
    assert_non_null(strstr(err.text, path));
    assert_null(store);
}

#define IN_A_PLACE(f) cmocka_unit_test_setup_teardown(f, make_place, remove_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_A_PLACE(merges_of_one_profile_add_up_in_one_file),
        IN_A_PLACE(events_labels_and_kinds_have_files_of_their_own),
        IN_A_PLACE(epochs_started_in_the_same_second_are_two),
        IN_A_PLACE(counters_add_up_over_epochs),
        IN_A_PLACE(names_come_back_in_order_without_doubles),
        IN_A_PLACE(a_damaged_profile_fails_the_walk_and_is_named_by_verify),
        IN_A_PLACE(a_profile_under_another_name_is_noticed_by_verify),
        IN_A_PLACE(another_unit_is_refused_and_the_old_profile_stays),
        IN_A_PLACE(an_epoch_that_was_removed_is_said_so_and_a_new_one_helps),
        IN_A_PLACE(ids_that_would_leave_the_store_are_refused),
        IN_A_PLACE(an_image_seen_under_ever_new_paths_keeps_the_first_sixteen),
        IN_A_PLACE(there_is_no_store_where_none_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
