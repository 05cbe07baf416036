/* SPDX-License-Identifier: MIT */
/* From a PID to its segment. It is the memfd of the right name among the process's descriptors (any process
 * that we may ptrace). Otherwise it is among its mappings (root only: /proc/PID/map_files). Both are magic
 * links, so the target's mount namespace doesn't matter. What is found must be a sealed shared-memory file,
 * whatever its name says. */
#include "signals/reader/reader_open.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define QUICK_LINKS 1024
#define LINK "/memfd:" CS_SEGMENT_NAME " (deleted)"

__attribute__((format(printf, 3, 4))) static int refuse(char why[CS_WHY_MAX], int code, const char *format,
                                                        ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(why, CS_WHY_MAX, format, args);
    va_end(args);
    return -code;
}

struct wanted {
    uint32_t pid_inside;
    uid_t user; /* that the process acts as */
};

/* The process's number in its own PID namespace, the last of the NSpid row, and its user. */
static int describe(pid_t pid, struct wanted *wanted, bool *nested, char why[CS_WHY_MAX])
{
    uint32_t *inside = &wanted->pid_inside;
    char path[64], row[512];
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *status = fopen(path, "re");
    if (!status)
        return refuse(why, ESRCH, "there is no process %d", (int)pid);
    *inside = (uint32_t)pid;
    *nested = false;
    wanted->user = 0;
    while (fgets(row, sizeof row, status)) {
        unsigned long tgid;
        unsigned user;
        if (sscanf(row, "Uid: %*u %u", &user) == 1)
            wanted->user = user;
        if (sscanf(row, "Tgid: %lu", &tgid) == 1)
            *inside = (uint32_t)tgid; /* a thread's number was given */
        if (strncmp(row, "NStgid:", 7) != 0)
            continue;
        unsigned n = 0;
        for (char *p = row + 7, *end; *inside = (uint32_t)strtoul(p, &end, 10), end != p; p = end) {
            tgid = *inside;
            n++;
        }
        *inside = (uint32_t)tgid;
        *nested = n > 1;
    }
    fclose(status);
    return 0;
}

static bool is_segment(int fd)
{
    const int seals = fcntl(fd, F_GET_SEALS);
    return seals >= 0 && (seals & F_SEAL_SHRINK) != 0;
}

/* A regular file on the kernel's own file system of memory files. Asks no other file system for anything: a hostile one
 * (FUSE) may give such a name, and answer never. */
static bool is_in_memory(int looked)
{
    struct statx st;
    struct stat ours;
    const int memory = memfd_create("", MFD_CLOEXEC);
    const bool is = memory >= 0 && fstat(memory, &ours) == 0 &&
                    statx(looked, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &st) == 0 &&
                    S_ISREG(st.stx_mode) && makedev(st.stx_dev_major, st.stx_dev_minor) == ours.st_dev;
    if (memory >= 0)
        close(memory);
    return is;
}

/* The number in a segment's name, which is its version; 0: it is none. */
static unsigned version_of(const char *target, size_t n)
{
    static const char begin[] = "/memfd:cyclescope.";
    char text[64], *end;
    if (n < sizeof begin || n >= sizeof text || memcmp(target, begin, sizeof begin - 1) != 0)
        return 0;
    memcpy(text, target, n);
    text[n] = '\0';
    const unsigned long version = strtoul(text + sizeof begin - 1, &end, 10);
    return strcmp(end, " (deleted)") == 0 && version <= 1000000 ? (unsigned)version : 0;
}

/* Tries one link of /proc/PID/fd or map_files; a descriptor, or -1. `other`: the version of a segment of another format. */
static int try_link(int directory, const char *name, unsigned *other)
{
    char target[64], self[64];
    const ssize_t n = readlinkat(directory, name, target, sizeof target);
    const unsigned version = n > 0 ? version_of(target, (size_t)n) : 0;
    if (version != CS_SEGMENT_VERSION) {
        *other = version ? version : *other;
        return -1;
    }
    const int looked = openat(directory, name, O_PATH | O_CLOEXEC);
    if (looked < 0)
        return -1;
    snprintf(self, sizeof self, "/proc/self/fd/%d",
             looked); /* what was looked at, whatever the link says now */
    const int fd = is_in_memory(looked) ? open(self, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
    close(looked);
    if (fd >= 0 && !is_segment(fd)) {
        close(fd);
        return -1;
    }
    return fd;
}

/* A fork without the library's handlers keeps its parent's segment: that one isn't the process's own. One that another user made
 * was sent to it, or inherited by a set-uid program. */
static bool belongs_to(int fd, const struct wanted *wanted)
{
    struct cs_segment_header header;
    struct stat st;
    return fstat(fd, &st) == 0 && (st.st_uid == wanted->user || st.st_uid == 0) &&
           pread(fd, &header, sizeof header, 0) == (ssize_t)sizeof header && header.pid == wanted->pid_inside;
}

/* Looks through at most `most` links of /proc/PID/fd or map_files. Several that fit: the first one whose header names the
 * process. */
static int search(pid_t pid, const char *directory, unsigned most, const struct wanted *wanted, bool *foreign,
                  unsigned *other)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, directory);
    DIR *dir = opendir(path);
    if (!dir)
        return -errno;
    int fd = -ENOENT;
    for (const struct dirent *e; fd < 0 && most > 0 && (e = readdir(dir)) != NULL; most--) {
        fd = try_link(dirfd(dir), e->d_name, other);
        if (fd >= 0 && !belongs_to(fd, wanted)) {
            *foreign = true;
            close(fd);
            fd = -1;
        }
    }
    closedir(dir);
    return fd >= 0 ? fd : -ENOENT;
}

/* Whether the process maps a segment at all (maps is readable where map_files isn't). */
static bool maps_one(pid_t pid)
{
    char path[64], *row = NULL;
    size_t size = 0;
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *maps = fopen(path, "re");
    while (maps && !found && getline(&row, &size, maps) > 0)
        found = strstr(row, LINK) != NULL;
    free(row);
    if (maps)
        fclose(maps);
    return found;
}

int cs_locate(pid_t pid, uint32_t *pid_inside, bool *nested, char why[CS_WHY_MAX])
{
    struct wanted wanted = {0};
    int rc = describe(pid, &wanted, nested, why);
    if (rc < 0)
        return rc;
    *pid_inside = wanted.pid_inside;
    bool foreign = false;
    unsigned other = 0;
    const int fd = search(pid, "fd", UINT_MAX, &wanted, &foreign, &other);
    if (fd >= 0)
        return fd;
    const bool mapped = maps_one(pid);
    const int fd2 = mapped ? search(pid, "map_files", UINT_MAX, &wanted, &foreign, &other) : -ENOENT;
    if (fd2 >= 0)
        return fd2;
    if (other)
        return refuse(why, EBADMSG, CS_OTHER_VERSION, other, CS_SEGMENT_VERSION);
    if (fd == -EACCES || fd == -EPERM)
        return refuse(why, EACCES,
                      "may not look into process %d: it belongs to somebody else; run as its owner or root",
                      (int)pid);
    if (foreign)
        return refuse(why, ENOENT,
                      "process %d has only its parent's segment (after a raw clone: look at that process), "
                      "or another user's",
                      (int)pid);
    if (mapped)
        return refuse(
            why, EACCES,
            "process %d publishes signals but closed the segment's descriptor; only root can open it now",
            (int)pid);
    return refuse(
        why, ENOENT,
        "process %d publishes no signals: link it with libcyclescope or build it with the compiler plugin",
        (int)pid);
}

int cs_locate_quickly(pid_t pid)
{
    char why[CS_WHY_MAX];
    struct wanted wanted = {0};
    bool nested, foreign = false;
    unsigned other = 0;
    const int rc = describe(pid, &wanted, &nested, why);
    return rc < 0 ? rc : search(pid, "fd", QUICK_LINKS, &wanted, &foreign, &other);
}
