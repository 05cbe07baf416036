/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/unwind/build.h"
#include "image/unwind/child.h"
#include "tests/unit/test.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TRIES 100

static int without_cache(void **state)
{
    (void)state;
    return setenv("CYCLESCOPE_CACHE", "", 1);
}

static void rest(void)
{
    nanosleep(&(struct timespec){0, 200000}, NULL); /* sleeps: between two looks */
}

static int finish(struct cs_apart *child, struct cs_unwind **unwind)
{
    int rc;
    while ((rc = cs_unwind_child_done(child, true, unwind)) == 0)
        rest();
    return rc;
}

static void the_child_makes_the_table_that_is_made_here(void **state)
{
    struct cs_apart child = {0};
    struct cs_unwind *here, *there;
    struct cs_error err;
    size_t n, m;
    (void)state;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    assert_int_equal(cs_unwind_open("/proc/self/exe", &here, &err), 0);
    assert_int_equal(cs_unwind_child_start(&child, fd), 0);
    close(fd);
    assert_int_equal(finish(&child, &there), 1);
    const struct cs_unwind_header *a = cs_unwind_table(here, &n), *b = cs_unwind_table(there, &m);
    assert_int_equal(n, m);
    assert_memory_equal(a, b, n);
    cs_unwind_close(here);
    cs_unwind_close(there);
}

static bool read_status(pid_t pid, char text[4096])
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, 4095);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = 0;
    return n > 0;
}

static unsigned descriptors(pid_t pid)
{
    char path[64];
    unsigned n = 0;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder)) != NULL;)
        n += entry->d_name[0] != '.';
    if (folder)
        closedir(folder);
    return n;
}

/* Stopped while it is at work. */
static bool look_at(pid_t pid, char text[4096], unsigned *open_ones)
{
    int status;
    while (read_status(pid, text) && strstr(text, "\nSeccomp:\t0"))
        ;
    kill(pid, SIGSTOP);
    siginfo_t what = {0};
    if (waitid(P_PID, (id_t)pid, &what, WSTOPPED | WEXITED | WNOWAIT) != 0 || what.si_code != CLD_STOPPED)
        return false;
    (void)waitpid(pid, &status, WUNTRACED | WNOHANG);
    bool seen = read_status(pid, text) && strstr(text, "\nSeccomp:\t2");
    *open_ones = descriptors(pid);
    kill(pid, SIGCONT);
    return seen;
}

static void the_child_has_no_rights_while_it_reads(void **state)
{
    static const char *const lines[] = {"CapInh:\t0000000000000000\n", "CapPrm:\t0000000000000000\n",
                                        "CapEff:\t0000000000000000\n", "CapAmb:\t0000000000000000\n",
                                        "NoNewPrivs:\t1\n"},
                             *const of_root[] = {"Groups:\t \n", "CapBnd:\t0000000000000000\n"};
    char text[4096] = "";
    unsigned open_ones = 0;
    bool seen = false;
    (void)state;
    Dl_info libc; /* a file that takes some time */
    assert_int_not_equal(dladdr((void *)(uintptr_t)gnu_get_libc_version, &libc), 0);
    int fd = open(libc.dli_fname, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    for (int i = 0; i < TRIES && !seen; i++) {
        struct cs_apart child = {0};
        struct cs_unwind *unwind;
        assert_int_equal(cs_unwind_child_start(&child, fd), 0);
        seen = look_at(child.pid, text, &open_ones);
        if (finish(&child, &unwind) == 1)
            cs_unwind_close(unwind);
    }
    close(fd);
    assert_true(seen);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (!strstr(text, lines[i]))
            fail_msg("no %s in %s", lines[i], text);
    for (size_t i = 0; geteuid() == 0 && i < sizeof of_root / sizeof *of_root; i++)
        if (!strstr(text, of_root[i]))
            fail_msg("no %s in %s", of_root[i], text);
    if (geteuid() == 0) {
        const char *line = strstr(text, "\nUid:\t");
        unsigned user = line ? (unsigned)strtoul(line + 6, NULL, 10) : 0;
        char all[120];
        assert_int_equal(open_ones, 2);
        assert_true(user >= 2147418112U && user <= 2147483647U); /* whom nobody else can stop */
        snprintf(all, sizeof all, "Uid:\t%u\t%u\t%u\t%u\nGid:\t%u\t%u\t%u\t%u\n", user, user, user, user,
                 user, user, user, user);
        assert_non_null(strstr(text, all));
    }
}

static void what_is_no_image_has_no_table(void **state)
{
    struct cs_apart child = {0};
    struct cs_unwind *unwind;
    char bytes[8192] = "\177ELF\2\1\1";
    (void)state;
    memset(bytes + 7, 0x7f, sizeof bytes - 7);
    int fd = memfd_create("bad", MFD_CLOEXEC);
    assert_int_equal(write(fd, bytes, sizeof bytes), sizeof bytes);
    assert_int_equal(cs_unwind_child_start(&child, fd), 0);
    close(fd);
    assert_int_equal(finish(&child, &unwind), -ENOEXEC);
    assert_int_equal(child.pid, 0);
}

/* What a child that was taken over might write. */
static void a_table_that_leads_outside_is_refused(void **state)
{
    struct cs_unwind *good, *bad;
    struct cs_error err;
    size_t n;
    (void)state;
    assert_int_equal(cs_unwind_open("/proc/self/exe", &good, &err), 0);
    const struct cs_unwind_header *table = cs_unwind_table(good, &n);
    for (int how = 0; how < 4; how++) {
        struct cs_unwind_header *copy =
            mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memcpy(copy, table, n);
        if (how == 1)
            ((struct cs_unwind_row *)(uintptr_t)cs_unwind_rows(copy))[copy->n_rows / 2].rule =
                (__typeof__(cs_unwind_rows(copy)->rule))copy->n_rules;
        if (how == 2)
            ((__u32 *)(uintptr_t)cs_unwind_first(copy))[1] = copy->n_rows + 1;
        if (how == 3)
            copy->n_rows++;
        assert_int_equal(unwind_of_map(copy, n, NULL, &bad), how ? -ENOEXEC : 0);
        if (!how)
            cs_unwind_close(bad);
    }
    cs_unwind_close(good);
}

static void one_at_work_is_ended(void)
{
    struct cs_apart child = {0};
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    assert_int_equal(cs_unwind_child_start(&child, fd), 0);
    close(fd);
    cs_apart_end(&child);
    assert_int_equal(child.pid, 0);
}

TEST(one_that_is_at_work_can_be_ended)
{
    one_at_work_is_ended();
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* none is left */
}

static int grown = 0;

struct told {
    int grown, before;
};

static int tell(const struct elf_file *file, int memory)
{
    static int before = 0;
    const struct told told = {grown, before++};
    (void)file;
    return cs_apart_write(memory, &told, sizeof told) ? 0 : CS_APART_WELL_MAX + 1;
}

static struct told ask_a_child(void)
{
    const struct cs_apart_bounds most = {4096, 1000};
    struct cs_apart child = {0};
    struct told told = {-1, -1};
    int code = -1, rc, fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    assert_int_equal(cs_apart_start(&child, fd, &most, tell), 0);
    close(fd);
    assert_true(cs_apart_wait(&child, 10000000000ULL));
    while ((rc = cs_apart_done(&child, &code)) == 0)
        rest();
    assert_int_equal(rc, 1);
    assert_int_equal(pread(child.memory, &told, sizeof told, 0), sizeof told);
    cs_apart_end(&child);
    return told;
}

/* Our only child. */
static pid_t the_forker(void)
{
    char path[64], text[64] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *f = fopen(path, "re");
    if (f) {
        (void)!fgets(text, sizeof text, f);
        fclose(f);
    }
    return (pid_t)strtol(text, NULL, 10);
}

TEST(children_come_from_the_process_that_was_small)
{
    assert_int_equal(ask_a_child().grown, 0);
    cs_apart_prepare();
    grown = 1;
    struct told told = ask_a_child();
    assert_int_equal(told.grown, 0);
    assert_int_equal(told.before, 0);
    assert_int_equal(ask_a_child().before, 0); /* what one has read, the next one doesn't know */
    pid_t pid = the_forker();
    assert_true(pid > 0);
    assert_int_equal(descriptors(pid), 1);
    the_child_has_no_rights_while_it_reads(NULL);
    one_at_work_is_ended();
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitid(P_PID, (id_t)pid, &(siginfo_t){0}, WEXITED | WNOWAIT), 0); /* it has ended */
    assert_int_equal(ask_a_child().grown, 1); /* without it the large one forks */
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_child_makes_the_table_that_is_made_here),
        cmocka_unit_test(the_child_has_no_rights_while_it_reads),
        cmocka_unit_test(what_is_no_image_has_no_table),
        cmocka_unit_test(a_table_that_leads_outside_is_refused),
        cmocka_unit_test(one_that_is_at_work_can_be_ended),
        cmocka_unit_test(children_come_from_the_process_that_was_small),
    };
    return cmocka_run_group_tests(tests, without_cache, NULL);
}
