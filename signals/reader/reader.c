/* SPDX-License-Identifier: MIT */
/* Opening a segment and reading signals and lines. Geometry is checked once against the size that the kernel
 * states and kept; every later access is arithmetic on that copy. */
#include "signals/reader/reader_open.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SEGMENT_BYTES_MAX (1ull << 30)

/* ---- geometry ---- */

static bool inside(uint64_t at, uint64_t count, uint64_t bytes, uint64_t align, uint64_t size)
{
    return at % align == 0 && at <= size && count <= (size - at) / bytes;
}

int cs_geometry_check(const struct cs_segment_header *header, uint64_t size, struct cs_geometry *out,
                      char why[CS_WHY_MAX])
{
    struct cs_segment_header h = {0};
    if (size >= sizeof h)
        memcpy(&h, (const void *)header, sizeof h); /* one look: it may change meanwhile */
    const char *bad = NULL;
    if (size >= sizeof h && h.magic == CS_SEGMENT_MAGIC && h.version != CS_SEGMENT_VERSION) {
        snprintf(why, CS_WHY_MAX, CS_OTHER_VERSION, h.version, CS_SEGMENT_VERSION);
        return -EBADMSG;
    }
    if (size < sizeof h || h.magic != CS_SEGMENT_MAGIC)
        bad = "it doesn't start as one";
    else if (h.header_bytes < sizeof h)
        bad = "its header is too short";
    else if (!inside(h.signals_at, CS_SIGNALS_MAX, sizeof(struct cs_segment_signal), 8, size))
        bad = "its table of signals lies outside";
    else if (!inside(h.owners_at, h.n_lines, sizeof(struct cs_segment_owner), 8, size))
        bad = "its table of threads lies outside";
    else if (h.line_bytes == 0 || h.line_bytes % CS_LINE_BYTES != 0 ||
             !inside(h.lines_at, h.n_lines, h.line_bytes, CS_LINE_BYTES, size))
        bad = "its lines lie outside or are of an odd size";
    else if (!inside(h.names_at, h.names_size, 1, 8, size))
        bad = "its names lie outside";
    if (bad) {
        snprintf(why, CS_WHY_MAX, "the segment of signals is damaged or not ours: %s", bad);
        return -EBADMSG;
    }
    *out = (struct cs_geometry){
        .signals_at = h.signals_at,
        .owners_at = h.owners_at,
        .lines_at = h.lines_at,
        .names_at = h.names_at,
        .names_size = h.names_size,
        .exe_base = h.exe_base,
        .n_lines = h.n_lines,
        .line_bytes = h.line_bytes,
    };
    return 0;
}

/* ---- open, close ---- */

static int fail(struct cs_reader *reader, char why[CS_WHY_MAX], const char *what, int code)
{
    snprintf(why, CS_WHY_MAX, "%s: %s", what, strerror(code));
    cs_reader_close(reader);
    return -code;
}

int cs_reader_open_pid(pid_t pid, struct cs_reader **out, char why[CS_WHY_MAX])
{
    struct cs_reader *r = calloc(1, sizeof *r);
    if (!r)
        return fail(r, why, "could not open the segment", ENOMEM);
    r->pid = pid;
    r->file = -1;
    uint32_t pid_inside;
    int rc = cs_locate(pid, &pid_inside, &r->nested, why);
    if (rc < 0) {
        cs_reader_close(r);
        return rc;
    }
    const int fd = r->file = rc;
    struct stat st;
    if (fstat(fd, &st) != 0 || st.st_size <= 0 || (uint64_t)st.st_size > SEGMENT_BYTES_MAX)
        return fail(r, why, "the segment of signals has an impossible size", EBADMSG);
    r->size = (size_t)st.st_size;
    const void *p = mmap(NULL, r->size, PROT_READ, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED)
        return fail(r, why, "could not map the segment of signals", errno);
    r->base = p;
    r->mapped = true;
    rc = cs_geometry_check((const void *)r->base, r->size, &r->at, why);
    if (rc < 0) {
        cs_reader_close(r);
        return rc;
    }
    *out = r;
    return 0;
}

/* Reads to the end; lines at the end that a sparse copy left out are not missed: the size must hold. */
static int read_whole(struct cs_reader *r, int fd)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return -errno;
    if (!S_ISREG(st.st_mode) || st.st_size <= 0 || (uint64_t)st.st_size > SEGMENT_BYTES_MAX)
        return -EBADMSG;
    unsigned char *copy =
        aligned_alloc(CS_LINE_BYTES, ((size_t)st.st_size + CS_LINE_BYTES) & ~(size_t)(CS_LINE_BYTES - 1));
    if (!copy)
        return -ENOMEM;
    r->base = copy;
    ssize_t n = 1;
    while (r->size < (size_t)st.st_size && n > 0) {
        n = read(fd, copy + r->size, (size_t)st.st_size - r->size);
        if (n > 0)
            r->size += (size_t)n;
    }
    return n < 0 ? -errno : 0;
}

int cs_reader_open_file(const char *path, struct cs_reader **out, char why[CS_WHY_MAX])
{
    struct cs_reader *r = calloc(1, sizeof *r);
    if (!r)
        return fail(r, why, path, ENOMEM);
    r->file = -1;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return fail(r, why, path, errno);
    int rc = read_whole(r, fd);
    close(fd);
    if (rc < 0)
        return fail(r, why, path, -rc);
    rc = cs_geometry_check((const void *)r->base, r->size, &r->at, why);
    if (rc < 0) {
        cs_reader_close(r);
        return rc;
    }
    *out = r;
    return 0;
}

void cs_reader_close(struct cs_reader *reader)
{
    if (!reader)
        return;
    if (reader->mapped)
        munmap((void *)reader->base, reader->size);
    else
        free((void *)reader->base);
    if (reader->file >= 0)
        close(reader->file);
    free(reader->index);
    free(reader->texts);
    free(reader);
}

void cs_reader_announce(struct cs_reader *reader)
{
    struct flock shared = {.l_type = F_RDLCK};
    if (reader->file < 0)
        return;
    (void)fcntl(reader->file, F_OFD_SETLK, &shared);
    const struct cs_segment_header *h = (const void *)reader->base;
    syscall(SYS_futex, &h->pid, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

pid_t cs_reader_pid(const struct cs_reader *reader)
{
    return reader->pid;
}

/* ---- signals ---- */

unsigned cs_reader_signals(const struct cs_reader *reader, struct cs_seen_signal out[CS_SIGNALS_MAX])
{
    const struct cs_segment_signal *table = (const void *)(reader->base + reader->at.signals_at);
    unsigned n = 0;
    for (unsigned word = 0; word < CS_SCRAP_WORD; word++) {
        const uint32_t kind = __atomic_load_n(&table[word].kind, __ATOMIC_ACQUIRE);
        if (kind != CS_SIGNAL_TAG && kind != CS_SIGNAL_COUNTER)
            continue;
        out[n].kind = (enum cs_signal_kind)kind;
        out[n].word = word;
        out[n].is_address = kind == CS_SIGNAL_TAG && table[word].is_address != 0;
        cs_reader_clean_text(out[n].name, sizeof out[n].name, table[word].name, CS_SIGNAL_NAME_MAX);
        n++;
    }
    return n;
}

int cs_reader_find(const struct cs_reader *reader, const char *name)
{
    struct cs_seen_signal seen[CS_SIGNALS_MAX];
    const unsigned n = cs_reader_signals(reader, seen);
    for (unsigned i = 0; i < n; i++)
        if (strcmp(seen[i].name, name) == 0)
            return (int)seen[i].word;
    return -ENOENT;
}

/* ---- threads ---- */

uint32_t cs_reader_lines(const struct cs_reader *reader)
{
    const struct cs_segment_header *h = (const void *)reader->base;
    const uint32_t used = __atomic_load_n(&h->lines_used, __ATOMIC_ACQUIRE);
    return used < reader->at.n_lines ? used : reader->at.n_lines;
}

const volatile uint64_t *cs_reader_word(const struct cs_reader *reader, uint32_t line, unsigned word)
{
    if (line >= reader->at.n_lines || word >= CS_SIGNALS_MAX)
        return NULL;
    const uint64_t at = reader->at.lines_at + (uint64_t)line * reader->at.line_bytes;
    return (const volatile uint64_t *)(reader->base + at) + word;
}

const volatile struct cs_segment_owner *cs_reader_owner(const struct cs_reader *reader, uint32_t line)
{
    if (line >= reader->at.n_lines)
        return NULL;
    return (const volatile struct cs_segment_owner *)(reader->base + reader->at.owners_at) + line;
}

bool cs_reader_thread(const struct cs_reader *reader, uint32_t line, struct cs_seen_thread *out)
{
    const volatile struct cs_segment_owner *owner = cs_reader_owner(reader, line);
    if (!owner)
        return false;
    out->line = line;
    out->tid = __atomic_load_n(&owner->tid, __ATOMIC_ACQUIRE);
    out->generation = __atomic_load_n(&owner->generation, __ATOMIC_ACQUIRE);
    if (out->tid == 0)
        return false;
    for (unsigned w = 0; w < CS_SIGNALS_MAX; w++)
        out->values[w] = *cs_reader_word(reader, line, w);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return owner->tid == out->tid && owner->generation == out->generation;
}

unsigned cs_reader_threads(const struct cs_reader *reader, struct cs_seen_thread *out, unsigned max)
{
    const uint32_t lines = cs_reader_lines(reader);
    struct cs_seen_thread seen;
    unsigned n = 0;
    for (uint32_t line = 0; line < lines; line++)
        if (cs_reader_thread(reader, line, &seen)) {
            if (n < max)
                out[n] = seen;
            n++;
        }
    return n;
}

uint64_t cs_reader_address(const struct cs_reader *reader, uint64_t value)
{
    if ((int64_t)value >= 0)
        return value;
    return reader->at.exe_base != 0 ? reader->at.exe_base - value : 0;
}

uint64_t cs_reader_lines_lost(const struct cs_reader *reader)
{
    return ((const volatile struct cs_segment_header *)reader->base)->lines_lost;
}
uint64_t cs_reader_names_lost(const struct cs_reader *reader)
{
    return ((const volatile struct cs_segment_header *)reader->base)->names_lost;
}
