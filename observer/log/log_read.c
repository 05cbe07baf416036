/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading the sample log (LOG.md). Nothing in a file is trusted: sizes are checked before memory is taken. */
#include "observer/log/log_head.h"
#include "store/base/array.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>
#include <zstd.h>

#define CHUNK_MAX ((uint64_t)1 << 30) /* bytes, unpacked */

struct named {
    unsigned tag;
    uint64_t value;
    char *text;
};

struct cs_observe_log_reader {
    FILE *file;
    uint64_t file_bytes;
    char path[256];
    struct cs_observe_log_head head;
    unsigned words;
    uint64_t *columns; /* of the current chunk, turned back into values */
    size_t columns_bytes;
    void *packed;
    size_t packed_bytes;
    uint64_t records, at, samples;
    bool ended, cut;
    CS_ARRAY(struct named) names;
};

static int damaged(const struct cs_observe_log_reader *r, const char *what, struct cs_error *err)
{
    return cs_fail(err, EBADMSG, "the log %s is damaged at byte %ld: %s", r->path, ftell(r->file), what);
}

static bool zero_terminated(const char *text, size_t size)
{
    return memchr(text, '\0', size) != NULL;
}

/* False where the file is too short. What a head of version 1 lacks is empty. */
static bool read_head(struct cs_observe_log_reader *r)
{
    struct cs_observe_log_file_head file = {0};
    struct cs_observe_log_head *h = &r->head;
    if (fread(&file, 1, CS_OBSERVE_LOG_HEAD_1, r->file) != CS_OBSERVE_LOG_HEAD_1)
        return false;
    memcpy(h, file.numbers, sizeof file.numbers);
    if (h->version > 1 && fread(file.further, 1, sizeof file.further, r->file) != sizeof file.further)
        return false;
    memcpy(h->tags, file.tags, sizeof file.tags);
    memcpy(h->tags[CS_OBSERVE_LOG_TAGS_1], file.further, sizeof file.further);
    memcpy(h->counters, file.counters, sizeof file.counters);
    return true;
}

static int check_head(struct cs_observe_log_reader *r, struct cs_error *err)
{
    const struct cs_observe_log_head *h = &r->head;
    const size_t bytes = h->version > 1 ? sizeof(struct cs_observe_log_file_head) : CS_OBSERVE_LOG_HEAD_1;
    if (h->magic != CS_OBSERVE_LOG_MAGIC)
        return cs_fail(err, EBADMSG, "%s is not a sample log", r->path);
    if (h->version < 1 || h->version > CS_OBSERVE_LOG_VERSION || h->head_bytes < bytes ||
        h->head_bytes > 1 << 20)
        return cs_fail(err, EBADMSG, "%s is a sample log of version %u; this program reads versions 1 to %d",
                       r->path, h->version, CS_OBSERVE_LOG_VERSION);
    bool sane = h->n_tags <= (h->version > 1 ? CS_TAGS_MAX : CS_OBSERVE_LOG_TAGS_1) &&
                h->n_software <= CS_COUNTERS_MAX && h->n_hardware <= CS_COUNTERS_MAX &&
                h->n_software + h->n_hardware <= CS_COUNTERS_MAX && h->follow <= 1 &&
                h->cycles_per_second > 0 && zero_terminated(h->program, sizeof h->program);
    for (unsigned t = 0; sane && t < CS_TAGS_MAX; t++)
        sane = zero_terminated(h->tags[t], sizeof h->tags[t]);
    for (unsigned c = 0; sane && c < CS_COUNTERS_MAX; c++)
        sane = zero_terminated(h->counters[c], sizeof h->counters[c]);
    return sane ? 0 : damaged(r, "impossible head", err);
}

int cs_observe_log_open(const char *path, struct cs_observe_log_reader **out, struct cs_error *err)
{
    struct cs_observe_log_reader *r = calloc(1, sizeof *r);
    if (!r)
        return cs_fail(err, ENOMEM, "no memory to read the log %s", path);
    snprintf(r->path, sizeof r->path, "%s", path);
    r->file = fopen(path, "rbe");
    int rc = 0;
    if (!r->file)
        rc = cs_fail(err, errno, "cannot open the log %s: %s", path, strerror(errno));
    else if (!read_head(r))
        rc = cs_fail(err, EBADMSG, "%s is not a sample log: it is too short", path);
    else
        rc = check_head(r, err);
    if (rc == 0 && fseek(r->file, (long)r->head.head_bytes, SEEK_SET) < 0)
        rc = cs_fail(err, errno, "cannot read the log %s: %s", path, strerror(errno));
    if (rc < 0) {
        cs_observe_log_reader_close(r);
        return rc;
    }
    struct stat st;
    r->file_bytes = fstat(fileno(r->file), &st) == 0 && st.st_size > 0 ? (uint64_t)st.st_size : 0;
    r->words = 2 + r->head.follow + r->head.n_software + r->head.n_hardware + r->head.n_tags;
    *out = r;
    return 0;
}

static int capacity(void **at, size_t *have, uint64_t wanted)
{
    if (wanted <= *have)
        return 0;
    void *more = realloc(*at, wanted);
    if (!more)
        return -ENOMEM;
    *at = more;
    *have = wanted;
    return 0;
}

/* Reads and unpacks a chunk's body into `columns`. */
static int unpack(struct cs_observe_log_reader *r, const struct cs_observe_log_chunk *c, struct cs_error *err)
{
    if (c->raw_bytes > CHUNK_MAX || c->packed_bytes > ZSTD_compressBound(c->raw_bytes) + 64)
        return damaged(r, "impossible chunk size", err);
    if (capacity(&r->packed, &r->packed_bytes, c->packed_bytes) < 0 ||
        capacity((void **)&r->columns, &r->columns_bytes, c->raw_bytes) < 0)
        return cs_fail(err, ENOMEM, "no memory to read the log %s", r->path);
    if (fread(r->packed, 1, c->packed_bytes, r->file) != c->packed_bytes)
        return 1;
    if (XXH64(r->packed, c->packed_bytes, 0) != c->hash)
        return damaged(r, "checksum of a chunk is wrong", err);
    size_t n = ZSTD_decompress(r->columns, c->raw_bytes, r->packed, c->packed_bytes);
    if (ZSTD_isError(n) || n != c->raw_bytes)
        return damaged(r, "a chunk cannot be unpacked", err);
    return 0;
}

static int take_names(struct cs_observe_log_reader *r, const struct cs_observe_log_chunk *c,
                      struct cs_error *err)
{
    const char *at = (const char *)r->columns, *end = at + c->raw_bytes;
    for (uint64_t i = 0; i < c->records; i++) {
        uint64_t head[3];
        if ((size_t)(end - at) < sizeof head)
            return damaged(r, "a name is cut off", err);
        memcpy(head, at, sizeof head);
        if (head[0] < 32 || head[0] > (uint64_t)(end - at) || head[1] >= CS_TAGS_MAX ||
            !zero_terminated(at + 24, head[0] - 24))
            return damaged(r, "impossible name", err);
        char *text = strdup(at + 24);
        struct named *one = text ? cs_array_add(&r->names) : NULL;
        if (!one) {
            free(text);
            return cs_fail(err, ENOMEM, "no memory to read the log %s", r->path);
        }
        *one = (struct named){(unsigned)head[1], head[2], text};
        at += head[0];
    }
    return 0;
}

static int take_samples(struct cs_observe_log_reader *r, const struct cs_observe_log_chunk *c,
                        struct cs_error *err)
{
    if (c->records == 0 || c->raw_bytes / 8 / r->words != c->records || c->raw_bytes % (8 * r->words))
        return damaged(r, "a chunk's size does not fit its number of samples", err);
    for (unsigned w = 0; w < r->words; w++) {
        uint64_t *column = r->columns + w * c->records, sum = 0;
        for (uint64_t i = 0; i < c->records; i++)
            column[i] = sum += column[i];
    }
    r->records = c->records;
    r->at = 0;
    return 0;
}

/* The next chunk of samples; sets `ended` at the end. */
static int next_chunk(struct cs_observe_log_reader *r, struct cs_error *err)
{
    r->records = r->at = 0;
    while (!r->ended && r->records == 0) {
        struct cs_observe_log_chunk c;
        size_t n = fread(&c, 1, sizeof c, r->file);
        if (n != sizeof c) {
            r->ended = r->cut = true;
            return 0;
        }
        if (c.magic != CS_OBSERVE_LOG_CHUNK_MAGIC)
            return damaged(r, "no chunk starts here", err);
        int rc = unpack(r, &c, err);
        if (rc > 0) {
            r->ended = r->cut = true;
            return 0;
        }
        if (rc == 0 && c.kind == CS_OBSERVE_LOG_SAMPLES)
            rc = take_samples(r, &c, err);
        else if (rc == 0 && c.kind == CS_OBSERVE_LOG_NAMES)
            rc = take_names(r, &c, err);
        else if (rc == 0 && c.kind == CS_OBSERVE_LOG_END) {
            r->ended = true;
            if (c.records != r->samples)
                rc = damaged(r, "the end mark counts other samples than there are", err);
        }
        if (rc < 0)
            return rc;
    }
    return 0;
}

int cs_observe_log_skip_to_names(struct cs_observe_log_reader *r, struct cs_error *err)
{
    struct cs_observe_log_chunk c;
    struct cs_error damage;
    while (fread(&c, 1, sizeof c, r->file) == sizeof c && c.magic == CS_OBSERVE_LOG_CHUNK_MAGIC &&
           c.kind != CS_OBSERVE_LOG_END) {
        int rc = 0;
        if (c.kind != CS_OBSERVE_LOG_NAMES)
            rc = c.packed_bytes > r->file_bytes || fseek(r->file, (long)c.packed_bytes, SEEK_CUR) < 0;
        else if ((rc = unpack(r, &c, &damage)) == 0)
            rc = take_names(r, &c, &damage);
        if (rc == -ENOMEM)
            return cs_fail(err, ENOMEM, "no memory for the names in the log %s", r->path);
        if (rc)
            break;
    }
    return 0;
}

int cs_observe_log_next(struct cs_observe_log_reader *r, struct cs_sample *s, bool *after_gap,
                        struct cs_error *err)
{
    *after_gap = false;
    if (r->at == r->records) {
        int rc = next_chunk(r, err);
        if (rc < 0)
            return rc;
        if (r->ended)
            return 0;
        *after_gap = true;
    }
    const uint64_t *at = r->columns + r->at++;
    uint64_t step = r->records;
    memset(s, 0, sizeof *s);
    s->start = *at;
    at += step;
    s->end = s->start + (uint32_t)*at;
    s->complete = *at >> 32 & 1;
    s->descheduled = *at >> 33 & 1;
    at += step;
    if (r->head.follow) {
        s->thread_id = *at;
        at += step;
    }
    for (unsigned c = 0; c < r->head.n_software + r->head.n_hardware; c++, at += step)
        s->counters[c] = *at;
    for (unsigned t = 0; t < r->head.n_tags; t++, at += step)
        s->tags[t] = *at;
    r->samples++;
    return 1;
}

const struct cs_observe_log_head *cs_observe_log_reader_head(const struct cs_observe_log_reader *r)
{
    return &r->head;
}

void cs_observe_log_reader_place(const struct cs_observe_log_reader *r, uint64_t *done, uint64_t *total)
{
    long at = ftell(r->file);
    *total = r->file_bytes;
    *done = at < 0 ? 0 : (uint64_t)at < *total ? (uint64_t)at : *total;
}

bool cs_observe_log_cut_short(const struct cs_observe_log_reader *r)
{
    return r->cut;
}

size_t cs_observe_log_reader_names(const struct cs_observe_log_reader *r)
{
    return r->names.n;
}

const char *cs_observe_log_reader_name(const struct cs_observe_log_reader *r, size_t i, unsigned *tag,
                                       uint64_t *value)
{
    assert(i < r->names.n);
    *tag = r->names.at[i].tag;
    *value = r->names.at[i].value;
    return r->names.at[i].text;
}

const char *cs_observe_log_reader_name_of(const struct cs_observe_log_reader *r, unsigned tag, uint64_t value)
{
    for (size_t i = r->names.n; i-- > 0;)
        if (r->names.at[i].tag == tag && r->names.at[i].value == value)
            return r->names.at[i].text;
    return NULL;
}

void cs_observe_log_reader_close(struct cs_observe_log_reader *r)
{
    if (!r)
        return;
    if (r->file)
        fclose(r->file);
    for (size_t i = 0; i < r->names.n; i++)
        free(r->names.at[i].text);
    cs_array_free(&r->names);
    free(r->columns);
    free(r->packed);
    free(r);
}
