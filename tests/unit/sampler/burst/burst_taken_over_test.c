/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Alone: it asks who has a CPU. */
/* The attack of a replayer that was taken over, from end to end, by the holder that we ship. Its target becomes a program with
 * rights while the holder copies addresses of the replayer's choice. No word of that program may reach the
 * replayer, which tells everybody. Where this was written down first 10 of 30 rounds did. */
#include "tests/unit/sampler/burst/burst_taken_over.h"
#include "tests/unit/sampler/burst/burst_target.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <time.h>

#define PAGE 4096UL
#define SOMEBODY 65533U
#define SECONDS 12
#define WANTED 24 /* rounds in which the exec fell into the copying */
#define BURSTS_MAX 60
#define UNSEEN 255

static struct signs { /* shared with the attacker */
    volatile bool begun, go;
    volatile pid_t partner;
    double delay; /* from when it stands to the exec, in s */
} * signs;
static char folder[] = "/tmp/burst-taken-over-XXXXXX", with_rights[64], path[300];

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* ---- the program with rights ---- */

static const char *const kinds[] = {"user", "group", "capability"};

static bool give_rights(const char *file, const char *kind)
{
    static const struct {
        uint32_t word[5];
    } net_raw = {{0x02000001, 1U << CAP_NET_RAW, 0, 0, 0}};
    if (!strcmp(kind, "capability"))
        return chmod(file, 0711) == 0 &&
               setxattr(file, "security.capability", &net_raw, sizeof net_raw, 0) == 0;
    return chmod(file, strcmp(kind, "user") ? 02711 : 04711) == 0;
}

/* False: this machine gives none of this kind. */
static bool make_victim(const char *kind, bool pie)
{
    static char program[200], command[700];
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    assert_true(n > 0);
    *strrchr(program, '/') = 0;
    snprintf(with_rights, sizeof with_rights, "%s/%s%s", folder, kind, pie ? "-pie" : "");
    snprintf(command, sizeof command, "cp '%s/burst_victim%s' %s", program, pie ? "_pie" : "", with_rights);
    assert_int_equal(system(command), 0);
    return give_rights(with_rights, kind);
}

/* ---- the target ---- */

/* While its first thread stands before a tracer. */
static bool stands(int stat)
{
    char text[128] = "";
    ssize_t n = pread(stat, text, sizeof text - 1, 0);
    const char *state = n > 0 ? strrchr(text, ')') : NULL;
    return state && state[2] == 't';
}

static void *become(void *argument)
{
    int stat = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    while (!signs->go || !stands(stat))
        ;
    for (double until = now() + signs->delay; now() < until;)
        ;
    execl(with_rights, with_rights, NULL);
    _exit(4);
    return argument;
}

static int keep(void *argument)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    usleep(20000000); /* sleeps: it only keeps the memory */
    _exit(argument != NULL);
}

static void attack(int probes, bool partner)
{
    static uint8_t stack[16384] __attribute__((aligned(16)));
    pthread_t thread;
    uint64_t *page =
        mmap((void *)CHOSEN, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (page == MAP_FAILED || setresgid(SOMEBODY, SOMEBODY, SOMEBODY) ||
        setresuid(SOMEBODY, SOMEBODY, SOMEBODY) ||
        prctl(PR_SET_PDEATHSIG, SIGKILL) || /* after these, which clear it */
        mmap((void *)PROBES, N_PROBES * PAGE, PROT_READ, MAP_SHARED | MAP_FIXED, probes, 0) == MAP_FAILED)
        _exit(2);
    for (unsigned i = 0; i < PAGE / 8; i++)
        page[i] = OWN;
    if (partner && (signs->partner = clone(keep, stack + sizeof stack, CLONE_VM | CLONE_PARENT, NULL)) < 0)
        _exit(2);
    if (pthread_create(&thread, NULL, become, NULL))
        _exit(2);
    signs->begun = true;
    for (;;) /* what a burst stops */
        ;
}

/* ---- what everybody sees of the replayer ---- */

static bool touched(int probes, unsigned probe)
{
    return lseek(probes, (off_t)(probe * PAGE), SEEK_DATA) == (off_t)(probe * PAGE);
}

/* Gigabytes of its address space, as another process of the target's user sees them. False: it is gone, by itself or for being late. */
static bool sees_gigabytes(const struct cs_burst_runner *runner, unsigned *gigabytes)
{
    pid_t replayer = cs_burst_runner_replayer(runner);
    if (!replayer)
        return false;
    pid_t spy = fork();
    if (spy == 0) {
        unsigned long pages = 0;
        char name[64];
        snprintf(name, sizeof name, "/proc/%d/statm", (int)replayer);
        FILE *file = setresuid(SOMEBODY, SOMEBODY, SOMEBODY) ? NULL : fopen(name, "r");
        if (!file || fscanf(file, "%lu", &pages) != 1)
            _exit(UNSEEN);
        _exit((int)(pages >> 18));
    }
    int status = 0;
    assert_int_equal(waitpid(spy, &status, 0), spy);
    *gigabytes = (unsigned)WEXITSTATUS(status);
    return *gigabytes != UNSEEN;
}

/* ---- rounds ---- */

static struct {
    unsigned rounds, in_copy, in_poll, leaked, late;
} seen;

/* As the profiler asks. NULL: on a busy machine a runner may be late, and is killed by who waits for it. */
static const struct cs_burst_outcome *ask(struct cs_burst_runner *runner, pid_t pid, bool timed)
{
    struct cs_error err = {0};
    struct cs_burst_command command = {.tid = (uint32_t)pid,
                                       .instructions = 1000,
                                       .lead_ns = 20000,
                                       .timeout_ms = 50,
                                       .slack_ms = CS_BURST_SLACK_MS_MAX,
                                       .stopped_max_us = 4000,
                                       .timed_stopped_max_us = 3000,
                                       .timed_instructions = timed ? 100000 : 0};
    const struct cs_burst_shared *answer = cs_burst_runner_go(runner, &command, &err);
    if (!answer && err.code != ETIMEDOUT)
        fail_msg("%s", err.text);
    return answer ? &answer->outcome : NULL;
}

static bool followed(const struct cs_burst_outcome *outcome)
{
    return outcome->skip == CS_BURST_SKIP_NONE && outcome->pages_copied > 0;
}

/* Before the attack: it gets pages of the target, and can pass them on. False: nothing was followed in time. */
static bool gets_own(struct cs_burst_runner *runner, pid_t pid, bool timed, int probes)
{
    const struct cs_burst_outcome *outcome = NULL;
    for (unsigned i = 0; i < BURSTS_MAX && !(outcome && followed(outcome)); i++)
        if (!(outcome = ask(runner, pid, timed)))
            return false;
    if (!followed(outcome) || !ask(runner, pid, timed)) /* by which the replayer has seen what came last */
        return false;
    unsigned before;
    if (!sees_gigabytes(runner, &before))
        return false;
    assert_true(touched(probes, PROBE_OWN));
    assert_true(before >= PROBE_OWN && before < PROBE_SECRET);
    return true;
}

/* False: the runner was late and is dead. */
static bool attacked(struct cs_burst_runner *runner, pid_t pid, bool timed)
{
    bool in_copy = false, in_poll = false;
    const struct cs_burst_outcome *outcome = NULL;
    signs->go = true;
    for (unsigned i = 0; i < BURSTS_MAX && (outcome = ask(runner, pid, timed)); i++) {
        in_copy |= outcome->skip == CS_BURST_SKIP_GONE && outcome->copy_ns > 0;
        in_poll |= outcome->skip != CS_BURST_SKIP_GONE && outcome->skip && outcome->copy_ns > 0;
        if (outcome->skip == CS_BURST_SKIP_PROGRAM || outcome->skip == CS_BURST_SKIP_RIGHTS ||
            outcome->error == ESRCH)
            break;
    }
    seen.in_copy += in_copy;
    seen.in_poll += in_poll;
    return outcome && ask(runner, pid, timed);
}

static void one_round(bool partner, bool timed)
{
    int probes = memfd_create("probes", MFD_CLOEXEC);
    assert_int_equal(ftruncate(probes, N_PROBES * PAGE), 0);
    memset(signs, 0, sizeof *signs);
    signs->delay = 5e-5 * drand48() + (timed ? 2e-3 + 2e-3 * drand48() : 0);
    pid_t pid = fork();
    if (pid == 0)
        attack(probes, partner);
    while (!signs->begun)
        usleep(100); /* sleeps: between two looks */
    struct cs_burst_runner *runner = runner_of(pid);
    unsigned after = 0;
    bool lives = gets_own(runner, pid, timed, probes) && attacked(runner, pid, timed) &&
                 sees_gigabytes(runner, &after);
    seen.rounds++;
    seen.late += !lives;
    seen.leaked += touched(probes, PROBE_SECRET) || (lives && after >= PROBE_SECRET);
    cs_burst_runner_close(runner);
    end(pid);
    if (signs->partner)
        end(signs->partner);
    close(probes);
}

static void nothing_of_a_program_with_rights_reaches_it(void **state)
{
    (void)state;
    struct statvfs fs;
#ifdef __SANITIZE_THREAD__
    skip();
#endif
    if (geteuid() != 0 || sysconf(_SC_NPROCESSORS_ONLN) < 2 || statvfs("/tmp", &fs) != 0 ||
        fs.f_flag & ST_NOSUID)
        skip();
    setpriority(PRIO_PROCESS, 0, -20); /* beside others, too: who is late attacks nobody */
    double until = now() + SECONDS;
    for (unsigned i = 0; now() < until && seen.in_copy < WANTED; i++)
        if (make_victim(kinds[i % 3], i / 3 % 2))
            one_round(i / 6 % 2, (i + i / 12) % 2);
    print_message("%u rounds: the exec fell into the copying in %u, into the looking in %u; "
                  "late %u; leaked in %u\n",
                  seen.rounds, seen.in_copy, seen.in_poll, seen.late, seen.leaked);
    assert_int_equal(seen.leaked, 0);
    if (seen.in_copy < WANTED / 4)
        skip(); /* a busy machine: nothing was tried */
}

static int make_folder(void **state)
{
    (void)state;
    signs = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return !mkdtemp(folder) || chmod(folder, 0755) || signs == MAP_FAILED;
}

static int remove_folder(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "rm -rf %s", folder);
    return system(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_of_a_program_with_rights_reaches_it, make_folder,
                                        remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
