/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory and files by the helper of foreign.h: the same as without it; and who doesn't answer is given up in time. */
#include "store/base/foreign.h"
#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int memory_file(pid_t pid)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

TEST(memory_comes_whole_with_the_helper_and_without)
{
    static unsigned char from[100000], to[sizeof from];
    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (unsigned char)(i * 7);
    pid_t child = fork();
    if (child == 0)
        for (;;)
            pause();
    for (int limit = 0; limit < 2; limit++) {
        cs_foreign_limit(limit ? 2000 : 0);
        memset(to, 0, sizeof to);
        assert_true(cs_foreign_memory(child, (uint64_t)(uintptr_t)from, to, sizeof to));
        assert_memory_equal(from, to, sizeof to);
        assert_false(cs_foreign_memory(child, 8, to, 8));
        int file = memory_file(child);
        memset(to, 0, sizeof to);
        assert_int_equal(cs_foreign_read(file, (uint64_t)(uintptr_t)from, to, sizeof to), sizeof to);
        assert_memory_equal(from, to, sizeof to);
        assert_int_equal(cs_foreign_read(file, 8, to, 8), -1);
        close(file);
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_false(cs_foreign_memory(child, (uint64_t)(uintptr_t)from, to, 8));
    cs_foreign_limit(0);
}

TEST(files_and_streams_are_the_same_with_the_helper_and_without)
{
    char path[] = "/tmp/cs-foreign-XXXXXX", line[2][300];
    struct stat st[2], now;
    int made = mkstemp(path);
    assert_int_equal(write(made, "hello", 5), 5);
    for (int limit = 0; limit < 2; limit++) {
        char text[6] = "";
        cs_foreign_limit(limit ? 2000 : 0);
        int fd = cs_foreign_regular(NULL, path, 100, NULL, &st[limit]);
        assert_true(fd >= 0);
        assert_int_equal(read(fd, text, sizeof text), 5);
        assert_string_equal(text, "hello");
        assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
        close(fd);
        assert_int_equal(cs_foreign_regular(NULL, path, 3, NULL, NULL), -EFBIG);
        assert_int_equal(cs_foreign_regular("/tmp", path, 3, NULL, NULL), -ENOENT);
        assert_int_equal(cs_foreign_regular(NULL, "/tmp", 3, NULL, NULL), -EINVAL);
        if (geteuid()) /* root's is everybody's */
            assert_int_equal(cs_foreign_regular(NULL, path, 100, &(uid_t){geteuid() + 1}, NULL), -EPERM);
        assert_int_equal(cs_foreign_stat(NULL, path, &now), 0);
        assert_int_equal(now.st_ino, st[limit].st_ino);
        FILE *f = cs_foreign_proc("/proc/self/maps");
        assert_non_null(f);
        assert_non_null(fgets(line[limit], sizeof line[limit], f));
        fclose(f);
    }
    assert_string_equal(line[0], line[1]); /* the helper's memory is ours */
    assert_int_equal(st[0].st_ino, st[1].st_ino);
    cs_foreign_limit(0);
    unlink(path);
    close(made);
}

/* Its own pages, registered and never given. */
static char *silent_pages(void)
{
    int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
    struct uffdio_api api = {.api = UFFD_API};
    char *at = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct uffdio_register wanted = {.range = {(uint64_t)(uintptr_t)at, 65536},
                                     .mode = UFFDIO_REGISTER_MODE_MISSING};
    return fd >= 0 && ioctl(fd, UFFDIO_API, &api) == 0 && ioctl(fd, UFFDIO_REGISTER, &wanted) == 0 ? at
                                                                                                   : NULL;
}

/* The helper was begun before these files were opened, so that none of its descriptors is theirs. */
TEST(proc_self_is_the_caller_and_not_the_helper)
{
    char link[40];
    struct stat st, own;
    cs_foreign_limit(2000);
    close(cs_foreign_regular(NULL, "/etc/passwd", INT64_MAX, NULL, &st));
    for (int i = 0; i < 20; i++) {
        char path[] = "/tmp/cs-foreign-XXXXXX";
        int made = mkstemp(path);
        assert_int_equal(fstat(made, &own), 0);
        snprintf(link, sizeof link, "/proc/self/fd/%d", made);
        int again = cs_foreign_regular(NULL, link, INT64_MAX, NULL, &st);
        assert_true(again >= 0);
        assert_true(st.st_ino == own.st_ino && st.st_dev == own.st_dev);
        assert_int_equal(cs_foreign_stat(NULL, link, &st), 0);
        assert_true(st.st_ino == own.st_ino);
        close(again);
        close(made);
        unlink(path);
    }
    cs_foreign_limit(0);
}

TEST(who_does_not_answer_is_given_up_and_not_asked_again_and_others_are)
{
#ifdef __SANITIZE_THREAD__
    skip(); /* there is no helper then */
#endif
    int pipes[2];
    char *at = NULL, word[8];
    assert_int_equal(pipe(pipes), 0);
    pid_t child = fork();
    if (child == 0) {
        at = silent_pages();
        _exit(write(pipes[1], &at, sizeof at) == sizeof at ? (pause(), 0) : 1);
    }
    assert_int_equal(read(pipes[0], &at, sizeof at), sizeof at);
    if (at) {
        cs_foreign_limit(100);
        uint64_t before = cs_foreign_unanswered();
        double began = seconds();
        assert_false(cs_foreign_memory(child, (uint64_t)(uintptr_t)at, word, sizeof word));
        assert_true(seconds() - began < 2); /* 0.1, and a busy machine */
        began = seconds();
        for (int i = 0; i < 1000; i++)
            assert_false(cs_foreign_memory(child, (uint64_t)(uintptr_t)at, word, sizeof word));
        assert_true(seconds() - began < 1);
        assert_int_equal(cs_foreign_unanswered() - before, 1001);
        assert_true(cs_foreign_memory(getpid(), (uint64_t)(uintptr_t)&at, word, sizeof word));
        assert_memory_equal(word, &at, sizeof word);
        int file = memory_file(child);
        began = seconds();
        for (int i = 0; i < 1000; i++)
            assert_int_equal(cs_foreign_read(file, (uint64_t)(uintptr_t)at, word, sizeof word), -1);
        assert_true(seconds() - began < 3);
        close(file);
        cs_foreign_limit(0);
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    if (!at)
        skip(); /* no right to a userfaultfd here */
}

TEST(a_child_that_ends_is_reaped_with_its_status)
{
    int status = 0;
    struct rusage used;
    pid_t child = fork();
    if (child == 0)
        for (;;)
            pause();
    assert_int_equal(cs_end_child(child, 2000, &status, &used), 0);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_int_equal(cs_end_child(child, 0, &status, NULL), -ECHILD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_comes_whole_with_the_helper_and_without),
        cmocka_unit_test(files_and_streams_are_the_same_with_the_helper_and_without),
        cmocka_unit_test(proc_self_is_the_caller_and_not_the_helper),
        cmocka_unit_test(who_does_not_answer_is_given_up_and_not_asked_again_and_others_are),
        cmocka_unit_test(a_child_that_ends_is_reaped_with_its_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
