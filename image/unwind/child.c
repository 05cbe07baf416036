/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/unwind/child.h"
#include "image/unwind/build.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define CPU_MS 1000 /* and of each megabyte: a hundred take some seconds */
#define CPU_MS_MEGABYTE 100
#define CPU_MS_MAX 20000

enum { MADE, MADE_WITH_OTHERS, FAILED = CS_APART_WELL_MAX + 1 };

static int build(const struct elf_file *file, int memory)
{
    struct cs_error ignored;
    bool other_debug = false;
    size_t n;
    const struct cs_unwind_header *table = unwind_of_elf(file, &n, &other_debug, &ignored);
    if (!table || !cs_apart_write(memory, table, n))
        return FAILED;
    return other_debug ? MADE_WITH_OTHERS : MADE;
}

int cs_unwind_child_start(struct cs_apart *child, int fd)
{
    assert(fd >= 0);
    struct stat st;
    const uint64_t megabytes = fstat(fd, &st) == 0 ? (uint64_t)st.st_size >> 20 : 0,
                   ms = CPU_MS + CPU_MS_MEGABYTE * megabytes;
    const struct cs_apart_bounds most = {CS_UNWIND_CHILD_BYTES, ms < CPU_MS_MAX ? (unsigned)ms : CPU_MS_MAX};
    return cs_apart_start(child, fd, &most, build);
}

static int take(const struct cs_apart *child, bool keep, struct cs_unwind **unwind)
{
    char path[64];
    struct stat made;
    if (fstat(child->memory, &made) != 0 || made.st_size <= 0 || (size_t)made.st_size > CS_UNWIND_CHILD_BYTES)
        return -ENOEXEC;
    void *at = mmap(NULL, (size_t)made.st_size, PROT_READ, MAP_SHARED, child->memory, 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", child->file);
    return at == MAP_FAILED ? -errno : unwind_of_map(at, (size_t)made.st_size, keep ? path : NULL, unwind);
}

int cs_unwind_child_done(struct cs_apart *child, bool keep, struct cs_unwind **unwind)
{
    int code, rc = cs_apart_done(child, &code);
    if (rc <= 0)
        return rc;
    rc = code > MADE_WITH_OTHERS ? -ENOEXEC : take(child, keep && code == MADE, unwind);
    cs_apart_end(child);
    return rc < 0 ? rc : 1;
}

int cs_unwind_child_file(const void *bytes, size_t n)
{
    int fd = memfd_create("cyclescope-image", MFD_CLOEXEC);
    if (fd < 0 || cs_apart_write(fd, bytes, n))
        return fd < 0 ? -errno : fd;
    close(fd);
    return -ENOSPC;
}

struct cs_unwind *cs_unwind_child_of_memory(const void *bytes, size_t n, uint64_t ns)
{
    struct cs_apart child = {0};
    struct cs_unwind *unwind = NULL;
    int fd = cs_unwind_child_file(bytes, n);
    if (fd >= 0 && cs_unwind_child_start(&child, fd) == 0) {
        (void)cs_apart_wait(&child, ns);
        if (cs_unwind_child_done(&child, false, &unwind) <= 0)
            unwind = NULL;
        cs_apart_end(&child);
    }
    if (fd >= 0)
        close(fd);
    return unwind;
}
