/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cache of what can be worked out again. */

#include "store/base/cache.h"
#include "tests/unit/test.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/cs-cache-test.XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

/* The only entry's path. */
static void entry_path(char path[512])
{
    DIR *d = opendir(folder);
    assert_non_null(d);
    unsigned n = 0;
    for (struct dirent *e; (e = readdir(d));)
        if (e->d_name[0] != '.') {
            snprintf(path, 512, "%s/%s", folder, e->d_name);
            n++;
        }
    closedir(d);
    assert_int_equal(n, 1);
}

static bool save(const struct cs_cache *cache, const char *key, const char *text)
{
    const size_t half = strlen(text) / 2;
    const struct iovec parts[] = {{(void *)text, half}, {(void *)(text + half), strlen(text) - half}};
    return cs_cache_save(cache, key, parts, 2);
}

static bool holds(const struct cs_cache *cache, const char *key, const char *text)
{
    struct cs_cache_entry entry;
    if (!cs_cache_load(cache, key, &entry))
        return false;
    assert_int_equal((uintptr_t)entry.bytes % 16, 0);
    assert_int_equal(entry.n, strlen(text));
    assert_memory_equal(entry.bytes, text, entry.n);
    cs_cache_entry_fini(&entry);
    return true;
}

TEST(an_entry_is_found_by_its_key_alone)
{
    struct cs_cache cache, other;
    cs_cache_init(&cache, folder, "apples", 1 << 20);
    cs_cache_init(&other, folder, "pears", 1 << 20);
    assert_false(holds(&cache, "one", ""));
    assert_true(save(&cache, "one", "first"));
    assert_true(save(&cache, "another key, longer than sixteen bytes", ""));
    assert_true(save(&cache, "one", "changed"));
    assert_true(holds(&cache, "one", "changed"));
    assert_true(holds(&cache, "another key, longer than sixteen bytes", ""));
    assert_false(holds(&cache, "two", ""));
    assert_false(holds(&other, "one", ""));
}

TEST(a_damaged_entry_is_a_miss)
{
    struct cs_cache cache;
    char path[512];
    cs_cache_init(&cache, folder, "apples", 1 << 20);
    assert_true(save(&cache, "key", "some bytes that matter"));
    entry_path(path);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    for (off_t at = 0; at < st.st_size; at++) { /* any byte */
        int fd = open(path, O_RDWR);
        uint8_t byte, wrong;
        assert_int_equal(pread(fd, &byte, 1, at), 1);
        wrong = byte ^ 0x10;
        assert_int_equal(pwrite(fd, &wrong, 1, at), 1);
        assert_false(holds(&cache, "key", ""));
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
        close(fd);
    }
    assert_true(holds(&cache, "key", "some bytes that matter"));
    for (off_t size = st.st_size; size-- > 0;) { /* any cut */
        assert_int_equal(truncate(path, size), 0);
        assert_false(holds(&cache, "key", ""));
    }
}

TEST(an_entry_of_another_key_with_the_same_name_is_a_miss)
{
    struct cs_cache cache;
    char one[512], moved[512], two[512];
    cs_cache_init(&cache, folder, "apples", 1 << 20);
    assert_true(save(&cache, "one", "of one"));
    entry_path(one);
    snprintf(moved, sizeof moved, "%.100s.away", folder);
    assert_int_equal(rename(one, moved), 0);
    assert_true(save(&cache, "two", "of two"));
    entry_path(two);
    assert_int_equal(rename(moved, two), 0); /* as if the hashes were equal */
    assert_false(holds(&cache, "two", ""));
}

TEST(the_folder_keeps_its_bound_and_what_is_younger)
{
    struct cs_cache cache;
    char text[1001], key[16];
    memset(text, 'x', 1000);
    text[1000] = '\0';
    cs_cache_init(&cache, folder, "apples", 50000);
    for (unsigned i = 0; i < 1000; i++) {
        snprintf(key, sizeof key, "%u", i);
        assert_true(save(&cache, key, text));
    }
    unsigned left = 0;
    for (unsigned i = 0; i < 1000; i++) {
        snprintf(key, sizeof key, "%u", i);
        left += holds(&cache, key, text);
    }
    assert_in_range(left, 20, 400); /* looked at one save in 32 on average, by the entry's checksum */
    char large[60001];
    memset(large, 'y', 60000);
    large[60000] = '\0';
    assert_false(save(&cache, "large", large)); /* more than the bound by itself */
}

TEST(without_a_folder_everything_misses)
{
    struct cs_cache cache;
    setenv("CYCLESCOPE_CACHE", "", 1);
    cs_cache_init(&cache, NULL, "apples", 1000);
    assert_false(save(&cache, "one", "text"));
    assert_false(holds(&cache, "one", "text"));
    char below[128];
    snprintf(below, sizeof below, "%.60s/a/b", folder);
    setenv("CYCLESCOPE_CACHE", below, 1); /* made by the first save */
    cs_cache_init(&cache, NULL, "apples", 1000);
    assert_false(holds(&cache, "one", "text"));
    assert_true(save(&cache, "one", "text"));
    assert_true(holds(&cache, "one", "text"));
}

int main(void)
{
#define IN_A_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        IN_A_FOLDER(an_entry_is_found_by_its_key_alone),
        IN_A_FOLDER(a_damaged_entry_is_a_miss),
        IN_A_FOLDER(an_entry_of_another_key_with_the_same_name_is_a_miss),
        IN_A_FOLDER(the_folder_keeps_its_bound_and_what_is_younger),
        IN_A_FOLDER(without_a_folder_everything_misses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
