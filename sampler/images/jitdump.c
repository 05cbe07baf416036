/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Only heads and names are read; the code itself, most of the file, is passed over. */
#include "sampler/images/jitdump.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC 0x4A695444U /* "JiTD" */
#define NAME_MAX_BYTES 512
#define HEADER_MAX 4096
#define RECORDS_MAX 200000 /* a call: some 0.2 s */

enum record_id { CODE_LOAD = 0, CODE_MOVE = 1 };

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
struct record {
    struct prefix prefix;
    union {
        struct load load;
        struct move move;
    };
};

static int read_header(int fd, uint64_t *at)
{
    struct header h;
    ssize_t got = pread(fd, &h, sizeof h, 0);
    if (got < 0)
        return -errno;
    if (got < (ssize_t)sizeof h)
        return -EAGAIN;
    if (h.magic != MAGIC || h.total_size < sizeof h || h.total_size > HEADER_MAX)
        return -EBADMSG;
    *at = h.total_size;
    return 0;
}

static bool hand_on(int fd, uint64_t at, const struct record *r,
                    bool (*each)(void *arg, const struct cs_jitdump_record *code), void *arg)
{
    char name[NAME_MAX_BYTES];
    size_t head = sizeof r->prefix + sizeof r->load;
    if (r->prefix.id == CODE_MOVE && r->prefix.total_size >= sizeof r->prefix + sizeof r->move)
        return each(arg, &(struct cs_jitdump_record){r->move.new_code_addr, r->move.code_size, NULL,
                                                     r->move.old_code_addr});
    if (r->prefix.id != CODE_LOAD || r->prefix.total_size <= head)
        return true;
    size_t most = r->prefix.total_size - head;
    if (most > sizeof name - 1)
        most = sizeof name - 1;
    ssize_t got = pread(fd, name, most, (off_t)(at + head));
    name[got > 0 ? got : 0] = '\0';
    return each(arg, &(struct cs_jitdump_record){r->load.code_addr, r->load.code_size, name, 0});
}

int cs_jitdump_read(int fd, uint64_t *at, bool (*each)(void *arg, const struct cs_jitdump_record *code),
                    void *arg)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return -errno;
    if (*at == 0) {
        int rc = read_header(fd, at);
        if (rc < 0)
            return rc == -EAGAIN ? 0 : rc;
    }
    unsigned records = RECORDS_MAX;
    for (uint64_t size = (uint64_t)st.st_size;;) {
        struct record r = {.prefix = {.id = 0}};
        ssize_t got = pread(fd, &r, sizeof r, (off_t)*at);
        if (got < 0)
            return -errno;
        if (got < (ssize_t)sizeof r.prefix || r.prefix.total_size == 0)
            return 0; /* the end, for now */
        if (r.prefix.total_size < sizeof r.prefix)
            return -EBADMSG;
        if (*at + r.prefix.total_size > size)
            return 0; /* still being written */
        bool more = hand_on(fd, *at, &r, each, arg) && --records > 0;
        *at += r.prefix.total_size;
        if (!more)
            return 0;
    }
}
