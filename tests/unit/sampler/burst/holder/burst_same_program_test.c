/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Alone: it asks who has a CPU. */
/* A runner is of one program with its rights: a process that changed any of them, or became another program, isn't followed by it,
 * even where a partner keeps the memory that the runner knows. Skipped where the machine or our rights don't allow that. */
#include "sampler/burst/holder/same_program.h"
#include "tests/unit/sampler/burst/burst_target.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/syscall.h>

static struct orders { /* shared with the children */
    volatile int change, changed;
} * orders;

/* Works until it is told to, changes, and works on. */
#define CHANGING(name, change_it)                                                                            \
    KEPT static void name(void)                                                                              \
    {                                                                                                        \
        while (!orders->change)                                                                              \
            ;                                                                                                \
        if (!(change_it))                                                                                    \
            _exit(9);                                                                                        \
        orders->changed = 1;                                                                                 \
        loops_of_ten();                                                                                      \
    }

static bool drop_capability(void)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2];
    if (syscall(SYS_capget, &header, data))
        return false;
    data[0].effective &= ~(1U << CAP_SYS_TIME);
    return syscall(SYS_capset, &header, data) == 0;
}
static const gid_t two_groups[] = {65531, 65532};
CHANGING(changes_effective_user, setresuid((uid_t)-1, 65533, (uid_t)-1) == 0)
CHANGING(changes_saved_user, setresuid((uid_t)-1, (uid_t)-1, 65533) == 0)
CHANGING(changes_group, setresgid((gid_t)-1, 65533, (gid_t)-1) == 0)
CHANGING(changes_groups, setgroups(2, two_groups) == 0)
CHANGING(changes_capabilities, drop_capability())
CHANGING(changes_bounding_set, prctl(PR_CAPBSET_DROP, CAP_SYS_TIME, 0, 0, 0) == 0)
CHANGING(changes_no_new_privs, prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)

/* A process of its own that keeps the memory when the program has left it. */
static int keep(void *argument)
{
    prctl(PR_SET_PDEATHSIG, 0);
    usleep(3000000); /* sleeps: it only keeps the memory */
    _exit(argument != NULL);
}
static void have_partner(void)
{
    static uint8_t stack[16384] __attribute__((aligned(16)));
    if (clone(keep, stack + sizeof stack, CLONE_VM | CLONE_PARENT, NULL) < 0)
        _exit(9);
}
static void *become(void *argument)
{
    char *self[] = {"/proc/self/exe", "works", NULL};
    while (!orders->change)
        usleep(100); /* sleeps: between two looks */
    execv(self[0], self);
    return argument;
}
KEPT static void becomes_another(void)
{
    have_partner();
    while (!orders->change)
        ;
    become(NULL);
}
KEPT static void becomes_another_by_a_thread(void)
{
    pthread_t other;
    have_partner();
    pthread_create(&other, NULL, become, NULL);
    loops_of_ten();
}
/* A program that lies where nothing is put at random, and one that could lie anywhere: each where the kernel chooses nothing. */
static void becomes_without_random_places(const char *name)
{
    char path[300];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 32);
    while (!orders->change)
        ;
    if (n <= 0 || personality(ADDR_NO_RANDOMIZE) < 0)
        _exit(9);
    path[n] = 0;
    strcpy(strrchr(path, '/') + 1, name);
    execl(path, path, NULL);
    _exit(9);
}
KEPT static void becomes_a_fixed_program(void)
{
    have_partner();
    becomes_without_random_places("../burst_victim");
}
KEPT static void becomes_a_program_that_moves(void)
{
    have_partner();
    becomes_without_random_places("../burst_victim_pie");
}
KEPT static void with_a_partner(void)
{
    have_partner();
    loops_of_ten();
}

static void begin(void)
{
    orders->change = orders->changed = 0;
    if (geteuid())
        skip();
}

static bool bursts_come(struct cs_burst_runner *runner, pid_t pid)
{
    for (int i = 0; i < 20; i++)
        if (go(runner, pid, 1000, 0)->outcome.skip == CS_BURST_SKIP_NONE)
            return true;
    return false;
}

static void changed_rights_end_it(body *run)
{
    begin();
    pid_t pid = child(run);
    struct cs_burst_runner *runner = runner_of(pid);
    assert_true(bursts_come(runner, pid));
    orders->change = 1;
    for (int i = 0; i < 1000 && !orders->changed; i++)
        usleep(1000); /* sleeps: between two looks */
    assert_true(orders->changed);
    const struct cs_burst_outcome *outcome = &go(runner, pid, 1000, 0)->outcome;
    assert_int_equal(outcome->skip, CS_BURST_SKIP_RIGHTS);
    assert_int_equal(outcome->instructions, 0);
    cs_burst_runner_close(runner);
    runner = runner_of(pid); /* of what it is now */
    assert_true(bursts_come(runner, pid));
    cs_burst_runner_close(runner);
    end(pid);
}

static void every_right_that_changes_ends_it(void **state)
{
    (void)state;
    static body *const bodies[] = {changes_effective_user, changes_saved_user,   changes_group,
                                   changes_groups,         changes_capabilities, changes_bounding_set,
                                   changes_no_new_privs};
    for (unsigned i = 0; i < sizeof bodies / sizeof *bodies; i++)
        changed_rights_end_it(bodies[i]);
}

static void is_another_now(struct cs_burst_runner *runner, pid_t pid, enum cs_burst_skip why)
{
    for (int i = 0; i < 20; i++) {
        const struct cs_burst_outcome *outcome = &go(runner, pid, 1000, 0)->outcome;
        assert_int_equal(outcome->skip, why);
        assert_int_equal(outcome->instructions, 0);
        assert_int_equal(outcome->stopped_ns, 0);
    }
    cs_burst_runner_close(runner);
}

/* Then it has another name than this test's child. */
static void until_exec(pid_t pid)
{
    char path[40], ours[20] = "", its[20] = "";
    snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
    prctl(PR_GET_NAME, ours);
    for (int i = 0; i < 10000; i++) {
        FILE *f = fopen(path, "re");
        assert_non_null(f);
        assert_int_equal(fscanf(f, "%19s", its), 1);
        fclose(f);
        if (strcmp(its, ours) != 0)
            return;
        usleep(1000); /* sleeps: between two looks */
    }
    fail_msg("no exec");
}

static void exec_ends_it(body *run)
{
    begin();
    pid_t pid = child(run);
    struct cs_burst_runner *runner = runner_of(pid);
    assert_true(bursts_come(runner, pid));
    orders->change = 1;
    until_exec(pid);
    is_another_now(runner, pid, CS_BURST_SKIP_PROGRAM);
    runner = runner_of(pid);
    assert_true(bursts_come(runner, pid));
    cs_burst_runner_close(runner);
    end(pid);
}

static void an_exec_ends_it(void **state)
{
    (void)state;
    exec_ends_it(becomes_another);
    exec_ends_it(becomes_another_by_a_thread);
    exec_ends_it(becomes_a_fixed_program);
    exec_ends_it(becomes_a_program_that_moves);
}

/* The next process gets this number, if nobody else takes it. */
static pid_t child_with_number(pid_t wanted)
{
    for (int i = 0; i < 200; i++) {
        FILE *last = fopen("/proc/sys/kernel/ns_last_pid", "w");
        if (!last || fprintf(last, "%d", wanted - 1) < 0 || fclose(last))
            skip();
        pid_t pid = fork();
        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            loops_of_ten();
        }
        if (pid == wanted)
            return pid;
        end(pid);
    }
    skip();
    return 0;
}

static void another_process_of_its_number_is_not_it(void **state)
{
    (void)state;
    begin();
    pid_t pid = child(with_a_partner);
    struct cs_burst_runner *runner = runner_of(pid);
    assert_true(bursts_come(runner, pid));
    end(pid);
    assert_int_equal(child_with_number(pid), pid);
    is_another_now(runner, pid, CS_BURST_SKIP_GONE); /* even of one that is like it in all */
    end(pid);
}

/* Execs at a moment that the runner can't choose, while bursts go on: none of them is of the new program. */
static void an_exec_in_the_middle_is_seen(void **state)
{
    (void)state;
    begin();
    for (int round = 0; round < 20; round++) {
        orders->change = 0;
        pid_t pid = child(round % 2 ? becomes_another : becomes_another_by_a_thread);
        struct cs_burst_runner *runner = runner_of(pid);
        bool other = false;
        for (int i = 0; i < 40 || (!other && i < 5000); i++) {
            orders->change = i >= 3;
            if (i >= 40)
                usleep(1000); /* sleeps: a busy machine, the exec isn't done yet */
            uint32_t skip_of = go(runner, pid, 4000, 0)->outcome.skip;
            assert_false(other && skip_of == CS_BURST_SKIP_NONE);
            other = other || skip_of == CS_BURST_SKIP_PROGRAM;
        }
        assert_true(other);
        cs_burst_runner_close(runner);
        end(pid);
    }
}

/* ---- what only other machines have: a folder in place of /proc/PID ---- */

static char folder[] = "/tmp/burst-same-program-XXXXXX";

static void write_file(const char *name, const char *text)
{
    char path[100];
    snprintf(path, sizeof path, "%s/task/7/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    fclose(file);
}

static void use_as(int number, const char *name, int flags)
{
    char path[100];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, flags);
    assert_true(fd >= 0);
    assert_int_equal(dup2(fd, number), number);
    close(fd);
}

static void write_status(const char *changed)
{
    static const char *const lines[] = {
        "Uid:\t1\t1\t1\t1",          "Gid:\t1\t1\t1\t1",          "Groups:\t4 24",
        "CapInh:\t0000000000000000", "CapPrm:\t0000000000000000", "CapEff:\t0000000000000000",
        "CapBnd:\t000001ffffffffff", "CapAmb:\t0000000000000000", "NoNewPrivs:\t0"};
    char text[1000] = "Name:\tlua\n", name[16];
    for (unsigned i = 0; i < sizeof lines / sizeof *lines; i++) {
        size_t n = strcspn(lines[i], ":"), all = strlen(text);
        snprintf(name, sizeof name, "%.*s", (int)n, lines[i]);
        bool other = changed && !strcmp(name, changed);
        snprintf(text + all, sizeof text - all, "%s%s\n", lines[i], other ? "2" : "");
    }
    write_file("status", text);
}

/* The verdict on the program after that change. */
static enum cs_burst_skip looks(const char *field, const char *label, const char *vector)
{
    write_status(field);
    write_file("attr/current", label);
    write_file("auxv", vector);
    return program_open(7);
}

static void every_line_and_the_label_of_a_security_module_count(void **state)
{
    (void)state;
    static const char *const fields[] = {"Uid",    "Gid",    "Groups", "CapInh",    "CapPrm",
                                         "CapEff", "CapBnd", "CapAmb", "NoNewPrivs"};
    char command[200];
    uint32_t uid = 0, gid = 0;
    assert_non_null(mkdtemp(folder));
    snprintf(command, sizeof command, "mkdir -p %s/task/7/attr && touch %s/task/7/exe", folder, folder);
    assert_int_equal(system(command), 0);
    (void)looks(NULL, "profile (enforce)\n", "vector");
    use_as(CS_BURST_FD_PROCESS, "", O_PATH | O_DIRECTORY);
    use_as(CS_BURST_FD_VECTOR, "task/7/auxv", O_RDONLY);
    assert_int_equal(program_keep(7, &uid, &gid), 0);
    assert_int_equal(uid, 1);
    assert_int_equal(gid, 1);
    assert_int_equal(looks(NULL, "profile (enforce)\n", "vector"), CS_BURST_SKIP_NONE);
    for (unsigned i = 0; i < sizeof fields / sizeof *fields; i++)
        assert_int_equal(looks(fields[i], "profile (enforce)\n", "vector"), CS_BURST_SKIP_RIGHTS);
    assert_int_equal(looks(NULL, "unconfined\n", "vector"), CS_BURST_SKIP_RIGHTS);
    assert_int_equal(looks(NULL, "", "vector"), CS_BURST_SKIP_RIGHTS);
    assert_int_equal(looks(NULL, "profile (enforce)\n", "another"), CS_BURST_SKIP_PROGRAM);
    assert_int_equal(looks(NULL, "profile (enforce)\n", "vector"), CS_BURST_SKIP_NONE);
    snprintf(command, sizeof command, "cp %s/task/7/exe %s/other && mv %s/other %s/task/7/exe", folder,
             folder, folder, folder);
    assert_int_equal(system(command), 0);
    assert_int_equal(looks(NULL, "profile (enforce)\n", "vector"), CS_BURST_SKIP_PROGRAM);
}

static int remove_folder(void **state)
{
    char command[100];
    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "works")) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a thread that execs has none */
        loops_of_ten();
    }
    orders = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_right_that_changes_ends_it),
        cmocka_unit_test(an_exec_ends_it),
        cmocka_unit_test(another_process_of_its_number_is_not_it),
        cmocka_unit_test(an_exec_in_the_middle_is_seen),
        cmocka_unit_test_teardown(every_line_and_the_label_of_a_security_module_count, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
