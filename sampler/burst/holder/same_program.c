/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Is a thread still of the program that the runner was made for? The runner's descriptors of its memory lead to what it
 * had then, for ever. A thread may have become another program since, and a partner that shares the old memory may go
 * on in there. Then nothing of the thread may reach the replayer, which runs the old memory's code.
 *
 * A program is identified by its auxiliary vector: where the kernel put its stack, its loader, its vDSO, at random at
 * each exec. Its old memory can be made to say something else, but nobody there knows what. Where nothing is put at
 * random, by the file that it runs. With the rights and the label of a security module that is all that an exec can
 * change.
 *
 * All questions go to the process whose folder of /proc the runner has, and to its threads. They don't go to another
 * one that has its number now. The vector's descriptor was opened before those of the memory. A vector read last that
 * equals it says that there was no exec in between: memory that is left never comes back.
 *
 * Looked at before a burst. Again when the thread is traced, because from then on no exec of its own is missed. It
 * stops at each (PTRACE_O_TRACEEXEC), with the memory that it had then. And again before anything is believed of the
 * burst. A thread that another one's exec ends is ptrace's no more, even if another thread has its number then. None of
 * that is while it stands. */
#include "sampler/burst/holder/same_program.h"
#include "sampler/burst/holder/rights.h"
#include "sampler/burst/runner/libc.h"
#include "sampler/burst/runner/sys.h"
#include "sampler/burst/runner/thread.h"

#include <fcntl.h>
#include <sys/stat.h>

#define STATUS_MAX 16384
#define VECTOR_MAX 1024
#define LABEL_MAX 512

struct program {
    size_t rights_bytes, vector_bytes, label_bytes;
    uint64_t device, inode;
    char rights[RIGHTS_MAX], vector[VECTOR_MAX], label[LABEL_MAX];
};
static struct program kept, seen;
static char status[STATUS_MAX];
static long status_fd = -1; /* of the thread that a burst is about */

static size_t positive(long bytes)
{
    return bytes > 0 ? (size_t)bytes : 0;
}

static bool same(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
    return a_bytes == b_bytes && !memcmp(a, b, a_bytes);
}

/* "task/TID/" + name. */
static const char *path_of(uint32_t tid, const char *name)
{
    static char path[64];
    char number[32];
    thread_path(tid, "/", number); /* "/proc/TID/" */
    size_t digits = strlen(number) - 6;
    memcpy(path, "task/", 5);
    memcpy(path + 5, number + 6, digits);
    memcpy(path + 5 + digits, name, strlen(name) + 1);
    return path;
}

static size_t read_bytes(uint32_t tid, const char *name, char *bytes, size_t size)
{
    long fd = SYS(__NR_openat, CS_BURST_FD_PROCESS, path_of(tid, name), O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    long got = SYS(__NR_read, fd, bytes, size);
    SYS(__NR_close, fd);
    return positive(got);
}

static bool read_vector(uint32_t tid)
{
    seen.vector_bytes = read_bytes(tid, "auxv", seen.vector, VECTOR_MAX);
    return seen.vector_bytes > 0;
}

static bool read_file(uint32_t tid)
{
    struct stat file;
    if (SYS(__NR_newfstatat, CS_BURST_FD_PROCESS, path_of(tid, "exe"), &file, 0) < 0)
        return false;
    seen.device = file.st_dev;
    seen.inode = file.st_ino;
    return true;
}

/* None where no security module gives any: that is so for all of the machine's life. */
static void read_label(uint32_t tid)
{
    seen.label_bytes = read_bytes(tid, "attr/current", seen.label, LABEL_MAX);
}

static bool read_rights(void)
{
    long bytes = SYS(__NR_pread64, status_fd, status, STATUS_MAX - 1, 0);
    status[positive(bytes)] = 0;
    seen.rights_bytes = rights_of(status, seen.rights);
    return bytes > 0;
}

static void close_status(void)
{
    if (status_fd >= 0)
        SYS(__NR_close, status_fd);
    status_fd = -1;
}

/* Stays open: to look it up once more would take half of the time that reading it does. */
static bool open_status(uint32_t tid)
{
    close_status();
    status_fd = SYS(__NR_openat, CS_BURST_FD_PROCESS, path_of(tid, "status"), O_RDONLY | O_CLOEXEC);
    return status_fd >= 0;
}

int program_keep(uint32_t pid, uint32_t *uid, uint32_t *gid)
{
    kept.vector_bytes = positive(SYS(__NR_pread64, CS_BURST_FD_VECTOR, kept.vector, VECTOR_MAX, 0));
    if (!kept.vector_bytes || !open_status(pid) || !read_rights() || !read_file(pid))
        return CS_BURST_EXIT_GONE;
    read_label(pid);
    *uid = status_number(status, "Uid:");
    *gid = status_number(status, "Gid:");
    if (!read_vector(pid) || !same(seen.vector, seen.vector_bytes, kept.vector, kept.vector_bytes))
        return CS_BURST_EXIT_GONE;
    if (!seen.rights_bytes)
        return 84;
    memcpy(&kept, &seen, sizeof kept);
    close_status(); /* the replayer, about to be forked, doesn't need it */
    return 0;
}

enum cs_burst_skip program_look(uint32_t tid)
{
    if (status_fd < 0 || !read_rights())
        return CS_BURST_SKIP_GONE;
    if (!same(seen.rights, seen.rights_bytes, kept.rights, kept.rights_bytes))
        return CS_BURST_SKIP_RIGHTS;
    if (!read_vector(tid) || !same(seen.vector, seen.vector_bytes, kept.vector, kept.vector_bytes) ||
        !read_file(tid) || seen.device != kept.device || seen.inode != kept.inode)
        return CS_BURST_SKIP_PROGRAM;
    if (!kept.label_bytes)
        return CS_BURST_SKIP_NONE;
    read_label(tid);
    return same(seen.label, seen.label_bytes, kept.label, kept.label_bytes) ? CS_BURST_SKIP_NONE
                                                                            : CS_BURST_SKIP_RIGHTS;
}

enum cs_burst_skip program_open(uint32_t tid)
{
    return open_status(tid) ? program_look(tid) : CS_BURST_SKIP_GONE;
}
