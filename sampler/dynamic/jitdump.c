/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Only heads and names are read; the code itself, most of the file, is passed over. */
#include "sampler/dynamic/jitdump.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC 0x4A695444U /* "JiTD" */
#define NAME_MAX_BYTES 512
#define HEADER_MAX 4096
#define RECORDS_MAX 1000000          /* a call: some 0.2 s */
#define READ_MAX ((size_t)512 << 20) /* bytes a call: the same */
#define PART 16384
#define ARCH_TIMESTAMP 1     /* of the header's flags: times aren't the monotonic clock's */
#define KEPT_BACK (1u << 20) /* bytes that are read again, so that a method's lines are met with it */

enum record_id { CODE_LOAD = 0, CODE_MOVE = 1, DEBUG_INFO = 2 };

struct header {
    uint32_t magic, version, total_size, elf_machine, padding, pid;
    uint64_t timestamp, flags;
};
struct prefix {
    uint32_t id, total_size;
    uint64_t timestamp;
};
struct load {
    uint32_t pid, tid;
    uint64_t vma, code_addr, code_size, code_index;
};
struct move {
    uint32_t pid, tid;
    uint64_t vma, old_code_addr, new_code_addr, code_size, code_index;
};
struct lines {
    uint64_t code_addr, rows;
};
struct record {
    struct prefix prefix;
    union {
        struct load load;
        struct move move;
        struct lines lines;
    };
};

/* The last record of lines; its method comes next. `at` 0: none. */
struct lines_met {
    uint64_t at, code_addr;
};

static int read_header(int fd, uint64_t *at, bool *timed)
{
    struct header h;
    ssize_t got = pread(fd, &h, sizeof h, 0);
    if (got < 0)
        return -errno;
    if (got < (ssize_t)sizeof h)
        return -EAGAIN;
    if (h.magic != MAGIC || h.total_size < sizeof h || h.total_size > HEADER_MAX)
        return -EBADMSG;
    *at = *at ? *at : h.total_size;
    *timed = !(h.flags & ARCH_TIMESTAMP);
    return 0;
}

/* A part of the file: a method is some hundred bytes, so that one read has the heads of many. */
struct part {
    int fd;
    uint64_t at;
    ssize_t bytes;
    size_t read; /* in all */
    char data[PART];
};

/* Up to `size` bytes of the file from `at` on; what read(2) says. */
static ssize_t fetch(struct part *p, uint64_t at, void *out, size_t size)
{
    if (at < p->at || at + size > p->at + (uint64_t)p->bytes) {
        p->bytes = pread(p->fd, p->data, sizeof p->data, (off_t)at);
        if (p->bytes < 0)
            return p->bytes = 0, -errno;
        p->at = at;
        p->read += (size_t)p->bytes;
    }
    const uint64_t there = p->at + (uint64_t)p->bytes - at;
    size = size < there ? size : (size_t)there;
    memcpy(out, p->data + (at - p->at), size);
    return (ssize_t)size;
}

static bool hand_on(struct part *part, uint64_t at, const struct record *r, struct lines_met *lines,
                    bool timed, bool (*each)(void *arg, const struct cs_jitdump_record *code), void *arg)
{
    char name[NAME_MAX_BYTES];
    size_t head = sizeof r->prefix + sizeof r->load;
    const struct lines_met met = *lines;
    const uint64_t time_ns = timed ? r->prefix.timestamp : 0;
    if (r->prefix.id == DEBUG_INFO && r->prefix.total_size >= sizeof r->prefix + sizeof r->lines) {
        *lines = (struct lines_met){at, r->lines.code_addr};
        return true;
    }
    if (r->prefix.id == CODE_LOAD || r->prefix.id == CODE_MOVE)
        lines->at = 0;
    if (r->prefix.id == CODE_MOVE && r->prefix.total_size >= sizeof r->prefix + sizeof r->move)
        return each(arg, &(struct cs_jitdump_record){r->move.new_code_addr, r->move.code_size, time_ns, NULL,
                                                     r->move.old_code_addr, 0, 0});
    if (r->prefix.id != CODE_LOAD || r->prefix.total_size <= head)
        return true;
    size_t most = r->prefix.total_size - head;
    if (most > sizeof name - 1)
        most = sizeof name - 1;
    ssize_t got = fetch(part, at + head, name, most);
    name[got > 0 ? got : 0] = '\0';
    const size_t rest =
        r->prefix.total_size - head; /* the name and the code, the file's last bytes of the record */
    const uint64_t code_at = r->load.code_size < rest ? at + r->prefix.total_size - r->load.code_size : 0;
    return each(arg, &(struct cs_jitdump_record){r->load.code_addr, r->load.code_size, time_ns, name, 0,
                                                 code_at, met.code_addr == r->load.code_addr ? met.at : 0});
}

int cs_jitdump_read(int fd, uint64_t *at, bool (*each)(void *arg, const struct cs_jitdump_record *code),
                    void *arg)
{
    assert(fd >= 0 && each);
    struct stat st;
    if (fstat(fd, &st) != 0)
        return -errno;
    bool timed = false;
    int rc = read_header(fd, at, &timed);
    if (rc < 0)
        return rc == -EAGAIN ? 0 : rc;
    unsigned records = RECORDS_MAX;
    struct part part = {.fd = fd};
    struct lines_met lines = {0, 0};
    for (const uint64_t size = (uint64_t)st.st_size;;) {
        struct record r = {.prefix = {.id = 0}};
        ssize_t got = fetch(&part, *at, &r, sizeof r);
        if (got < 0)
            return (int)got;
        if (got < (ssize_t)sizeof r.prefix || r.prefix.total_size == 0)
            break; /* the end, for now */
        if (r.prefix.total_size < sizeof r.prefix) {
            rc = -EBADMSG;
            break;
        }
        if (*at + r.prefix.total_size > size)
            break; /* still being written */
        bool more =
            hand_on(&part, *at, &r, &lines, timed, each, arg) && --records > 0 && part.read < READ_MAX;
        *at += r.prefix.total_size;
        if (!more)
            break;
    }
    if (lines.at && *at - lines.at <= KEPT_BACK)
        *at = lines.at;
    return rc;
}
