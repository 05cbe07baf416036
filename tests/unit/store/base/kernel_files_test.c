/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/base/kernel_files.h"
#include "tests/unit/test.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

TEST(a_field_of_status_is_what_stands_behind_its_key)
{
    char text[64];
    assert_true(cs_kernel_line(text, sizeof text, "Pid:", "/proc/%d/status", (int)getpid()));
    assert_int_equal(atoi(text), getpid());
    assert_null(strchr(text, '\n'));
    assert_false(cs_kernel_line(text, sizeof text, "NoSuchKey:", "/proc/self/status"));
    assert_string_equal(text, "");
    assert_false(cs_kernel_line(text, sizeof text, "", "/proc/self/nothing"));
    assert_true(cs_kernel_line(text, 3, "Name:", "/proc/self/status")); /* cut */
    assert_int_equal(strlen(text), 2);
}

TEST(a_stat_file_is_read_behind_a_hostile_name)
{
    char text[1024];
    assert_int_equal(prctl(PR_SET_NAME, "a) R 1 (b"), 0);
    assert_true(cs_kernel_text(text, sizeof text, "/proc/self/task/%ld/stat", syscall(SYS_gettid)) > 0);
    assert_int_equal(*cs_stat_field(text, 3), 'R'); /* we run */
    assert_int_equal(atoi(cs_stat_field(text, 4)), getppid());
    assert_null(cs_stat_field("1 (x) R 5", 5));
    assert_null(cs_stat_field("", 3));
    assert_int_equal(cs_kernel_text(text, 5, "/proc/self/stat"), 4);
    assert_int_equal(strlen(text), 4);
}

TEST(a_number_that_is_not_there_is_the_other)
{
    assert_true(cs_kernel_number(-1, "/proc/sys/kernel/pid_max") > 0);
    assert_int_equal(cs_kernel_number(-7, "/proc/sys/kernel/%s", "nothing"), -7);
    assert_int_equal(cs_kernel_number(-7, "/proc/sys/kernel/ostype"), -7); /* a word */
}

static pthread_barrier_t there;

static void *wait_there(void *tid)
{
    *(pid_t *)tid = (pid_t)syscall(SYS_gettid);
    pthread_barrier_wait(&there);
    pthread_barrier_wait(&there);
    return NULL;
}

TEST(all_threads_are_listed)
{
    pid_t own = 0, *tids;
    pthread_t thread;
    pthread_barrier_init(&there, NULL, 2);
    assert_int_equal(pthread_create(&thread, NULL, wait_there, &own), 0);
    pthread_barrier_wait(&there);
    const int n = cs_tasks_of(getpid(), &tids);
    bool found = false, first = false;
    for (int i = 0; i < n; i++) {
        found |= tids[i] == own;
        first |= tids[i] == getpid();
    }
    free(tids);
    pthread_barrier_wait(&there);
    pthread_join(thread, NULL);
    assert_true(n >= 2 && found && first);
    assert_true(cs_tasks_of(1 << 30, &tids) < 0);
    assert_null(tids);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_field_of_status_is_what_stands_behind_its_key),
        cmocka_unit_test(a_stat_file_is_read_behind_a_hostile_name),
        cmocka_unit_test(a_number_that_is_not_there_is_the_other),
        cmocka_unit_test(all_threads_are_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
