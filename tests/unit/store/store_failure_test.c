/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every call into the system fails once: the n-th one, for n = 1, 2, 3, ... until an operation passes without
 * having met a failure. After each failure the store is whole and holds the state before or after the
 * operation. The same with the process dying at the n-th call, as a SIGKILL leaves it. Nothing is renamed
 * into place before it was synced, as a power cut would show. Calls are wrapped by the linker. */
#include "store/store.h"
#include "tests/unit/give_name.h"
#include "tests/unit/store/each_profile.h"
#include "tests/unit/test.h"
#include "tests/unit/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the wrapped calls ---- */
static unsigned fail_at, n_calls; /* fail_at 0: never */
static int fail_errno;
static bool dies, fired;
static bool unsynced[1024]; /* by descriptor: written since the last fsync */
static char synced_path[512];
static unsigned n_early_renames, n_renames, n_directory_syncs;

static bool fails(void)
{
    if (!fail_at || ++n_calls != fail_at)
        return false;
    if (dies)
        _exit(42);
    fired = true;
    errno = fail_errno;
    return true;
}

/* Names are the linker's. */
/* NOLINTBEGIN(bugprone-reserved-identifier) */
#define WRAP(type, name, parameters, arguments, failure)                                                     \
    type __real_##name parameters;                                                                           \
    type __wrap_##name parameters;                                                                           \
    type __wrap_##name parameters                                                                            \
    {                                                                                                        \
        return fails() ? (failure) : __real_##name arguments;                                                \
    }

WRAP(ssize_t, read, (int fd, void *to, size_t n), (fd, to, n), -1)
WRAP(int, mkdir, (const char *path, mode_t mode), (path, mode), -1)
WRAP(void *, malloc, (size_t n), (n), NULL)
WRAP(void *, calloc, (size_t n, size_t size), (n, size), NULL)
WRAP(void *, realloc, (void *old, size_t n), (old, n), NULL)
WRAP(char *, strdup, (const char *text), (text), NULL)
WRAP(DIR *, opendir, (const char *path), (path), NULL)
WRAP(struct dirent *, readdir, (DIR * directory), (directory), NULL)
WRAP(int, flock, (int fd, int how), (fd, how), -1)
WRAP(int, fstat, (int fd, struct stat *st), (fd, st), -1)
WRAP(int, stat, (const char *path, struct stat *st), (path, st), -1)

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
    if (fails())
        return -1;
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
    va_end(args);
    int fd = __real_open(path, flags, mode);
    if (fd >= 0 && fd < 1024)
        unsynced[fd] = false;
    return fd;
}

/* A short write now and then: the half that fits is written. */
ssize_t __real_write(int fd, const void *from, size_t n);
ssize_t __wrap_write(int fd, const void *from, size_t n);
ssize_t __wrap_write(int fd, const void *from, size_t n)
{
    if (fails())
        return -1;
    if (fd < 1024)
        unsynced[fd] = true;
    return __real_write(fd, from, n > 40 ? n / 2 : n);
}

int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
    char link[64];
    if (fails())
        return -1;
    unsynced[fd] = false;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, synced_path, sizeof synced_path - 1);
    synced_path[n > 0 ? n : 0] = '\0';
    n_directory_syncs += !strstr(synced_path, ".tmp");
    return __real_fsync(fd);
}

int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd)
{
    int rc = __real_close(fd); /* a close that fails has closed all the same */
    return fails() ? -1 : rc;
}

int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to)
{
    if (fails())
        return -1;
    n_renames++;
    n_early_renames += strcmp(from, synced_path) != 0;
    return __real_rename(from, to);
}
/* NOLINTEND(bugprone-reserved-identifier) */

/* ---- a store and operations on it ---- */
static char place[64], path[128], other[128];
static struct cs_error err;

static const struct cs_store_image image = {
    .id = "ab12", .kind = CS_IMAGE_ELF, .path = "/bin/x", .build_id = "ab12"};
static const struct cs_store_profile_head head = {.event = "cpu-clock", .unit = "ns", .period_sum = 10};

static struct cs_table *table_of(uint64_t samples)
{
    struct cs_table *table = cs_table_open(&cs_schema_stacks);
    for (uint64_t i = 0; table && i < 40; i++) {
        char frames[32];
        snprintf(frames, sizeof frames, "ab12+%llx", (unsigned long long)(i * 7919 % 1000));
        int64_t text = cs_table_text(table, frames);
        if (text < 0 || cs_table_add(table, (uint64_t[]){(uint64_t)text, samples}) < 0) {
            cs_table_close(table);
            return NULL;
        }
    }
    return table;
}

static int merge_into(const char *where, uint64_t samples)
{
    struct cs_store *store = NULL;
    struct cs_table *table = table_of(samples);
    int rc = table ? cs_store_open(where, CS_STORE_WRITE, &store, &err) : cs_fail(&err, ENOMEM, "no table");
    if (rc == 0)
        rc = cs_store_epoch(store, "{}", &err);
    if (rc == 0)
        rc = cs_store_merge(store, &image, &head, table, &err);
    cs_store_close(store);
    cs_table_close(table);
    return rc;
}

static void prepare(void)
{
    fail_at = 0;
    strcpy(place, "/dev/shm/store-failure-XXXXXX");
    assert_non_null(mkdtemp(place));
    snprintf(path, sizeof path, "%s/store", place);
    snprintf(other, sizeof other, "%s/other", place);
    assert_int_equal(merge_into(path, 1), 0);
    assert_int_equal(merge_into(other, 1), 0);
}

static void discard(void)
{
    fail_at = 0;
    remove_tree(place);
}

static int add_up(const struct cs_store_profile_ref *ref, void *arg)
{
    struct cs_table *table;
    int rc = cs_store_load(ref, &table, &err);
    if (rc == 0)
        *(uint64_t *)arg += cs_table_sum(table, 1);
    if (rc == 0)
        cs_table_close(table);
    return rc;
}

static int walk(void)
{
    struct cs_store *store = NULL;
    uint64_t sum = 0, lost;
    int rc = cs_store_open(path, CS_STORE_READ, &store, &err);
    if (rc == 0)
        rc = each_profile(store, add_up, &sum, &err);
    if (rc == 0)
        rc = cs_store_counter(store, "lost", &lost, &err);
    cs_store_close(store);
    if (rc == 0 && sum != 80) /* success means that nothing was missed */
        fail_msg("a walk that succeeded saw %llu samples", (unsigned long long)sum);
    return rc;
}

static int merge_again(void)
{
    return merge_into(path, 1);
}

static struct cs_store *held;
/* Merges into an epoch that exists: the interesting case, old rows must survive. */
static int merge_on(void)
{
    struct cs_table *table = table_of(1);
    int rc = table ? cs_store_merge(held, &image, &head, table, &err) : cs_fail(&err, ENOMEM, "no table");
    cs_table_close(table);
    return rc;
}

static int merge_in_batch(void)
{
    cs_store_batch_begin(held);
    int rc = merge_on();
    cs_store_batch_end(held);
    return rc;
}

static int count_and_name(void)
{
    int rc = cs_store_count(held, "lost", 1, &err);
    return rc < 0 ? rc : give_name(held, &image, 16, 8, "name", &err);
}

static void no_bad(const char *sentence, void *arg)
{
    (void)arg;
    if (!fired)
        print_message("verify: %s\n", sentence);
}

static int verify(void)
{
    int bad = cs_store_verify(path, no_bad, NULL, &err);
    return bad > 0 ? cs_fail(&err, EIO, "%d files reported bad", bad) : bad;
}

static int combine(void)
{
    int rc = cs_store_combine(path, other, "combined", false, NULL, NULL, &err);
    return rc < 0 ? rc : 0;
}

static uint64_t sum_of_store(void)
{
    struct cs_store *store;
    uint64_t sum = 0;
    assert_int_equal(cs_store_open(path, CS_STORE_READ, &store, &err), 0);
    if (each_profile(store, add_up, &sum, &err) < 0)
        fail_msg("%s", err.text);
    cs_store_close(store);
    return sum;
}

struct operation {
    const char *name;
    int (*run)(void);
    uint64_t adds; /* samples, when it succeeds */
};

static const struct operation operations[] = {
    {"a walk", walk, 0},
    {"verification", verify, 0},
    {"a merge into a new epoch", merge_again, 40},
    {"a merge into an old profile", merge_on, 40},
    {"a merge in a batch", merge_in_batch, 40},
    {"counting and naming", count_and_name, 0},
    {"combining", combine, 40},
};

static void hold(void)
{
    assert_int_equal(cs_store_open(path, CS_STORE_WRITE, &held, &err), 0);
    assert_int_equal(cs_store_epoch(held, NULL, &err), 0);
    assert_int_equal(merge_on(), 0);
}

static void each_failure(const struct operation *operation, int code)
{
    unsigned n = 0;
    do {
        prepare();
        hold();
        uint64_t before = sum_of_store();
        fired = false;
        n_calls = 0;
        fail_errno = code;
        fail_at = ++n;
        err = (struct cs_error){0};
        int rc = operation->run();
        fail_at = 0;
        if (rc < 0 && (!err.text[0] || strchr(err.text, '\n')))
            fail_msg("%s failed at call %u without a sentence", operation->name, n);
        if (!fired)
            assert_int_equal(rc, 0);
        if (cs_store_verify(path, no_bad, NULL, &err) != 0)
            fail_msg("%s, failed at call %u, left damage", operation->name, n);
        uint64_t after = sum_of_store();
        if (after != before + (rc == 0 ? operation->adds : 0))
            fail_msg("%s, call %u failing, returned %d and changed the sum from %llu to %llu",
                     operation->name, n, rc, (unsigned long long)before, (unsigned long long)after);
        cs_store_close(held);
        discard();
    } while (fired);
    print_message("%s: %u calls failed one after the other\n", operation->name, n - 1);
    assert_true(n > 5);
}

TEST(any_call_may_fail_and_the_store_is_as_before_or_as_after)
{
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        each_failure(&operations[i], operations[i].adds ? ENOSPC : EIO);
    }
}

TEST(the_process_may_die_at_any_call)
{
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        for (unsigned n = 1;; n++) {
            int status;
            prepare();
            hold();
            uint64_t before = sum_of_store();
            pid_t child = fork();
            if (child == 0) {
                dies = true;
                n_calls = 0;
                fail_at = n;
                _exit(operations[i].run() < 0);
            }
            waitpid(child, &status, 0);
            if (cs_store_verify(path, no_bad, NULL, &err) != 0)
                fail_msg("%s, dead at call %u, left damage", operations[i].name, n);
            uint64_t after = sum_of_store();
            assert_true(after == before || after == before + operations[i].adds);
            /* Whoever comes next is not hindered by what was left. */
            assert_int_equal(merge_on(), 0);
            cs_store_close(held);
            discard();
            if (WEXITSTATUS(status) != 42)
                break;
        }
    }
}

TEST(nothing_is_renamed_into_place_before_it_was_synced)
{
    prepare();
    hold();
    n_early_renames = n_renames = 0;
    assert_int_equal(merge_again(), 0);
    assert_int_equal(merge_on(), 0);
    assert_int_equal(count_and_name(), 0);
    assert_true(n_renames >= 6);
    assert_int_equal(n_early_renames, 0);
    cs_store_close(held);
    discard();
}

TEST(a_batch_syncs_each_directory_once_at_its_end)
{
    const struct cs_counter counters[] = {{"lost", 1}, {"samples", 2}};
    prepare();
    hold();
    n_early_renames = n_renames = n_directory_syncs = 0;
    cs_store_batch_begin(held);
    for (unsigned i = 0; i < 3; i++) {
        struct cs_store_image another = image;
        snprintf(another.id, sizeof another.id, "cd%u", i);
        struct cs_table *table = table_of(1);
        assert_int_equal(cs_store_merge(held, &another, &head, table, &err), 0);
        assert_int_equal(give_name(held, &another, 16, 8, "name", &err), 0);
        cs_table_close(table);
    }
    assert_int_equal(cs_store_count_all(held, counters, 2, &err), 0);
    assert_int_equal(n_directory_syncs, 0);
    cs_store_batch_end(held);
    assert_int_equal(n_directory_syncs, 4); /* three images and the epoch */
    assert_int_equal(n_renames, 10);
    assert_int_equal(n_early_renames, 0);
    assert_int_equal(merge_on(), 0); /* and from here on at once again */
    assert_true(n_directory_syncs > 4);
    uint64_t lost = 0, samples = 0;
    assert_int_equal(cs_store_counter(held, "lost", &lost, &err), 0);
    assert_int_equal(cs_store_counter(held, "samples", &samples, &err), 0);
    assert_true(lost == 1 && samples == 2);
    cs_store_close(held);
    discard();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_call_may_fail_and_the_store_is_as_before_or_as_after),
        cmocka_unit_test(the_process_may_die_at_any_call),
        cmocka_unit_test(nothing_is_renamed_into_place_before_it_was_synced),
        cmocka_unit_test(a_batch_syncs_each_directory_once_at_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
