/* SPDX-License-Identifier: GPL-2.0-or-later */
/* perf.data from its header or pipe on: features, what each record is for, and the order by time.
 *
 * Order: perf writes the buffers of all CPUs one after the other and a FINISHED_ROUND after each turn.
 * Nothing to come precedes what is older than the newest record of the round before the last mark (perf's
 * ordered-events rule). So a heap of two rounds is all that is kept. Files without times pass straight
 * through. */
#include "exchange/import/perfdata_internal.h"
#include "store/base/array.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <zstd.h>

int(cs_perfdata_malformed)(const struct cs_perfdata *in, struct cs_error *err, const char *what)
{
    return cs_fail(err, EBADMSG,
                   "%s: not a perf.data file that can be trusted: %s near byte %" PRIu64
                   "; nothing was imported",
                   in->name, what, in->position);
}

int cs_perfdata_no_memory(const struct cs_perfdata *in, struct cs_error *err)
{
    return cs_fail(err, ENOMEM, "%s: out of memory near byte %" PRIu64, in->name, in->position);
}

static int read_section(struct cs_perfdata *in, uint64_t offset, uint64_t size, uint8_t **out,
                        struct cs_error *err)
{
    enum { SECTION_MAX = 256 << 20 };
    in->position = offset;
    if (size > SECTION_MAX)
        return cs_perfdata_malformed(in, err, "a section is implausibly large");
    if (offset > INT64_MAX || fseeko(in->file, 0, SEEK_END) != 0 ||
        (uint64_t)ftello(in->file) < offset + size)
        return cs_perfdata_malformed(in, err, "a section lies outside the file");
    uint8_t *bytes = malloc(size ? size : 1);
    if (!bytes)
        return cs_perfdata_no_memory(in, err);
    if (fseeko(in->file, (off_t)offset, SEEK_SET) != 0 || fread(bytes, 1, size, in->file) != size) {
        free(bytes);
        return cs_perfdata_malformed(in, err, "a section can't be read");
    }
    *out = bytes;
    return 0;
}

/* ---- the header of a file ---- */

static int read_attrs(struct cs_perfdata *in, const uint8_t *header, struct cs_error *err)
{
    uint64_t entry = load64(in, header + 16), offset = load64(in, header + 24),
             size = load64(in, header + 32);
    if (entry < 64 + 16 || entry > 4096)
        return cs_perfdata_malformed(in, err, "the size of its event attributes is impossible");
    uint8_t *table = NULL;
    int rc = read_section(in, offset, size, &table, err);
    for (uint64_t i = 0; rc == 0 && i + entry <= size; i += entry) {
        unsigned event;
        const uint8_t *ids = table + i + entry - 16;
        uint8_t *list = NULL;
        uint64_t ids_size = load64(in, ids + 8);
        rc = cs_perfdata_add_attr(in, table + i, entry - 16, &event, err);
        if (rc == 0)
            rc = read_section(in, load64(in, ids), ids_size, &list, err);
        for (uint64_t k = 0; rc == 0 && k + 8 <= ids_size; k += 8)
            rc = cs_perfdata_add_id(in, load64(in, list + k), event, err);
        free(list);
    }
    free(table);
    if (rc == 0 && in->n_events == 0)
        return cs_perfdata_malformed(in, err, "it describes no event");
    return rc;
}

static int read_features(struct cs_perfdata *in, const uint8_t *header, uint64_t table_at,
                         struct cs_error *err)
{
    /* The bitmap was written as an array of unsigned long: in a swapped file 64 bits at a time, in files of
     * 32-bit writers 32 bits at a time; the build-id and event bits are all in the first word either way. */
    uint64_t bits[FEATURES / 64];
    for (unsigned i = 0; i < FEATURES / 64; i++)
        bits[i] = load64(in, header + 72 + 8 * i);
    unsigned n = 0;
    for (unsigned feature = 0; feature < FEATURES; feature++) {
        if (!(bits[feature / 64] >> (feature % 64) & 1))
            continue;
        uint8_t *where = NULL, *bytes = NULL;
        int rc = read_section(in, table_at + 16 * (uint64_t)n++, 16, &where, err);
        bool wanted = feature == FEATURE_BUILD_ID || feature == FEATURE_HOSTNAME || feature == FEATURE_ARCH ||
                      feature == FEATURE_EVENT_DESC || feature == FEATURE_RELEASE ||
                      feature == FEATURE_CPUID || feature == FEATURE_CPU_DESCRIPTION;
        uint64_t size = 0;
        if (rc == 0 && wanted) {
            size = load64(in, where + 8);
            rc = read_section(in, load64(in, where), size, &bytes, err);
        }
        if (rc == 0 && wanted)
            rc = cs_perfdata_feature(in, feature, bytes, size, err);
        free(where);
        free(bytes);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int open_file(struct cs_perfdata *in, uint8_t header[104], struct cs_error *err)
{
    in->position = 16;
    if (fread(header + 16, 1, 104 - 16, in->file) != 104 - 16)
        return cs_perfdata_malformed(in, err, "the file ends inside its header");
    uint64_t data_at = load64(in, header + 40), data_size = load64(in, header + 48);
    int rc = read_attrs(in, header, err);
    /* A recording that was killed has a data size of zero and no features: take what is there. */
    if (rc == 0 && (fseeko(in->file, 0, SEEK_END) != 0 || data_at > INT64_MAX))
        return cs_perfdata_malformed(in, err, "its data section lies outside the file");
    uint64_t file_bytes = (uint64_t)ftello(in->file);
    if (rc == 0 && (data_at > file_bytes || data_size > file_bytes - data_at))
        return cs_perfdata_malformed(in, err, "its data section lies outside the file");
    if (rc == 0 && data_size == 0)
        data_size = file_bytes - data_at;
    else if (rc == 0)
        rc = read_features(in, header, data_at + data_size, err);
    if (rc == 0 && fseeko(in->file, (off_t)data_at, SEEK_SET) != 0)
        return cs_perfdata_malformed(in, err, "its data section can't be reached");
    in->data_left = data_size;
    in->position = data_at;
    return rc;
}

int cs_perfdata_open(FILE *file, const char *name, struct cs_perfdata **out, struct cs_error *err)
{
    assert(file && name);
    static const char magic[] = "PERFILE2", swapped[] = "2ELIFREP";
    uint8_t header[104];
    struct cs_perfdata *in = calloc(1, sizeof *in);
    if (!in)
        return cs_fail(err, ENOMEM, "%s: out of memory", name);
    in->file = file;
    in->name = name;
    in->frame = malloc(RECORD_MAX);
    in->chain = malloc(RECORD_MAX);
    in->branches = malloc(RECORD_MAX);
    int rc = 0;
    if (!in->frame || !in->chain || !in->branches) {
        rc = cs_perfdata_no_memory(in, err);
        goto out;
    }
    if (fread(header, 1, 16, file) != 16 ||
        (memcmp(header, magic, 8) != 0 && memcmp(header, swapped, 8) != 0)) {
        rc = cs_fail(err, EBADMSG,
                     "%s: not a perf.data file (it doesn't begin with %s); record one with perf record", name,
                     magic);
        goto out;
    }
    in->swapped = memcmp(header, swapped, 8) == 0;
    uint64_t size = load64(in, header + 8);
    if (size == 16) {
        in->piped = true;
        in->position = 16;
    } else if (size == 104) {
        rc = open_file(in, header, err);
    } else {
        rc = cs_perfdata_malformed(in, err, "its header has an unknown size");
    }
out:
    if (rc < 0) {
        cs_perfdata_close(in);
        return rc;
    }
    *out = in;
    return 0;
}

void cs_perfdata_close(struct cs_perfdata *in)
{
    if (!in)
        return;
    for (size_t i = 0; i < in->n_build_ids; i++)
        free(in->build_ids[i].path);
    for (size_t i = 0; i < in->n_heap; i++)
        free(in->heap[i].bytes);
    ZSTD_freeDCtx(in->zstd);
    free(in->build_ids);
    free(in->events);
    free(in->ids);
    free(in->plain);
    free(in->heap);
    free(in->frame);
    free(in->delivered);
    free(in->chain);
    free(in->branches);
    free(in);
}

static int piped_attr(struct cs_perfdata *in, const uint8_t *record, size_t size, struct cs_error *err)
{
    unsigned event;
    if (size < RECORD_HEADER + 64)
        return cs_perfdata_malformed(in, err, "an event attribute is too short");
    size_t attr_bytes = load32(in, record + RECORD_HEADER + 4);
    if (attr_bytes == 0)
        attr_bytes = 64; /* the first version left its size empty */
    if (attr_bytes < 64 || attr_bytes > size - RECORD_HEADER)
        return cs_perfdata_malformed(in, err, "an event attribute has an impossible size");
    int rc = cs_perfdata_add_attr(in, record + RECORD_HEADER, attr_bytes, &event, err);
    for (size_t at = RECORD_HEADER + attr_bytes; rc == 0 && at + 8 <= size; at += 8)
        rc = cs_perfdata_add_id(in, load64(in, record + at), event, err);
    return rc;
}

/* ---- order ---- */

static bool before(const struct queued *a, const struct queued *b)
{
    return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->sequence < b->sequence;
}

static int push(struct cs_perfdata *in, uint64_t time_ns, const uint8_t *record, size_t size,
                struct cs_error *err)
{
    if (cs_array_room(in->heap, in->n_heap, in->heap_capacity) < 0)
        return cs_perfdata_no_memory(in, err);
    uint8_t *copy = malloc(size);
    if (!copy)
        return cs_perfdata_no_memory(in, err);
    memcpy(copy, record, size);
    struct queued item = {time_ns, in->sequence++, copy};
    size_t i = in->n_heap++;
    for (; i > 0 && before(&item, &in->heap[(i - 1) / 2]); i = (i - 1) / 2)
        in->heap[i] = in->heap[(i - 1) / 2];
    in->heap[i] = item;
    in->heap_bytes += size;
    return 0;
}

static uint8_t *pop(struct cs_perfdata *in)
{
    uint8_t *top = in->heap[0].bytes;
    in->heap_bytes -= load16(in, top + 6);
    struct queued item = in->heap[--in->n_heap];
    size_t i = 0, child;
    while ((child = 2 * i + 1) < in->n_heap) {
        if (child + 1 < in->n_heap && before(&in->heap[child + 1], &in->heap[child]))
            child++;
        if (!before(&in->heap[child], &item))
            break;
        in->heap[i] = in->heap[child];
        i = child;
    }
    if (in->n_heap)
        in->heap[i] = item;
    return top;
}

/* Takes one frame from the input. 1 when it may have made something deliverable, 0 at the end. */
static int take_frame(struct cs_perfdata *in, struct cs_error *err)
{
    const uint8_t *record = NULL;
    int rc = cs_perfdata_frame(in, &record, err);
    if (rc <= 0)
        return rc;
    size_t size = load16(in, record + 6);
    uint32_t type = load32(in, record);
    if (type > 0 && type < RECORD_KERNEL_END) {
        uint64_t time_ns = cs_perfdata_record_time(in, record);
        if (time_ns == UINT64_MAX)
            time_ns = 0;
        if (time_ns > in->newest_ns)
            in->newest_ns = time_ns;
        /* Records without a time (or of another clock's start) keep their place: as late as what stands
         * before. */
        rc = push(in, time_ns ? time_ns : in->newest_ns, record, size, err);
        return rc < 0 ? rc : 1;
    }
    if ((type == RECORD_COMPRESSED || type == RECORD_COMPRESSED2) && record != in->frame)
        return cs_perfdata_malformed(in, err, "a compressed record lies inside another");
    switch (type) {
    case RECORD_ATTR:
        rc = piped_attr(in, record, size, err);
        break;
    case RECORD_BUILD_ID:
        rc = cs_perfdata_add_build_id(in, record, size, err);
        break;
    case RECORD_EVENT_UPDATE:
        rc = cs_perfdata_update_event(in, record, size, err);
        break;
    case RECORD_FEATURE:
        rc = size < RECORD_HEADER + 8
                 ? cs_perfdata_malformed(in, err, "a feature record is too short")
                 : cs_perfdata_feature(in, (unsigned)load64(in, record + 8), record + 16, size - 16, err);
        break;
    case RECORD_FINISHED_ROUND:
        in->release_until_ns = in->newest_at_mark_ns;
        in->newest_at_mark_ns = in->newest_ns;
        break;
    case RECORD_COMPRESSED:
        rc = cs_perfdata_decompress(in, record + RECORD_HEADER, size - RECORD_HEADER, err);
        break;
    case RECORD_COMPRESSED2: {
        uint64_t bytes = size >= 16 ? load64(in, record + 8) : UINT64_MAX;
        rc = bytes > size - 16 ? cs_perfdata_malformed(in, err, "a compressed record has an impossible size")
                               : cs_perfdata_decompress(in, record + 16, bytes, err);
        break;
    }
    case RECORD_TRACING_DATA: /* its bytes follow the record */
        rc = size < 12 ? cs_perfdata_malformed(in, err, "a tracing record is too short")
                       : cs_perfdata_skip(in, in->piped ? (load32(in, record + 8) + 7u) & ~7u : 0, err);
        in->counts.skipped++;
        break;
    case RECORD_AUXTRACE:
        rc = size < 16 ? cs_perfdata_malformed(in, err, "a trace record is too short")
                       : cs_perfdata_skip(in, load64(in, record + 8), err);
        in->counts.skipped++;
        break;
    default:
        in->counts.skipped++;
    }
    return rc < 0 ? rc : 1;
}

int cs_perfdata_next(struct cs_perfdata *in, struct cs_perfdata_record *record, struct cs_error *err)
{
    for (;;) {
        bool crowded = in->heap_bytes > CS_PERFDATA_QUEUE_BYTES;
        if (in->n_heap && (in->at_end || crowded || in->heap[0].time_ns < in->release_until_ns)) {
            if (crowded && !in->at_end)
                in->counts.forced_order++;
            free(in->delivered);
            in->delivered = pop(in);
            int rc = cs_perfdata_parse(in, in->delivered, record, err);
            if (rc != 0)
                return rc;
            continue;
        }
        if (in->at_end)
            break;
        int rc = take_frame(in, err);
        if (rc < 0)
            return rc;
        in->at_end = rc == 0;
    }
    if (in->n_events == 0)
        return cs_perfdata_malformed(in, err, "it describes no event");
    return 0;
}

unsigned cs_perfdata_n_events(const struct cs_perfdata *in)
{
    return in->n_events;
}
const struct cs_perfdata_attr *cs_perfdata_event(const struct cs_perfdata *in, unsigned i)
{
    return i < in->n_events ? &in->events[i] : NULL;
}
const struct cs_perfdata_counts *cs_perfdata_counts(const struct cs_perfdata *in)
{
    return &in->counts;
}
const char *cs_perfdata_host(const struct cs_perfdata *in)
{
    return in->host;
}
const char *cs_perfdata_arch(const struct cs_perfdata *in)
{
    return in->arch;
}

const char *cs_perfdata_release(const struct cs_perfdata *in)
{
    return in->release;
}

const char *cs_perfdata_cpu(const struct cs_perfdata *in)
{
    return in->cpu;
}

const char *cs_perfdata_cpuid(const struct cs_perfdata *in)
{
    return in->cpuid;
}
