/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/unwind/child.h"
#include "image/unwind/build.h"
#include "image/unwind/give_up_rights.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILD_SECONDS 20 /* of CPU time */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define CHILD_BYTES RLIM_INFINITY /* their shadow alone has terabytes */
#else
#define CHILD_BYTES (2UL << 30) /* of address space */
#endif
enum { MADE, FAILED, MADE_WITH_OTHERS };

static bool limit(void)
{
    const struct rlimit seconds = {CHILD_SECONDS, CHILD_SECONDS}, bytes = {CHILD_BYTES, CHILD_BYTES},
                        table = {CS_UNWIND_CHILD_BYTES, CS_UNWIND_CHILD_BYTES}, none = {0, 0};
    return setrlimit(RLIMIT_CPU, &seconds) == 0 && setrlimit(RLIMIT_AS, &bytes) == 0 &&
           setrlimit(RLIMIT_FSIZE, &table) == 0 && setrlimit(RLIMIT_CORE, &none) == 0;
}

/* Only async-signal-safe calls would be certain after a fork with threads; the C library's own locks are safe there, and
 * if anything else is not, the child's time is bounded. */
static _Noreturn void build(pid_t parent, int fd, int memory)
{
    struct elf_file *file;
    struct cs_error ignored;
    bool other_debug = false;
    size_t n, done = 0;
    (void)prctl(PR_SET_NAME, "cyclescope-rows");
    if (!limit() || !cs_give_up_rights(parent, fd, memory) ||
        elf_file_from_descriptor(fd, &file, &ignored) < 0)
        _exit(FAILED);
    const char *table = (const void *)unwind_of_elf(file, &n, &other_debug, &ignored);
    while (table && done < n) {
        ssize_t part = write(memory, table + done, n - done);
        if (part <= 0)
            _exit(FAILED);
        done += (size_t)part;
    }
    _exit(!table ? FAILED : other_debug ? MADE_WITH_OTHERS : MADE);
}

int cs_unwind_child_start(struct cs_unwind_child *child, int fd)
{
    pid_t self = getpid();
    child->memory = memfd_create("cyclescope-rows", MFD_CLOEXEC);
    child->file = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    child->pid = child->memory < 0 || child->file < 0 ? -1 : fork();
    if (child->pid == 0)
        build(self, child->file, child->memory);
    if (child->pid > 0)
        return 0;
    int rc = -errno;
    if (child->memory >= 0)
        close(child->memory);
    if (child->file >= 0)
        close(child->file);
    child->pid = 0;
    return rc;
}

static int take(struct cs_unwind_child *child, bool keep, struct cs_unwind **unwind)
{
    char path[64];
    struct stat made;
    if (fstat(child->memory, &made) != 0 || made.st_size <= 0 || (size_t)made.st_size > CS_UNWIND_CHILD_BYTES)
        return -ENOEXEC;
    void *at = mmap(NULL, (size_t)made.st_size, PROT_READ, MAP_SHARED, child->memory, 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", child->file);
    return at == MAP_FAILED ? -errno : unwind_of_map(at, (size_t)made.st_size, keep ? path : NULL, unwind);
}

static void end(struct cs_unwind_child *child)
{
    close(child->memory);
    close(child->file);
    child->pid = 0;
}

int cs_unwind_child_done(struct cs_unwind_child *child, struct cs_unwind **unwind)
{
    int status, rc = -ENOEXEC;
    pid_t ended = waitpid(child->pid, &status, WNOHANG);
    if (ended == 0)
        return 0;
    if (ended > 0 && WIFEXITED(status) &&
        (WEXITSTATUS(status) == MADE || WEXITSTATUS(status) == MADE_WITH_OTHERS))
        rc = take(child, WEXITSTATUS(status) == MADE, unwind);
    end(child);
    return rc < 0 ? rc : 1;
}

void cs_unwind_child_close(struct cs_unwind_child *child)
{
    if (child->pid <= 0)
        return;
    (void)kill(child->pid, SIGKILL);
    (void)waitpid(child->pid, NULL, 0);
    end(child);
}
