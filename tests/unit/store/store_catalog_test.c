/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is kept of a closed epoch against the files that it was made of. Whatever happens to either, the list is that
 * of the files. */
#include "store/catalog.h"
#include "store/file.h"
#include "tests/unit/give_name.h"
#include "tests/unit/test.h"
#include "tests/unit/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#define HEAD_BYTES 13 /* of the kept file: magic, version, checksum */

static char place[64], path[128], epoch[300], kept[400];
static struct cs_error err;

static const struct cs_store_image images[] = {
    {.id = "aa", .kind = CS_IMAGE_ELF, .path = "/usr/bin/a", .build_id = "aa"},
    {.id = "bb", .kind = CS_IMAGE_JIT, .path = "[made]", .build_id = ""}};

static void merge(struct cs_store *store, unsigned image, const char *event, const char *label,
                  uint64_t samples)
{
    struct cs_store_profile_head head = {.unit = "ns", .period_sum = 10 * samples};
    struct cs_table *table = cs_table_open(&cs_schema_points);
    snprintf(head.event, sizeof head.event, "%s", event);
    snprintf(head.label, sizeof head.label, "%s", label);
    assert_int_equal(cs_table_add(table, (uint64_t[]){16, samples}), 0);
    assert_int_equal(cs_store_merge(store, &images[image], &head, table, &err), 0);
    cs_table_close(table);
}

static int make_store(void **unused)
{
    (void)unused;
    struct cs_store *store;
    strcpy(place, "/tmp/catalog-test-XXXXXX");
    assert_non_null(mkdtemp(place));
    snprintf(path, sizeof path, "%s/store", place);
    assert_int_equal(cs_store_open(path, CS_STORE_WRITE, &store, &err), 0);
    assert_int_equal(cs_store_epoch(store, NULL, &err), 0);
    merge(store, 0, "cycles", "", 1);
    merge(store, 0, "cycles", "worker (12)", 2);
    merge(store, 1, "cpu-clock", "", 4);
    assert_int_equal(give_name(store, &images[1], 16, 16, "method", &err), 0);
    snprintf(epoch, sizeof epoch, "%s/%s", path, cs_store_epoch_name(store));
    snprintf(kept, sizeof kept, "%s/.catalog", epoch);
    cs_store_close(store);
    return access(kept, R_OK);
}

static int remove_store(void **unused)
{
    (void)unused;
    return remove_tree(place);
}

/* "image event@label kind period_sum samples; ..." of all, through a handle of its own; the result of the last call. */
static int list(char text[1024])
{
    struct cs_store *store;
    const struct cs_catalog *catalog;
    int rc = cs_store_open(path, CS_STORE_READ, &store, &err);
    assert_int_equal(rc, 0);
    rc = cs_store_catalog(store, &catalog, &err);
    *text = '\0';
    for (size_t i = 0; rc == 0 && i < catalog->n_profiles; i++) {
        const struct cs_store_profile_ref *ref = &catalog->profiles[i];
        struct cs_table *table = NULL;
        rc = cs_store_load(ref, &table, &err);
        if (rc == 0)
            snprintf(text + strlen(text), 1024 - strlen(text), "%s %s@%s %s %d %d; ", ref->image->path,
                     ref->head->event, ref->head->label, ref->kind_name, (int)ref->head->period_sum,
                     (int)cs_table_sum(table, 1));
        cs_table_close(table);
    }
    cs_store_close(store);
    return rc;
}

#define ALL                                                                                                  \
    "/usr/bin/a cycles@ points 10 1; /usr/bin/a cycles@worker (12) points 20 2; [made] cpu-clock@ points "   \
    "40 4; "

TEST(a_kept_catalogue_lists_what_the_files_say)
{
    char with[1024], without[1024];
    assert_int_equal(list(with), 0);
    assert_int_equal(unlink(kept), 0);
    assert_int_equal(list(without), 0);
    assert_string_equal(with, ALL);
    assert_string_equal(without, ALL);
}

/* The bytes come from the kept piece: files that can't be read aren't missed as long as their folder hasn't changed. */
TEST(an_unchanged_folder_is_not_read_again)
{
    char text[1024], file[600];
    snprintf(file, sizeof file, "%s/aa/cycles.prof", epoch);
    assert_int_equal(truncate(file, 0), 0); /* in its place: the folder's time stays */
    assert_int_equal(list(text), 0);
    assert_string_equal(text, ALL);
    assert_int_equal(unlink(kept), 0);
    assert_int_equal(list(text), -EBADMSG);
    assert_non_null(strstr(err.text, file));
}

TEST(files_that_go_or_come_are_seen)
{
    char text[1024], from[600], to[600];
    snprintf(from, sizeof from, "%s/aa/cycles.prof", epoch);
    snprintf(to, sizeof to, "%s/gone", place);
    assert_int_equal(rename(from, to), 0);
    assert_int_equal(list(text), 0);
    assert_string_equal(text, "/usr/bin/a cycles@worker (12) points 20 2; [made] cpu-clock@ points 40 4; ");
    assert_int_equal(rename(to, from), 0);
    assert_int_equal(list(text), 0);
    assert_string_equal(text, ALL);
    snprintf(from, sizeof from, "%s/bb", epoch);
    assert_int_equal(rename(from, to), 0);
    assert_int_equal(list(text), 0);
    assert_string_equal(text, "/usr/bin/a cycles@ points 10 1; /usr/bin/a cycles@worker (12) points 20 2; ");
}

TEST(whoever_takes_the_lock_removes_it_and_a_merge_of_stores_makes_it_anew)
{
    char text[1024], other[128];
    snprintf(other, sizeof other, "%s/other", place);
    assert_int_equal(cs_store_combine(other, path, NULL, false, NULL, NULL, &err), 1);
    assert_int_equal(cs_store_combine(path, other, NULL, true, NULL, NULL, &err), 1);
    assert_int_equal(access(kept, R_OK), 0);
    assert_int_equal(list(text), 0);
    assert_string_equal(text, "/usr/bin/a cycles@ points 20 2; /usr/bin/a cycles@worker (12) points 40 4; "
                              "[made] cpu-clock@ points 80 8; ");
}

TEST(a_stranger_s_folder_with_a_long_name_hides_nothing)
{
    char text[1024], folder[700], file[900];
    snprintf(folder, sizeof folder, "%s/%0200d", epoch, 0);
    snprintf(file, sizeof file, "%s/a.prof", folder);
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(list(text), 0);
    assert_string_equal(text, ALL);
    close(open(file, O_CREAT | O_WRONLY, 0600));
    assert_int_equal(list(text), -EBADMSG);
    assert_non_null(strstr(err.text, "can't be an image's id"));
}

TEST(a_handle_sees_its_own_writes)
{
    struct cs_store *store;
    const struct cs_catalog *catalog;
    assert_int_equal(cs_store_open(path, CS_STORE_WRITE, &store, &err), 0);
    assert_int_equal(cs_store_epoch(store, NULL, &err), 0);
    assert_int_equal(cs_store_catalog(store, &catalog, &err), 0);
    assert_int_equal(catalog->n_profiles, 3);
    merge(store, 0, "cycles", "", 1);
    assert_int_equal(cs_store_catalog(store, &catalog, &err), 0);
    assert_int_equal(catalog->n_profiles, 4);
    cs_store_close(store);
}

/* Every byte of it changed in turn, the checksum wrong or made right again: the list, or one sentence. */
TEST(a_hostile_catalogue_is_refused_or_read_within_its_bounds)
{
    struct cs_bytes bytes = {0};
    uint64_t n;
    char text[1024];
    assert_int_equal(cs_store_file_read(kept, 1 << 20, &bytes, &n, &err), 0);
    for (size_t i = 0; i < bytes.used; i++)
        for (unsigned right = 0; right < 2; right++)
            for (unsigned k = 0; k < 2; k++) {
                static const uint8_t change[] = {0x01, 0xff};
                bytes.start[i] ^= change[k];
                uint64_t sum = XXH64(bytes.start + HEAD_BYTES, bytes.used - HEAD_BYTES, 0);
                for (unsigned b = 0; right && b < 8; b++)
                    bytes.start[HEAD_BYTES - 8 + b] = (uint8_t)(sum >> 8 * b);
                int fd = open(kept, O_WRONLY | O_TRUNC);
                assert_int_equal(write(fd, bytes.start, bytes.used), (ssize_t)bytes.used);
                close(fd);
                err.text[0] = '\0';
                int rc = list(text);
                assert_true(rc == 0 || (rc < 0 && *err.text));
                if (!right && i >= HEAD_BYTES)
                    assert_string_equal(text, ALL);
                bytes.start[i] ^= change[k];
            }
    cs_bytes_fini(&bytes);
}

TEST(a_query_chooses_and_its_profiles_are_one_table)
{
    struct cs_store *store;
    const struct cs_catalog *catalog;
    struct cs_table *table;
    struct cs_store_profile_head head;
    size_t at = 0;
    const struct cs_query worker = {.kind = CS_KIND_POINTS, .label = "worker"},
                          edges = {.kind = CS_KIND_EDGES};
    assert_int_equal(cs_store_open(path, CS_STORE_READ, &store, &err), 0);
    assert_int_equal(cs_store_catalog(store, &catalog, &err), 0);
    assert_int_equal(catalog->n_images, 2);
    assert_ptr_equal(cs_catalog_image(catalog, "bb"), catalog->images[1].image);
    assert_true(catalog->images[1].has_names && catalog->images[1].is_first);
    assert_null(cs_catalog_image(catalog, "cc"));
    assert_string_equal(cs_catalog_next(catalog, &worker, &at)->head->label, "worker (12)");
    assert_null(cs_catalog_next(catalog, &worker, &at));
    const struct cs_query all = {.kind = CS_KIND_POINTS, .image_id = "aa", .event = "cycles"};
    assert_int_equal(cs_store_select(store, &all, &table, &head, &err), 0);
    assert_int_equal(cs_table_sum(table, 1), 3);
    assert_int_equal(head.period_sum, 30);
    cs_table_close(table);
    assert_int_equal(cs_store_select(store, &edges, &table, &head, &err), 0);
    assert_null(table);
    cs_store_close(store);
}

/* A known name with other columns isn't that kind: its rows would be read beyond their end. */
TEST(rows_of_other_columns_are_not_read_as_a_known_kind)
{
    const struct cs_schema narrow = {"memory", 2, 1, {{"offset", CS_KEY}, {"executions", CS_SUM}}};
    struct cs_store *store;
    const struct cs_catalog *catalog;
    struct cs_table *table = cs_table_open(&narrow);
    assert_int_equal(cs_table_add(table, (uint64_t[]){16, 1}), 0);
    assert_int_equal(cs_store_open(path, CS_STORE_WRITE, &store, &err), 0);
    assert_int_equal(cs_store_epoch(store, NULL, &err), 0);
    const struct cs_store_profile_head head = {.event = "burst-memory"};
    assert_int_equal(cs_store_merge(store, &images[0], &head, table, &err), 0);
    cs_table_close(table);
    assert_int_equal(cs_store_catalog(store, &catalog, &err), 0);
    const struct cs_query memory = {.kind = CS_KIND_MEMORY}, named = {.event = "burst-memory"};
    size_t at = 0;
    assert_null(cs_catalog_next(catalog, &memory, &at));
    at = 0;
    const struct cs_store_profile_ref *ref = cs_catalog_next(catalog, &named, &at);
    assert_int_equal(ref->kind, CS_KIND_OTHER);
    assert_string_equal(ref->kind_name, "memory");
    cs_store_close(store);
}

#define IN_STORE(f) cmocka_unit_test_setup_teardown(f, make_store, remove_store)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_STORE(a_kept_catalogue_lists_what_the_files_say),
        IN_STORE(an_unchanged_folder_is_not_read_again),
        IN_STORE(files_that_go_or_come_are_seen),
        IN_STORE(whoever_takes_the_lock_removes_it_and_a_merge_of_stores_makes_it_anew),
        IN_STORE(a_stranger_s_folder_with_a_long_name_hides_nothing),
        IN_STORE(a_handle_sees_its_own_writes),
        IN_STORE(a_hostile_catalogue_is_refused_or_read_within_its_bounds),
        IN_STORE(a_query_chooses_and_its_profiles_are_one_table),
        IN_STORE(rows_of_other_columns_are_not_read_as_a_known_kind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
