/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writing the sample log. A chunk is turned into columns of differences before it is compressed. Most become
 * small numbers, and zstd's fastest level is then both quick and dense. */
#include "observer/log/log_head.h"
#include "observer/source/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

#define CHUNK_DEFAULT ((size_t)1 << 20)

struct cs_observe_log {
    struct cs_observe_log_place place; /* first: see cs_observe_log_add */
    struct cs_observe_log_head head;
    unsigned words; /* a record */
    uint64_t *rows, *columns;
    char *packed;
    size_t rows_bytes, packed_bytes;
    ZSTD_CCtx *zstd;
    uint64_t samples, first, covered, writing; /* clock of the first sample; cycles */
    int fd, failed;                            /* errno of the first write that failed */
    char path[256];
};

static int write_all(int fd, const void *from, size_t bytes)
{
    for (const char *at = from; bytes > 0;) {
        ssize_t n = write(fd, at, bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        at += n;
        bytes -= (size_t)n;
    }
    return 0;
}

static void write_chunk(struct cs_observe_log *log, enum cs_observe_log_chunk_kind kind, uint64_t records,
                        const void *raw, size_t raw_bytes)
{
    size_t packed = 0;
    if (raw_bytes) {
        packed = ZSTD_compressCCtx(log->zstd, log->packed, log->packed_bytes, raw, raw_bytes, 1);
        if (ZSTD_isError(packed)) {
            log->failed = log->failed ? log->failed : EIO;
            return;
        }
    }
    struct cs_observe_log_chunk chunk = {CS_OBSERVE_LOG_CHUNK_MAGIC,   kind, records, raw_bytes, packed,
                                         XXH64(log->packed, packed, 0)};
    int rc = log->failed ? 0 : write_all(log->fd, &chunk, sizeof chunk);
    if (rc == 0 && !log->failed)
        rc = write_all(log->fd, log->packed, packed);
    if (rc < 0)
        log->failed = -rc;
}

void cs_observe_log_flush(struct cs_observe_log *log)
{
    size_t records = (size_t)(log->place.next - log->rows) / log->words;
    unsigned words = log->words;
    const uint64_t begin = cs_clock();
    if (records) {
        log->first = log->samples ? log->first : log->rows[0];
        log->covered = *(log->place.next - words) - log->first - log->writing;
    }
    for (unsigned w = 0; w < words; w++) {
        const uint64_t *from = log->rows + w;
        uint64_t *to = log->columns + w * records, before = 0;
        for (size_t i = 0; i < records; i++, from += words) {
            to[i] = *from - before;
            before = *from;
        }
    }
    if (records)
        write_chunk(log, CS_OBSERVE_LOG_SAMPLES, records, log->columns, records * words * sizeof(uint64_t));
    log->samples += records;
    log->place.next = log->rows;
    log->writing += cs_clock() - begin;
}

static void *touched(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (at == MAP_FAILED)
        return NULL;
    mlock(at, bytes);
    return at;
}

static int write_head(const struct cs_observe_log *log)
{
    const struct cs_observe_log_head *h = &log->head;
    struct cs_observe_log_file_head file;
    memcpy(file.numbers, h, sizeof file.numbers);
    memcpy(file.tags, h->tags, sizeof file.tags);
    memcpy(file.counters, h->counters, sizeof file.counters);
    memcpy(file.further, h->tags[CS_OBSERVE_LOG_TAGS_1], sizeof file.further);
    return write_all(log->fd, &file, h->head_bytes);
}

int cs_observe_log_create(const char *path, const struct cs_observe_log_head *head, size_t chunk_bytes,
                          struct cs_observe_log **out, struct cs_error *err)
{
    struct cs_observe_log *log = calloc(1, sizeof *log);
    if (!log)
        return cs_fail(err, ENOMEM, "no memory for the log");
    log->fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
    if (log->fd < 0) {
        int code = errno;
        free(log);
        return cs_fail(err, code, "cannot create the log %s: %s", path, strerror(code));
    }
    snprintf(log->path, sizeof log->path, "%s", path);
    log->head = *head;
    log->head.magic = CS_OBSERVE_LOG_MAGIC;
    log->head.version = head->n_tags > CS_OBSERVE_LOG_TAGS_1 ? CS_OBSERVE_LOG_VERSION : 1;
    log->head.head_bytes =
        log->head.version > 1 ? sizeof(struct cs_observe_log_file_head) : CS_OBSERVE_LOG_HEAD_1;
    log->words = 2 + (head->follow ? 1u : 0u) + head->n_software + head->n_hardware + head->n_tags;
    size_t record = log->words * sizeof(uint64_t),
           records = (chunk_bytes ? chunk_bytes : CHUNK_DEFAULT) / record;
    records = records ? records : 1;
    log->rows_bytes = records * record;
    log->packed_bytes = ZSTD_compressBound(log->rows_bytes);
    log->rows = touched(log->rows_bytes);
    log->columns = touched(log->rows_bytes);
    log->packed = touched(log->packed_bytes);
    log->zstd = ZSTD_createCCtx();
    int rc = write_head(log);
    if (!log->rows || !log->columns || !log->packed || !log->zstd || rc < 0) {
        rc = rc < 0
                 ? cs_fail(err, -rc, "cannot write the log %s: %s", path, strerror(-rc))
                 : cs_fail(err, ENOMEM, "no memory for the log's buffers (%zu bytes)", 3 * log->rows_bytes);
        cs_observe_log_close(log);
        return rc;
    }
    log->place.next = log->rows;
    log->place.end = log->rows + records * log->words;
    *out = log;
    return 0;
}

int cs_observe_log_name(struct cs_observe_log *log, unsigned tag, uint64_t value, const char *name,
                        struct cs_error *err)
{
    size_t length = strlen(name), bytes = 24 + ((length + 8) & ~(size_t)7);
    uint64_t record[64] = {bytes, tag, value};
    if (bytes > sizeof record)
        return cs_fail(err, EINVAL, "the name of tag value %llu is longer than 480 bytes",
                       (unsigned long long)value);
    memcpy(record + 3, name, length);
    if (log->place.next != log->rows)
        cs_observe_log_flush(log);
    write_chunk(log, CS_OBSERVE_LOG_NAMES, 1, record, bytes);
    return 0;
}

int cs_observe_log_finish(struct cs_observe_log *log, struct cs_error *err)
{
    cs_observe_log_flush(log);
    write_chunk(log, CS_OBSERVE_LOG_END, log->samples, NULL, 0);
    if (log->failed)
        return cs_fail(err, log->failed, "the log %s is incomplete: %s; what was written before is readable",
                       log->path, strerror(log->failed));
    return 0;
}

uint64_t cs_observe_log_covered(const struct cs_observe_log *log, uint64_t *first)
{
    *first = log->first;
    return log->covered;
}

uint64_t cs_observe_log_samples(const struct cs_observe_log *log)
{
    return log->samples;
}

void cs_observe_log_close(struct cs_observe_log *log)
{
    if (!log)
        return;
    if (log->rows)
        munmap(log->rows, log->rows_bytes);
    if (log->columns)
        munmap(log->columns, log->rows_bytes);
    if (log->packed)
        munmap(log->packed, log->packed_bytes);
    ZSTD_freeCCtx(log->zstd);
    close(log->fd);
    free(log);
}
