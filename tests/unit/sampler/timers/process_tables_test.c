/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/timers/process_tables.h"
#include "store/base/clock.h"
#include "tests/unit/test.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int without_cache(void **state)
{
    (void)state;
    return setenv("CYCLESCOPE_CACHE", "", 1);
}

static void nobody_told(void *arg, const struct cs_mapped_file *file)
{
    (void)arg;
    (void)file;
}

static void read_own(struct process_tables *tables, struct process_tables_time *time)
{
    int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    process_tables_read(tables, time, getpid(), memory, true, nobody_told, NULL);
    close(memory);
}

static bool has_table(const struct process_tables *tables, const void *code)
{
    const struct process_table *t = process_tables_find(tables, (uint64_t)(uintptr_t)code);
    assert_non_null(t);
    return t->unwind != NULL;
}

static void code_of_files_has_tables(void **state)
{
    struct process_tables tables = {0};
    struct process_tables_time time = {0};
    (void)state;
    read_own(&tables, &time);
    assert_true(has_table(&tables, (void *)(uintptr_t)read_own));
    assert_true(has_table(&tables, (void *)(uintptr_t)_cmocka_run_group_tests));
    process_tables_fini(&tables);
}

static void without_time_no_table_is_made(void **state)
{
    struct process_tables tables = {0};
    struct process_tables_time time = {0, cs_monotonic_ns()};
    (void)state;
    uint64_t begin = cs_monotonic_ns();
    read_own(&tables, &time);
    assert_true(cs_monotonic_ns() - begin < 2000000000);
    assert_false(has_table(&tables, (void *)(uintptr_t)read_own));
    process_tables_fini(&tables);
}

static atomic_bool done;

/* An image that is never read to its end: its reader stands still. */
static void *stop_readers(void *arg)
{
    unsigned *stopped = arg;
    char path[64], text[64];
    while (!done) {
        snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
        if (fd >= 0)
            close(fd);
        text[n > 0 ? n : 0] = 0;
        if (atoi(text) > 0 && kill(atoi(text), SIGSTOP) == 0)
            ++*stopped;
    }
    return NULL;
}

static void a_reader_that_stands_still_is_not_waited_for(void **state)
{
    struct process_tables tables = {0};
    struct process_tables_time time = {300000000, cs_monotonic_ns()};
    pthread_t thread;
    unsigned stopped = 0;
    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, stop_readers, &stopped), 0);
    uint64_t begin = cs_monotonic_ns();
    read_own(&tables, &time);
    uint64_t took = cs_monotonic_ns() - begin;
    done = true;
    pthread_join(thread, NULL);
    assert_true(stopped > 0);
    assert_true(took < 4000000000); /* 0.3 s on a machine that isn't busy */
    assert_true(time.left_ns < 300000000);
    process_tables_fini(&tables);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(code_of_files_has_tables),
        cmocka_unit_test(without_time_no_table_is_made),
        cmocka_unit_test(a_reader_that_stands_still_is_not_waited_for),
    };
    return cmocka_run_group_tests(tests, without_cache, NULL);
}
