/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names by the method's start while a file is read, for methods that were moved. */
#include "sampler/dynamic/jit_dumped.h"

#include "sampler/dynamic/jit_code.h"
#include "sampler/dynamic/jitdump.h"
#include "store/base/clock.h"
#include "store/base/hash_seed.h"
#include "store/base/regular_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#define FILE_MAX (1ULL << 40) /* it holds the code too; only heads and names are read */

/* As the process sees it, or once it has ended as we do. */
static int open_file(const struct cs_jit_dumps *dumps, uid_t user, pid_t pid, uint64_t time_ns)
{
    char path[4200], root[256];
    if (!dumps->maps || !cs_maps_jitdump(dumps->maps, pid, time_ns, path, sizeof path))
        return -1;
    snprintf(root, sizeof root, "%s/%d/root", dumps->proc, (int)pid);
    int fd = cs_open_owned(root, path, FILE_MAX, user);
    return fd >= 0 ? fd : cs_open_owned(NULL, path, FILE_MAX, user);
}

static bool is_made(void *arg, const struct cs_jitdump_record *code)
{
    bool *met = arg;
    *met = code->name != NULL;
    return false;
}

bool cs_jit_dumped_is_there(const struct cs_jit_dumped *d, const struct cs_jit_dumps *dumps, pid_t pid,
                            uint64_t time_ns)
{
    uint64_t at = 0;
    bool met = false;
    int fd = open_file(dumps, d->user, pid, time_ns);
    if (fd < 0)
        return false;
    (void)cs_jitdump_read(fd, &at, is_made, &met);
    close(fd);
    return met;
}

/* Open addressing; the newest of one start wins. */
struct reading {
    struct cs_jit_methods *methods;
    struct cs_jit_kept *kept;
    uint64_t looked_ns, now_ns;
    uint32_t *slots; /* 1 + index of the method */
    size_t n_slots, n_used;
    bool full;
};

static uint32_t *slot_of(const struct reading *r, uint64_t start)
{
    size_t i = XXH3_64bits_withSeed(&start, sizeof start, cs_hash_seed) & (r->n_slots - 1);
    while (r->slots[i] && r->methods->at[r->slots[i] - 1].start != start)
        i = (i + 1) & (r->n_slots - 1);
    return &r->slots[i];
}

static void put(struct reading *r, uint32_t method)
{
    uint32_t *slot = slot_of(r, r->methods->at[method].start);
    r->n_used += *slot == 0;
    if (!*slot || r->methods->at[*slot - 1].line < r->methods->at[method].line)
        *slot = method + 1;
}

/* The table is part of what may be kept: without room for it moved code has no names. */
static void note(struct reading *r, uint32_t method)
{
    if (!r->full && 2 * (r->n_used + 1) > r->n_slots) {
        const size_t n = r->n_slots ? 2 * r->n_slots : 1024;
        r->kept->bytes -= r->n_slots * sizeof *r->slots;
        free(r->slots);
        r->slots = r->kept->bytes + n * sizeof *r->slots > cs_jit_kept_max(r->kept)
                       ? NULL
                       : calloc(n, sizeof *r->slots);
        r->full = !r->slots;
        r->n_slots = r->slots ? n : 0;
        r->kept->bytes += r->n_slots * sizeof *r->slots;
        r->n_used = 0;
        for (uint32_t i = 0; r->slots && i < method; i++)
            put(r, i);
    }
    if (r->slots)
        put(r, method);
}

static bool from_dump(void *arg, const struct cs_jitdump_record *code)
{
    struct reading *r = arg;
    struct cs_jit_methods *methods = r->methods;
    const size_t n = methods->n;
    const struct cs_jit_method *was = NULL;
    long name = -1;
    uint64_t bytes = 0, lines = 0;
    if (code->name) {
        name = cs_jit_methods_text(methods, r->kept, code->name);
        bytes = code->code_at;
        lines = code->lines_at && code->lines_at < bytes ? bytes - code->lines_at : 0;
    } else if (r->slots && *slot_of(r, code->was_start)) {
        was = &methods->at[*slot_of(r, code->was_start) - 1];
        name = (long)was->name;
        bytes = was->code;
        lines = was->lines_back;
    }
    if (name >= 0)
        (void)cs_jit_methods_add(methods, r->kept, code->start, code->size,
                                 code->time_ns && code->time_ns <= r->now_ns ? code->time_ns : r->looked_ns,
                                 (size_t)name);
    if (methods->n > n) {
        methods->at[n].code = bytes;
        methods->at[n].lines_back = lines <= UINT32_MAX ? (uint32_t)lines : 0;
        note(r, (uint32_t)n);
    }
    return !methods->cut;
}

bool cs_jit_dumped_read(struct cs_jit_dumped *d, const struct cs_jit_dumps *dumps, pid_t pid,
                        uint64_t time_ns, uint64_t looked_ns, struct cs_jit_methods *methods,
                        struct cs_jit_kept *kept)
{
    struct reading r = {
        .methods = methods, .kept = kept, .looked_ns = looked_ns, .now_ns = cs_monotonic_ns()};
    int fd = methods->cut ? -1 : open_file(dumps, d->user, pid, time_ns);
    if (fd < 0)
        return false;
    for (size_t i = 0; i < methods->n; i++)
        note(&r, (uint32_t)i);
    const bool is_dump = cs_jitdump_read(fd, &d->at, from_dump, &r) == 0;
    cs_jit_methods_sort(methods);
    free(r.slots);
    kept->bytes -= r.n_slots * sizeof *r.slots;
    close(fd);
    return is_dump;
}

void cs_jit_dumped_close(struct cs_jit_dumped *d)
{
    if (d->file)
        close(d->file - 1);
    d->file = 0;
}

static bool open_for_code(struct cs_jit_dumped *d, const struct cs_jit_dumps *dumps, pid_t pid,
                          uint64_t time_ns)
{
    uint32_t machine = 0; /* behind magic, version and size of the header */
    if (d->file)
        return true;
    int fd = open_file(dumps, d->user, pid, time_ns);
    if (fd < 0)
        return false;
    if (pread(fd, &machine, sizeof machine, 12) != sizeof machine || machine != cs_jit_code_machine()) {
        d->no_code = true;
        close(fd);
        return false;
    }
    d->file = 1 + fd;
    return true;
}

uint8_t *cs_jit_dumped_code(struct cs_jit_dumped *d, const struct cs_jit_dumps *dumps, pid_t pid,
                            uint64_t time_ns, const struct cs_jit_method *method)
{
    if (!method->code || d->no_code || method->size > CS_JIT_CODE_METHOD_MAX ||
        !open_for_code(d, dumps, pid, time_ns))
        return NULL;
    uint8_t *bytes = malloc((size_t)method->size);
    if (bytes &&
        pread(d->file - 1, bytes, (size_t)method->size, (off_t)method->code) == (ssize_t)method->size)
        return bytes;
    free(bytes);
    return NULL;
}

bool cs_jit_dumped_lines(const struct cs_jit_dumped *d, const struct cs_jit_methods *methods,
                         const struct cs_jit_method *method, struct cs_jitdump_lines *lines)
{
    uint8_t head[8], *record;
    uint32_t size = 0; /* behind the record's id */
    const off_t at = (off_t)(method->code - method->lines_back);
    if (!method->lines_back || pread(d->file - 1, head, sizeof head, at) != sizeof head)
        return false;
    memcpy(&size, head + 4, sizeof size);
    if (size > CS_JITDUMP_LINES_RECORD_MAX)
        size = CS_JITDUMP_LINES_RECORD_MAX;
    const ssize_t got = (record = malloc(size)) ? pread(d->file - 1, record, size, at) : -1;
    const bool found = got > 0 && cs_jitdump_lines_read(lines, record, (size_t)got,
                                                        methods->text + method->name, method->size);
    free(record);
    return found;
}
