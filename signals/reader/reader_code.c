/* SPDX-License-Identifier: MIT */
/* Names of machine code, read as files are: a hole in a hostile segment costs its reader no memory, and a process costs a
 * descriptor. The heap is append-only, so each byte is read once. */
#include "signals/reader/reader_open.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAP_MAX (16u << 20)     /* bytes; the runtime's heaps are as large */
#define SEGMENT_MAX (1ull << 30) /* bytes */
#define PART_BYTES (2u << 16)    /* any record fits: its text is shorter than 64 KiB */
#define NAME_MAX_BYTES 4096

struct cs_code_names {
    int fd;
    struct stat was;
    uint64_t names_at, names_size, read;
    bool damaged;
};

int cs_code_names_open(pid_t pid, struct cs_code_names **out)
{
    struct cs_segment_header header;
    struct cs_geometry at;
    char why[CS_WHY_MAX];
    struct cs_code_names *names = calloc(1, sizeof *names);
    if (!names)
        return -ENOMEM;
    names->fd = cs_locate_quickly(pid);
    int rc = names->fd < 0 ? names->fd : 0;
    if (rc == 0 && (fstat(names->fd, &names->was) != 0 || names->was.st_size < 0 ||
                    (uint64_t)names->was.st_size > SEGMENT_MAX ||
                    pread(names->fd, &header, sizeof header, 0) != (ssize_t)sizeof header))
        rc = -EBADMSG;
    if (rc == 0)
        rc = cs_geometry_check(&header, (uint64_t)names->was.st_size, &at, why);
    if (rc == 0 && at.names_size > HEAP_MAX)
        rc = -EBADMSG;
    if (rc < 0) {
        cs_code_names_close(names);
        return rc;
    }
    names->names_at = at.names_at;
    names->names_size = at.names_size;
    *out = names;
    return 0;
}

bool cs_code_names_same(const struct cs_code_names *one, const struct cs_code_names *other)
{
    return one->was.st_dev == other->was.st_dev && one->was.st_ino == other->was.st_ino;
}

/* How far the heap is written. A read(2) after the one of this word sees what was written before it. */
static uint64_t written(const struct cs_code_names *names)
{
    uint64_t used = 0;
    if (pread(names->fd, &used, sizeof used, offsetof(struct cs_segment_header, names_used)) !=
        (ssize_t)sizeof used)
        return 0;
    return used < names->names_size ? used : names->names_size;
}

/* The record at the beginning of `left` bytes; its size, 0 = it isn't there as a whole. */
static uint64_t record(const unsigned char *bytes, size_t left, bool *ask_more,
                       bool (*each)(void *arg, uint64_t start, uint64_t size, const char *name), void *arg)
{
    struct cs_segment_name head;
    struct cs_segment_code code;
    char name[NAME_MAX_BYTES];
    if (left < sizeof head)
        return 0;
    memcpy(&head, bytes, sizeof head);
    const size_t named = CS_SEGMENT_NAME_BYTES(head.length);
    if (head.bytes % 8 != 0 || head.bytes > left || head.bytes < named)
        return 0;
    if (head.bytes == named + sizeof code) {
        memcpy(&code, bytes + named, sizeof code);
        cs_reader_clean_text(name, sizeof name, (const char *)bytes + sizeof head, head.length);
        *ask_more = each(arg, code.start, code.size, name);
    }
    return head.bytes;
}

int cs_code_names_read(struct cs_code_names *names,
                       bool (*each)(void *arg, uint64_t start, uint64_t size, const char *name), void *arg)
{
    const uint64_t end = written(names);
    unsigned char *part = names->read < end && !names->damaged ? malloc(PART_BYTES) : NULL;
    bool ask_more = true;
    while (part && ask_more && names->read < end && !names->damaged) {
        const size_t wanted = end - names->read < PART_BYTES ? (size_t)(end - names->read) : PART_BYTES;
        const ssize_t got = pread(names->fd, part, wanted, (off_t)(names->names_at + names->read));
        size_t at = 0;
        for (uint64_t bytes = 1; ask_more && bytes > 0 && got > 0 && at < (size_t)got; at += bytes)
            bytes = record(part + at, (size_t)got - at, &ask_more, each, arg);
        names->read += at;
        names->damaged = at == 0;
    }
    free(part);
    return names->damaged ? -EBADMSG : 0;
}

void cs_code_names_close(struct cs_code_names *names)
{
    if (!names)
        return;
    if (names->fd >= 0)
        close(names->fd);
    free(names);
}
