/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/session/table_builder.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILD_SECONDS 20        /* of CPU time */
#define CHILD_BYTES (2UL << 30) /* of address space */

/* Only async-signal-safe calls would be certain after a fork with threads; the C library's own locks are safe there, and
 * if anything else is not, the child's time is bounded. */
static _Noreturn void build(int fd, int memory)
{
    struct rlimit seconds = {CHILD_SECONDS, CHILD_SECONDS}, bytes = {CHILD_BYTES, CHILD_BYTES}, none = {0, 0};
    char path[64];
    struct cs_unwind *unwind;
    struct cs_error ignored;
    size_t n, done = 0;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)prctl(PR_SET_NAME, "cyclescope-rows");
    (void)setrlimit(RLIMIT_CPU, &seconds);
    (void)setrlimit(RLIMIT_AS, &bytes);
    (void)setrlimit(RLIMIT_CORE, &none);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (cs_unwind_open(path, &unwind, &ignored) < 0)
        _exit(1);
    const char *table = (const void *)cs_unwind_table(unwind, &n);
    while (done < n && n <= CS_TABLE_BUILDER_BYTES) {
        ssize_t part = write(memory, table + done, n - done);
        if (part <= 0)
            _exit(1);
        done += (size_t)part;
    }
    _exit(done < n);
}

int cs_table_builder_start(struct cs_table_builder *b, int fd)
{
    b->memory = memfd_create("cyclescope-rows", MFD_CLOEXEC);
    if (b->memory < 0)
        return -errno;
    b->child = fork();
    if (b->child == 0)
        build(fd, b->memory);
    if (b->child > 0)
        return 0;
    int rc = -errno;
    close(b->memory);
    b->child = 0;
    return rc;
}

int cs_table_builder_done(struct cs_table_builder *b, const struct cs_unwind_header **table, size_t *n)
{
    int status;
    struct stat made;
    pid_t ended = waitpid(b->child, &status, WNOHANG);
    if (ended == 0)
        return 0;
    b->child = 0;
    if (ended > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0 && fstat(b->memory, &made) == 0 &&
        made.st_size > 0 && (size_t)made.st_size <= CS_TABLE_BUILDER_BYTES) {
        void *at = mmap(NULL, (size_t)made.st_size, PROT_READ, MAP_SHARED, b->memory, 0);
        if (at != MAP_FAILED) {
            close(b->memory);
            *table = at;
            *n = (size_t)made.st_size;
            return 1;
        }
    }
    close(b->memory);
    return -ENOEXEC;
}

void cs_table_builder_end(const struct cs_unwind_header *table, size_t n)
{
    munmap((void *)(uintptr_t)table, n);
}

void cs_table_builder_close(struct cs_table_builder *b)
{
    if (b->child <= 0)
        return;
    (void)kill(b->child, SIGKILL);
    (void)waitpid(b->child, NULL, 0);
    close(b->memory);
    b->child = 0;
}
