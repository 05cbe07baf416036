/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One record's bytes after the other, from the input or from what was decompressed. Nothing is trusted: a length that
 * can't be is refused with a sentence. */
#include "exchange/import/perfdata_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <zstd.h>

/* Reads exactly `bytes`: 1, 0 at the end of the input before the first byte, <0 cut short. */
static int read_bytes(struct cs_perfdata *in, void *to, size_t bytes, struct cs_error *err)
{
    if (!in->piped) {
        if (in->data_left == 0)
            return 0;
        if (in->data_left < bytes) {
            in->counts.trailing_bytes += in->data_left;
            in->data_left = 0;
            return 0;
        }
        in->data_left -= bytes;
    }
    size_t got = fread(to, 1, bytes, in->file);
    if (got == bytes) {
        in->position += bytes;
        return 1;
    }
    in->short_bytes = got;
    if (ferror(in->file))
        return cs_fail(err, EIO, "%s: could not be read: %s", in->name, strerror(errno));
    if (in->piped && got < RECORD_HEADER) {
        in->counts.trailing_bytes += got;
        return 0;
    }
    return cs_perfdata_malformed(in, err, "the file ends in the middle of a record");
}

/* ---- compression: one zstd stream over the whole file, cut into records ---- */

int cs_perfdata_decompress(struct cs_perfdata *in, const uint8_t *bytes, size_t size, struct cs_error *err)
{
    enum { PLAIN_MAX = 256 << 20 };
    if (!in->zstd && !(in->zstd = ZSTD_createDCtx()))
        return cs_perfdata_no_memory(in, err);
    if (in->plain_at)
        memmove(in->plain, in->plain + in->plain_at, in->plain_used - in->plain_at);
    in->plain_used -= in->plain_at;
    in->plain_at = 0;
    ZSTD_inBuffer from = {bytes, size, 0};
    for (;;) {
        if (in->plain_room - in->plain_used < 65536) {
            size_t capacity = in->plain_room ? 2 * in->plain_room : 1 << 20;
            uint8_t *grown = capacity <= PLAIN_MAX ? realloc(in->plain, capacity) : NULL;
            if (!grown)
                return cs_perfdata_no_memory(in, err);
            in->plain = grown;
            in->plain_room = capacity;
        }
        ZSTD_outBuffer to = {in->plain, in->plain_room, in->plain_used};
        size_t rc = ZSTD_decompressStream(in->zstd, &to, &from);
        bool full = to.pos == to.size;
        in->plain_used = to.pos;
        if (ZSTD_isError(rc))
            return cs_perfdata_malformed(in, err, "a compressed part is damaged");
        if (from.pos == from.size && !full)
            return 0;
    }
}

/* The next record's bytes, from the decompressed stretch or from the input: 1, 0 at the end, <0. */
int cs_perfdata_frame(struct cs_perfdata *in, const uint8_t **frame, struct cs_error *err)
{
    size_t left = in->plain_used - in->plain_at;
    if (left >= RECORD_HEADER) {
        const uint8_t *record = in->plain + in->plain_at;
        size_t size = load16(in, record + 6);
        if (size < RECORD_HEADER)
            return cs_perfdata_malformed(in, err, "a compressed record is shorter than its header");
        if (size <= left) { /* else its rest is in the next compressed record */
            in->plain_at += size;
            *frame = record;
            return 1;
        }
    }
    int rc = read_bytes(in, in->frame, RECORD_HEADER, err);
    if (rc <= 0)
        return rc;
    size_t size = load16(in, in->frame + 6);
    if (size < RECORD_HEADER) {
        if (size == 0 && load32(in, in->frame) == 0) { /* a hole that an interrupted writer left */
            in->counts.skipped++;
            in->counts.trailing_bytes += in->data_left;
            in->data_left = 0;
            return in->piped ? cs_perfdata_malformed(in, err, "a record has no size") : 0;
        }
        return cs_perfdata_malformed(in, err, "a record is shorter than its header");
    }
    if (size > RECORD_HEADER) {
        rc = read_bytes(in, in->frame + RECORD_HEADER, size - RECORD_HEADER, err);
        if (rc < 0 && in->piped && in->sequence > 0 && feof(in->file) &&
            load32(in, in->frame) >= RECORD_TYPES_PLAUSIBLE) {
            /* Not a record cut short: words that the recorder's shell wrote behind the last one. */
            in->counts.trailing_bytes += RECORD_HEADER + in->short_bytes;
            err->code = 0;
            return 0;
        }
        if (rc < 0)
            return rc;
        if (rc == 0)
            return cs_perfdata_malformed(in, err, "the data ends in the middle of a record");
    }
    *frame = in->frame;
    return 1;
}

int cs_perfdata_skip(struct cs_perfdata *in, uint64_t bytes, struct cs_error *err)
{
    uint8_t sink[4096];
    while (bytes) {
        size_t n = bytes < sizeof sink ? (size_t)bytes : sizeof sink;
        int rc = read_bytes(in, sink, n, err);
        if (rc <= 0)
            return rc < 0 ? rc : cs_perfdata_malformed(in, err, "the data ends in the middle of a trace");
        bytes -= n;
    }
    return 0;
}
