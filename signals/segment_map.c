/* SPDX-License-Identifier: MIT */
/* Making the segment: a sealed memfd, mapped once for the life of the process. A memfd and not a file in
 * /dev/shm: it needs no writable directory and no space there. It dies with the process however that ends.
 * It can be sealed against shrinking, so a reader's mapping never faults. It is found through /proc from
 * any outer namespace.
 *
 * A second copy of the library in the process finds the first one's mapping by its name in /proc/self/maps.
 * Where anything fails, the same layout in private memory takes the stores. */
#include "signals/runtime.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

_Static_assert(sizeof(struct cs_segment_header) <= CS_SIGNALS_AT, "the signals follow the header");
_Static_assert(sizeof(struct cs_segment_signal) % 8 == 0 && CS_HEAD_BYTES <= 4096, "and share its page");

struct cs_segment_header *cs_segment;
static int published; /* 0, or why the segment is private */
static int descriptor = -1;
static struct stat descriptor_was;
static uint64_t known_start_ns; /* tells whether another copy renewed the segment after a fork */

static uint64_t monotonic_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The page before the program headers of the main executable: its ELF header, else 0. */
static uint64_t executable_base(void)
{
    const unsigned long phdr = getauxval(AT_PHDR);
    const unsigned long base = phdr & ~4095ul;
    if (phdr == 0 || memcmp((const void *)base, ELFMAG, SELFMAG) != 0)
        return 0;
    return base;
}

/* A sealed memfd of the segment's size, or -errno. Growing a file beyond RLIMIT_FSIZE would be a fatal
 * signal. */
static int make_file(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < CS_SEGMENT_BYTES)
        return -EFBIG;
    int fd = memfd_create(CS_SEGMENT_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
    if (fd < 0 && errno == EINVAL)
        fd = memfd_create(CS_SEGMENT_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -errno;
    if (fchmod(fd, 0600) != 0 || ftruncate(fd, CS_SEGMENT_BYTES) != 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0 ||
        fstat(fd, &descriptor_was) != 0) {
        const int why = errno;
        close(fd);
        return -why;
    }
    return fd;
}

/* Maps `fd` (or private memory for -1) at `at` (NULL = anywhere). */
static void *map(int fd, void *at)
{
    const int fixed = at ? MAP_FIXED : 0;
    void *p = fd >= 0 ? mmap(at, CS_SEGMENT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | fixed, fd, 0)
                      : mmap(at, CS_SEGMENT_BYTES, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    madvise(p, CS_SEGMENT_BYTES, MADV_DONTDUMP);
    return p;
}

static void write_header(struct cs_segment_header *h)
{
    *h = (struct cs_segment_header){
        .version = CS_SEGMENT_VERSION,
        .header_bytes = sizeof *h,
        .pid = (uint32_t)getpid(),
        .start_ns = monotonic_ns(),
        .size = CS_SEGMENT_BYTES,
        .signals_at = CS_SIGNALS_AT,
        .owners_at = CS_OWNERS_AT,
        .lines_at = CS_LINES_AT,
        .names_at = CS_NAMES_AT,
        .names_size = CS_NAMES_BYTES,
        .n_lines = CS_LINES_MAX,
        .line_bytes = CS_PAGE_BYTES,
        .exe_base = executable_base(),
        .copies = 1,
    };
    known_start_ns = h->start_ns;
    __atomic_store_n(&h->magic, CS_SEGMENT_MAGIC, __ATOMIC_RELEASE);
}

/* The segment that another copy of the library mapped, or NULL. Only a mapping that is entirely as ours would
 * be. */
static struct cs_segment_header *mapped_by_another_copy(void)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    if (!maps)
        return NULL;
    struct cs_segment_header *found = NULL;
    char row[512];
    while (!found && fgets(row, sizeof row, maps)) {
        unsigned long from, to;
        char permissions[5];
        if (!strstr(row, "/memfd:" CS_SEGMENT_NAME " ") ||
            sscanf(row, "%lx-%lx %4s", &from, &to, permissions) != 3 || strcmp(permissions, "rw-s") != 0 ||
            to - from != CS_SEGMENT_BYTES)
            continue;
        struct cs_segment_header *h = (struct cs_segment_header *)from;
        if (h->magic == CS_SEGMENT_MAGIC && h->version == CS_SEGMENT_VERSION &&
            h->header_bytes == sizeof *h && h->pid == (uint32_t)getpid())
            found = h;
    }
    fclose(maps);
    return found;
}

static int publish(void)
{
    if (getauxval(AT_SECURE))
        return -EACCES;
    const char *wanted = getenv("CYCLESCOPE_SIGNALS");
    if (wanted && strcmp(wanted, "off") == 0)
        return -ECANCELED;
    struct cs_segment_header *theirs = mapped_by_another_copy();
    if (theirs) {
        known_start_ns = theirs->start_ns;
        __atomic_add_fetch(&theirs->copies, 1, __ATOMIC_RELAXED);
        cs_segment = theirs;
        return 0;
    }
    const int fd = make_file();
    if (fd < 0)
        return fd;
    struct cs_segment_header *h = map(fd, NULL);
    if (!h) {
        const int why = errno;
        close(fd);
        return -why;
    }
    descriptor = fd;
    write_header(h);
    cs_segment = h;
    return 0;
}

int cs_segment_map(void)
{
    if (cs_segment)
        return published;
    published = publish();
    if (published != 0 && (cs_segment = map(-1, NULL)) != NULL)
        write_header(cs_segment);
    return published;
}

/* ---- fork ---- */

struct part {
    uint32_t at;
    const void *from;
    uint32_t bytes;
};

/* Makes `in` what the child's segment starts with; names are still the parent's, where it mapped them. */
static unsigned child_parts(struct cs_segment_at_fork *in, struct part parts[4])
{
    struct cs_segment_header *h = &in->header;
    const struct cs_segment_header was = *h;
    unsigned n = 0;
    write_header(h);
    h->n_signals = was.n_signals;
    h->copies = was.copies;
    h->names_used = was.names_used;
    parts[n++] = (struct part){0, in->head, sizeof in->head};
    if (in->mine < CS_LINES_MAX) {
        h->lines_used = in->mine + 1;
        in->owner.tid = cs_segment_tid();
        in->owner.generation++;
        parts[n++] =
            (struct part){CS_OWNERS_AT + in->mine * (uint32_t)sizeof in->owner, &in->owner, sizeof in->owner};
        parts[n++] = (struct part){CS_LINES_AT + in->mine * CS_PAGE_BYTES, in->line, sizeof in->line};
    }
    if (was.names_used > 0)
        parts[n++] =
            (struct part){CS_NAMES_AT, (const char *)cs_segment + CS_NAMES_AT, (uint32_t)was.names_used};
    return n;
}

/* A file with the child's contents, or -errno. Written, not mapped and filled: that is half the faults. */
static int child_file(const struct part *parts, unsigned n)
{
    const int fd = make_file();
    for (unsigned i = 0; fd >= 0 && i < n; i++)
        if (pwrite(fd, parts[i].from, parts[i].bytes, parts[i].at) != (ssize_t)parts[i].bytes) {
            close(fd);
            return -ENOSPC;
        }
    return fd;
}

static void close_parents(void)
{
    struct stat st;
    if (descriptor >= 0 && fstat(descriptor, &st) == 0 && st.st_ino == descriptor_was.st_ino &&
        st.st_dev == descriptor_was.st_dev)
        close(descriptor);
    descriptor = -1;
}

/* The child's own file goes over the parent's mapping in one step, so that no store of the child reaches the
 * parent's lines and none is lost. Without a file: private memory. Without memory at all: no segment. */
bool cs_segment_after_fork(struct cs_segment_at_fork *inherited)
{
    if (!cs_segment)
        return false;
    if (published != 0) { /* private memory: the child's own already */
        cs_segment->lock = 0;
        return true;
    }
    if (inherited->header.copies > 1 && cs_segment->start_ns != known_start_ns) {
        known_start_ns = cs_segment->start_ns;
        return false;
    }
    close_parents();
    struct part parts[4];
    const unsigned n = child_parts(inherited, parts);
    descriptor = child_file(parts, n);
    if (descriptor >= 0 && map(descriptor, cs_segment))
        return true;
    const bool names_there = descriptor < 0;
    published = names_there ? descriptor : -errno;
    if (!names_there) {
        close(descriptor);
        inherited->header.names_used = 0;
    }
    descriptor = -1;
    char *fresh = map(-1, NULL);
    for (unsigned i = 0; fresh && i < n; i++)
        if (parts[i].at != CS_NAMES_AT || names_there)
            memcpy(fresh + parts[i].at, parts[i].from, parts[i].bytes);
    if (!fresh || mremap(fresh, CS_SEGMENT_BYTES, CS_SEGMENT_BYTES, MREMAP_MAYMOVE | MREMAP_FIXED,
                         cs_segment) == MAP_FAILED)
        cs_segment = NULL;
    return cs_segment != NULL;
}
