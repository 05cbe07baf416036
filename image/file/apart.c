/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/file/apart.h"
#include "image/file/elf.h"
#include "image/file/forker.h"
#include "image/file/give_up_rights.h"
#include "store/base/foreign.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define CHILD_BYTES RLIM_INFINITY /* their shadow alone has terabytes */
#else
#define CHILD_BYTES (2UL << 30) /* of address space, beside the file */
#endif
#define FILE_BYTES_MAX (16UL << 30)
#define FAILED 255
#define END_MS 50

/* SIGPROF ends it; where that is ignored the limit of whole seconds does. */
static bool limit(const struct cs_apart_bounds *most, int file)
{
    struct stat st;
    const bool counts = CHILD_BYTES != RLIM_INFINITY && fstat(file, &st) == 0 && st.st_size > 0;
    const rlim_t file_bytes = !counts                               ? 0
                              : (rlim_t)st.st_size < FILE_BYTES_MAX ? (rlim_t)st.st_size
                                                                    : FILE_BYTES_MAX;
    const rlim_t s = most->cpu_ms / 1000 + 1;
    const struct rlimit seconds = {s, s}, bytes = {CHILD_BYTES + file_bytes, CHILD_BYTES + file_bytes},
                        answer = {most->answer_bytes, most->answer_bytes}, none = {0, 0};
    const struct itimerval time = {
        .it_value = {most->cpu_ms / 1000, (suseconds_t)(most->cpu_ms % 1000) * 1000}};
    return setitimer(ITIMER_PROF, &time, NULL) == 0 && setrlimit(RLIMIT_CPU, &seconds) == 0 &&
           setrlimit(RLIMIT_AS, &bytes) == 0 && setrlimit(RLIMIT_FSIZE, &answer) == 0 &&
           setrlimit(RLIMIT_CORE, &none) == 0;
}

/* Where memory runs short the child is the one to go. */
static void go_first(void)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    ssize_t ignored = write(fd, "1000", 4);
    (void)ignored;
    close(fd);
}

/* Only async-signal-safe calls would be certain after a fork with threads; the C library's own locks are safe there, and
 * if anything else is not, the child's time is bounded. */
static void be_child(const struct cs_forker_question *q)
{
    struct elf_file *file;
    struct cs_error ignored;
    (void)prctl(PR_SET_NAME, "cyclescope-read");
    go_first();
    if (!limit(&q->most, q->fd) || !cs_give_up_rights(q->parent, q->fd, q->memory) ||
        elf_file_from_descriptor(q->fd, &file, &ignored) < 0)
        _exit(FAILED);
    _exit(q->work(file, q->memory));
}

void cs_apart_prepare(void)
{
#if !defined __SANITIZE_THREAD__
    cs_forker_begin(be_child);
#endif
}

static pid_t make_child(const struct cs_forker_question *q)
{
    pid_t pid = cs_forker_ask(q);
    if (pid > 0)
        return pid;
    pid = fork();
    if (pid == 0)
        be_child(q);
    return pid;
}

int cs_apart_start(struct cs_apart *apart, int fd, const struct cs_apart_bounds *most, cs_apart_work work)
{
    assert(fd >= 0 && work && most->answer_bytes > 0);
    apart->memory = memfd_create("cyclescope-read", MFD_CLOEXEC);
    apart->file = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    const struct cs_forker_question q = {*most, work, getpid(), apart->file, apart->memory};
    apart->pid = apart->memory < 0 || apart->file < 0 ? -1 : make_child(&q);
    if (apart->pid > 0)
        return 0;
    int rc = -errno;
    if (apart->memory >= 0)
        close(apart->memory);
    if (apart->file >= 0)
        close(apart->file);
    apart->pid = 0;
    return rc;
}

bool cs_apart_wait(const struct cs_apart *apart, uint64_t ns)
{
    struct timespec most = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    struct pollfd ended = {.fd = (int)syscall(SYS_pidfd_open, apart->pid, 0), .events = POLLIN};
    if (ended.fd < 0)
        return false;
    bool over = ppoll(&ended, 1, &most, NULL) == 1;
    close(ended.fd);
    return over;
}

static void note_used(struct cs_apart *apart, const struct rusage *used)
{
    const struct timeval *user = &used->ru_utime, *kernel = &used->ru_stime;
    apart->cpu_ns = (uint64_t)(user->tv_sec + kernel->tv_sec) * 1000000000 +
                    (uint64_t)(user->tv_usec + kernel->tv_usec) * 1000;
}

static void close_both(struct cs_apart *apart)
{
    close(apart->memory);
    close(apart->file);
    apart->pid = 0;
}

int cs_apart_done(struct cs_apart *apart, int *code)
{
    assert(apart->pid > 0);
    int status;
    struct rusage used = {0};
    pid_t ended = wait4(apart->pid, &status, WNOHANG, &used);
    if (ended == 0)
        return 0;
    note_used(apart, &used);
    if (ended > 0 && WIFEXITED(status) && WEXITSTATUS(status) <= CS_APART_WELL_MAX) {
        *code = WEXITSTATUS(status);
        apart->pid = -1;
        return 1;
    }
    close_both(apart);
    return -ENOEXEC;
}

void cs_apart_end(struct cs_apart *apart)
{
    if (!apart->pid)
        return;
    int status;
    struct rusage used = {0};
    if (apart->pid > 0) {
        (void)cs_end_child(apart->pid, END_MS, &status, &used);
        note_used(apart, &used);
    }
    close_both(apart);
}

bool cs_apart_write(int memory, const void *bytes, size_t n)
{
    for (size_t done = 0; done < n;) {
        ssize_t part = write(memory, (const char *)bytes + done, n - done);
        if (part <= 0)
            return false;
        done += (size_t)part;
    }
    return true;
}
