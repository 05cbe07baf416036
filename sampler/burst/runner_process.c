/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Starts a burst runner, talks to it, and makes sure that no thread is stopped for long. A runner may wait
 * for a page of a dead network file system. If it holds a thread for more than STOPPED_MAX_MS it is killed,
 * which lets the thread go on. */
#include "sampler/burst/runner_process.h"
#include "sampler/burst/go_program.h"
#include "sampler/burst/runner_image.h"
#include "store/base/clock.h"
#include "store/base/foreign.h"
#include "store/base/kernel_files.h"

#include <Zydis/Zydis.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STOPPED_MAX_MS 60
#define READY_MS 5000
#define HUNG_POLLS 10 /* of 20 ms */
#define END_MS 20
#define CLOSE_MS 200
#define REPLAYER_ENDS_MS 20 /* that of a runner that was killed */
#define N_FDS (CS_BURST_FD_FIRST_FREE - CS_BURST_FD_CONTROL)

struct cs_burst_runner {
    pid_t target, pid;
    bool is_go;
    int control;
    struct cs_burst_shared *shared;
    double holder_us, replayer_us; /* CPU time, as far as it was seen */
};

#define NAME(id, name, sentence) name,
#define SENTENCE(id, name, sentence) sentence,
static const char *const cause_names[] = {CS_BURST_CAUSES(NAME)}, *const cause_sentences[] = {
                                                                      CS_BURST_CAUSES(SENTENCE)};
static const char *const skip_names[] = {CS_BURST_SKIPS(NAME)}, *const skip_sentences[] = {
                                                                    CS_BURST_SKIPS(SENTENCE)};

const char *cs_burst_cause_name(unsigned cause)
{
    return cause < CS_BURST_CAUSE_N ? cause_names[cause] : "?";
}
const char *cs_burst_cause_sentence(unsigned cause)
{
    return cause < CS_BURST_CAUSE_N ? cause_sentences[cause] : "?";
}
const char *cs_burst_skip_name(unsigned skip)
{
    return skip < CS_BURST_SKIP_N ? skip_names[skip] : "?";
}
const char *cs_burst_skip_sentence(unsigned skip)
{
    return skip < CS_BURST_SKIP_N ? skip_sentences[skip] : "?";
}

/* A descriptor above those that the runner wants its own at. */
static int high(int fd)
{
    if (fd < 0)
        return -1;
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, 32);
    close(fd);
    return moved;
}

static int open_process(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d", (int)pid);
    return high(open(path, O_PATH | O_DIRECTORY | O_CLOEXEC));
}

static int open_of(int process, const char *name)
{
    return high(openat(process, name, O_RDONLY | O_CLOEXEC));
}

/* The list of pages; to whom opens it with CAP_SYS_ADMIN it tells where they lie in the machine, too, which the replayer shall
 * not know. */
static int open_pages(int process)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct all[2], fewer[2];
    if (syscall(SYS_capget, &header, all) != 0)
        return -1;
    memcpy(fewer, all, sizeof fewer);
    fewer[CAP_SYS_ADMIN / 32].effective &= ~(1U << CAP_SYS_ADMIN % 32);
    int fd = syscall(SYS_capset, &header, fewer) == 0 ? open_of(process, "pagemap") : -1;
    int failed = errno;
    (void)!syscall(SYS_capset, &header, all); /* of this thread */
    errno = failed;
    return fd;
}

static int open_decoder(void)
{
    Dl_info found;
    if (!dladdr((void *)(uintptr_t)ZydisDecoderInit, &found) || !found.dli_fname)
        return -1;
    return high(open(found.dli_fname, O_RDONLY | O_CLOEXEC));
}

static int open_image(pid_t target)
{
    size_t size;
    unsigned char *bytes = cs_burst_image_for(target, &size);
    int fd = bytes ? high(memfd_create("cyclescope-burst", MFD_CLOEXEC)) : -1;
    if (fd >= 0 && write(fd, bytes, size) != (ssize_t)size) {
        close(fd);
        fd = -1;
    }
    free(bytes);
    return fd;
}

/* fds: in the order of the enumeration in wire.h. */
static int spawn(int image, const int fds[N_FDS], pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    char path[32], *argv[] = {"cyclescope-burst", NULL}, *envp[] = {NULL};
    sigset_t none, all;
    snprintf(path, sizeof path, "/proc/self/fd/%d", image);
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    for (int i = 0; i < 3; i++)
        posix_spawn_file_actions_addopen(&actions, i, "/dev/null", O_RDWR, 0);
    for (int i = 0; i < N_FDS; i++)
        posix_spawn_file_actions_adddup2(&actions, fds[i], CS_BURST_FD_CONTROL + i);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    /* A session of its own: who ends our terminal's group means us, and we end it. */
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    int code = posix_spawn(pid, path, &actions, &attributes, argv, envp);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return code;
}

/* False: there is no such process any more. */
static bool see_time(pid_t pid, double *us)
{
    clockid_t clock;
    if (pid <= 0 || clock_getcpuclockid(pid, &clock) != 0)
        return false;
    double now = (double)cs_clock_ns(clock) * 1e-3;
    if (now > *us)
        *us = now;
    return true;
}

double cs_burst_runner_cpu_us(struct cs_burst_runner *runner)
{
    (void)see_time(runner->pid, &runner->holder_us);
    if (runner->shared != MAP_FAILED)
        (void)see_time((pid_t)runner->shared->replayer, &runner->replayer_us);
    return runner->holder_us + runner->replayer_us;
}

/* The holder's end, -EAGAIN while there is none. Its time counts what it reaped; a replayer that it didn't dies just after it. By
 * force: one that hangs in the kernel (on a page that is never served) is left behind. */
static int reap(struct cs_burst_runner *runner, bool by_force)
{
    struct rusage used;
    int status = 0;
    pid_t pid = runner->pid;
    (void)cs_burst_runner_cpu_us(runner);
    if (by_force)
        pid = cs_end_child(pid, END_MS, &status, &used) < 0 ? -1 : pid;
    else
        pid = wait4(pid, &status, WNOHANG, &used);
    if (pid == 0)
        return -EAGAIN;
    runner->pid = 0;
    if (pid < 0)
        return status;
    runner->holder_us = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e6 +
                        (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
    pid_t replayer = runner->shared == MAP_FAILED ? 0 : (pid_t)runner->shared->replayer;
    if (!replayer)
        runner->replayer_us = 0;
    for (uint64_t until = cs_monotonic_ns() / 1000000 + REPLAYER_ENDS_MS;
         see_time(replayer, &runner->replayer_us) && cs_monotonic_ns() / 1000000 < until;)
        usleep(200);
    return status;
}

/* Does it wait in the kernel for something that isn't ours? */
static bool hangs(const struct cs_burst_runner *runner)
{
    char text[64];
    cs_kernel_text(text, sizeof text, "/proc/%d/stat", (int)runner->pid);
    const char *state = cs_stat_field(text, 3);
    return state && *state == 'D';
}

/* It ends by itself, or, stopped or frozen by somebody, by force, which nobody notices. How it ended. */
static int end(struct cs_burst_runner *runner)
{
    for (uint64_t until = cs_monotonic_ns() / 1000000 + CLOSE_MS;
         cs_monotonic_ns() / 1000000 < until && !hangs(runner); usleep(500)) {
        int status = reap(runner, false);
        if (status != -EAGAIN)
            return status;
    }
    return reap(runner, true);
}

/* Waits for a message of the runner. 0, -EPIPE: it ended; after killing it -ETIMEDOUT: no answer, -ETIME: it held a thread for too
 * long, -EBUSY: it hung in the kernel. */
static int await(struct cs_burst_runner *runner, char message, uint64_t limit_ms)
{
    uint64_t until = cs_monotonic_ns() / 1000000 + limit_ms, stopped_since = 0;
    for (unsigned hung = 0;;) {
        struct pollfd fd = {.fd = runner->control, .events = POLLIN};
        int n = poll(&fd, 1, stopped_since ? 10 : 20);
        if (n > 0) {
            char got = 0;
            return read(runner->control, &got, 1) == 1 && got == message ? 0 : -EPIPE;
        }
        uint64_t time = cs_monotonic_ns() / 1000000;
        if (!runner->shared->stopped)
            stopped_since = 0;
        else if (!stopped_since)
            stopped_since = time;
        hung = hangs(runner) ? hung + 1 : 0;
        bool holds =
            stopped_since && time - stopped_since > STOPPED_MAX_MS && !runner->shared->command.verify;
        int why = hung == HUNG_POLLS ? -EBUSY : holds ? -ETIME : time > until ? -ETIMEDOUT : 0;
        if (why) {
            kill(runner->pid, SIGKILL);
            return why;
        }
    }
}

/* In words, of what await() said and how it ended. */
static const char *why_text(int failed, int status, char text[static 64])
{
    if (failed == -EBUSY)
        return "it hung in the kernel and was killed";
    if (failed == -ETIME)
        return "it held a thread for too long and was killed";
    if (failed == -ETIMEDOUT)
        return "it gave no answer in time and was killed: a busy machine?";
    if (WIFSIGNALED(status))
        snprintf(text, 64, "signal %d ended it", WTERMSIG(status));
    else
        snprintf(text, 64, "it ended with code %d", WEXITSTATUS(status));
    return text;
}

/* All of one process, whoever gets its number; the vector first, by which the runner tells the program that the others are of
 * (holder/same_program.c). 0 or errno. */
static int open_target(struct cs_burst_runner *runner, int fds[N_FDS])
{
    static const struct {
        int at;
        const char *name;
    } files[] = {
        {CS_BURST_FD_VECTOR, "auxv"},
        {CS_BURST_FD_MEMORY, "mem"},
        {CS_BURST_FD_MAPS, "maps"},
    };
    int process = fds[CS_BURST_FD_PROCESS - CS_BURST_FD_CONTROL] = open_process(runner->target);
    if (process < 0)
        return errno;
    for (unsigned i = 0; i < sizeof files / sizeof *files; i++)
        if ((fds[files[i].at - CS_BURST_FD_CONTROL] = open_of(process, files[i].name)) < 0)
            return errno;
    runner->is_go = cs_burst_is_go(runner->target);
    fds[CS_BURST_FD_PAGES - CS_BURST_FD_CONTROL] = open_pages(process);
    return fds[CS_BURST_FD_PAGES - CS_BURST_FD_CONTROL] < 0 ? errno : 0;
}

static int start(struct cs_burst_runner *runner, struct cs_error *err)
{
    int pair[2] = {-1, -1}, image = open_image(runner->target), code = 0;
    int fds[N_FDS];
    for (int i = 0; i < N_FDS; i++)
        fds[i] = -1;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0) {
        runner->control = pair[0];
        fds[0] = high(pair[1]);
    }
    fds[CS_BURST_FD_SHARED - CS_BURST_FD_CONTROL] = high(memfd_create("cyclescope-burst", MFD_CLOEXEC));
    int why = open_target(runner, fds);
    fds[CS_BURST_FD_DECODER - CS_BURST_FD_CONTROL] = open_decoder();
    int shared = fds[CS_BURST_FD_SHARED - CS_BURST_FD_CONTROL];
    if (why)
        code =
            cs_fail(err, why == ENOENT ? ESRCH : why, "process %d: its memory can't be read for bursts: %s",
                    (int)runner->target, strerror(why == ENOENT ? ESRCH : why));
    else if (fds[CS_BURST_FD_DECODER - CS_BURST_FD_CONTROL] < 0)
        code = cs_fail(err, ENOENT, "bursts need the file of the library libZydis, which is not found");
    else if (image < 0 || fds[0] < 0 || shared < 0 || ftruncate(shared, sizeof *runner->shared))
        code = cs_fail(err, errno, "bursts: no descriptors or memory for a runner: %s", strerror(errno));
    if (!code) {
        runner->shared = mmap(NULL, sizeof *runner->shared, PROT_READ | PROT_WRITE, MAP_SHARED, shared, 0);
        int failed = runner->shared == MAP_FAILED ? errno : 0;
        if (!failed) {
            runner->shared->command.tid = (uint32_t)runner->target; /* whose rights the replayer gets */
            failed = spawn(image, fds, &runner->pid);
        }
        if (failed) {
            runner->pid = 0;
            code = cs_fail(err, failed, "bursts: the runner can't be started: %s", strerror(failed));
        }
    }
    for (int i = 0; i < N_FDS; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    if (image >= 0)
        close(image);
    return code;
}

int cs_burst_runner_open(pid_t pid, struct cs_burst_runner **out, double *cpu_us, struct cs_error *err)
{
    *out = NULL;
    *cpu_us = 0;
    struct cs_burst_runner *runner = calloc(1, sizeof *runner);
    if (!runner)
        return cs_fail(err, ENOMEM, "no memory for a burst runner");
    runner->target = pid;
    runner->control = -1;
    runner->shared = MAP_FAILED;
    int code = start(runner, err);
    int failed = code ? 0 : await(runner, 'r', READY_MS);
    if (failed < 0) {
        int status = end(runner);
        int exit = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
        code = cs_fail(err,
                       exit == CS_BURST_EXIT_GONE                       ? ESRCH
                       : exit == CS_BURST_EXIT_OTHERS                   ? EPERM
                       : exit == CS_BURST_EXIT_LATE || failed != -EPIPE ? ETIMEDOUT
                                                                        : EIO,
                       "the burst runner for process %d did not start: %s", (int)pid,
                       why_text(failed, status, (char[64]){0}));
    }
    if (code)
        *cpu_us = cs_burst_runner_close(runner);
    else
        *out = runner;
    return code;
}

/* Rows come from a process that ran foreign code: counts are bounded here, addresses by those who place them.
 */
static void bound(struct cs_burst_outcome *outcome)
{
#define BOUND(field, most)                                                                                   \
    if (outcome->field > (most))                                                                             \
    outcome->field = (most)
    BOUND(n_edges, CS_BURST_EDGES_MAX);
    BOUND(n_memory, CS_BURST_ROWS_MAX);
    BOUND(n_branches, CS_BURST_ROWS_MAX);
    BOUND(n_lines, CS_BURST_ROWS_MAX);
    BOUND(n_intervals, CS_BURST_INTERVALS_MAX);
    BOUND(skip, CS_BURST_SKIP_BROKEN);
    BOUND(cause, CS_BURST_CAUSE_N - 1);
#undef BOUND
}

const struct cs_burst_shared *cs_burst_runner_go(struct cs_burst_runner *runner,
                                                 const struct cs_burst_command *command, struct cs_error *err)
{
    char go = 'b';
    runner->shared->command = *command;
    runner->shared->command.urgent_is_quiet = runner->is_go;
    int failed =
        write(runner->control, &go, 1) != 1 ? -EPIPE : await(runner, 'd', command->timeout_ms + 10000ULL);
    if (failed < 0) {
        int status = end(runner);
        cs_fail(err, failed != -EPIPE ? ETIMEDOUT : EIO, "the burst runner of process %d ended: %s",
                (int)runner->target, why_text(failed, status, (char[64]){0}));
        return NULL;
    }
    bound(&runner->shared->outcome);
    return runner->shared;
}

pid_t cs_burst_runner_pid(const struct cs_burst_runner *runner)
{
    return runner->pid;
}

pid_t cs_burst_runner_replayer(const struct cs_burst_runner *runner)
{
    return (pid_t)runner->shared->replayer;
}

double cs_burst_runner_close(struct cs_burst_runner *runner)
{
    if (!runner)
        return 0;
    if (runner->control >= 0)
        close(runner->control); /* the runner reads the end and leaves */
    if (runner->pid > 0)
        (void)end(runner);
    double us = runner->holder_us + runner->replayer_us;
    if (runner->shared != MAP_FAILED)
        munmap(runner->shared, sizeof *runner->shared);
    free(runner);
    return us;
}
