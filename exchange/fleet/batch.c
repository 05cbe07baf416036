/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A batch's file: "CSBATCH1", spool, sequence and number of parts. Each part its texts, then its table as a
 * profile file (store/FORMAT.md). Last a checksum of all before it. */
#include "exchange/fleet/batch.h"
#include "store/profile.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xxhash.h>

#define MAGIC "CSBATCH1"
#define MAGIC_BYTES 8
#define CHECKSUM_BYTES 8

const struct cs_schema cs_schema_batch = {"batch",
                                          5,
                                          4,
                                          {{"offset", CS_KEY},
                                           {"procedure", CS_KEY},
                                           {"size", CS_KEY},
                                           {"name", CS_KEY_TEXT},
                                           {"samples", CS_SUM}}};

static void put_part(const struct cs_fleet_batch_part *part, struct cs_bytes *out)
{
    struct cs_bytes table = {0};
    struct cs_store_profile_head head = {0};
    snprintf(head.event, sizeof head.event, "%s", part->event);
    snprintf(head.label, sizeof head.label, "%s", part->label);
    cs_bytes_put_text(out, part->epoch);
    cs_bytes_put_text(out, part->host);
    cs_bytes_put_text(out, part->image.id);
    cs_bytes_put_varint(out, (uint64_t)part->image.kind);
    cs_bytes_put_text(out, part->path);
    cs_bytes_put_text(out, part->build_id);
    cs_bytes_put_varint(out, part->time_s);
    if (cs_store_profile_encode(&head, part->table, &table) < 0)
        out->failed = true;
    cs_bytes_put_varint(out, table.used);
    cs_bytes_put_raw(out, table.start, table.used);
    cs_bytes_fini(&table);
}

int cs_fleet_batch_encode(const struct cs_fleet_batch *batch, struct cs_bytes *out)
{
    assert(batch->parts || batch->n_parts == 0);
    cs_bytes_put_raw(out, MAGIC, MAGIC_BYTES);
    cs_bytes_put_u64(out, batch->spool);
    cs_bytes_put_u64(out, batch->sequence);
    cs_bytes_put_varint(out, batch->n_parts);
    for (unsigned i = 0; i < batch->n_parts; i++)
        put_part(&batch->parts[i], out);
    if (!out->failed)
        cs_bytes_put_u64(out, XXH64(out->start, out->used, 0));
    return out->failed ? -ENOMEM : 0;
}

static int take_part(struct cs_bytes_cursor *from, const char *path, struct cs_fleet_batch_part *part,
                     struct cs_error *err)
{
    struct cs_store_profile_file file;
    cs_bytes_take_text(from, part->epoch, sizeof part->epoch);
    cs_bytes_take_text(from, part->host, sizeof part->host);
    cs_bytes_take_text(from, part->image.id, sizeof part->image.id);
    uint64_t kind = cs_bytes_take_varint(from);
    part->image.kind = (enum cs_store_image_kind)kind;
    cs_bytes_take_text(from, part->path, sizeof part->path);
    cs_bytes_take_text(from, part->build_id, sizeof part->build_id);
    part->time_s = cs_bytes_take_varint(from);
    uint64_t n = cs_bytes_take_varint(from);
    const uint8_t *bytes = cs_bytes_take_raw(from, n);
    if (from->bad || !bytes || kind > CS_IMAGE_CONTEXTS)
        return cs_fail(err, EBADMSG, "%s is damaged: remove it, its samples are lost", path);
    int rc = cs_store_profile_decode(bytes, (size_t)n, path, &file, &part->table, err);
    if (rc == 0 && !cs_schema_equal(cs_table_schema(part->table), &cs_schema_batch))
        rc = cs_fail(err, EBADMSG, "%s is damaged: it holds another kind of table", path);
    snprintf(part->event, sizeof part->event, "%s", rc == 0 ? file.head.event : "");
    snprintf(part->label, sizeof part->label, "%s", rc == 0 ? file.head.label : "");
    return rc;
}

int cs_fleet_batch_decode(const uint8_t *bytes, size_t n, const char *path, struct cs_fleet_batch *out,
                          struct cs_error *err)
{
    *out = (struct cs_fleet_batch){0};
    struct cs_bytes_cursor sum = {bytes + (n < CHECKSUM_BYTES ? 0 : n - CHECKSUM_BYTES), bytes + n, false};
    if (n < MAGIC_BYTES + CHECKSUM_BYTES || memcmp(bytes, MAGIC, MAGIC_BYTES) != 0 ||
        cs_bytes_take_u64(&sum) != XXH64(bytes, n - CHECKSUM_BYTES, 0))
        return cs_fail(err, EBADMSG, "%s is damaged: remove it, its samples are lost", path);
    struct cs_bytes_cursor from = {bytes + MAGIC_BYTES, bytes + n - CHECKSUM_BYTES, false};
    out->spool = cs_bytes_take_u64(&from);
    out->sequence = cs_bytes_take_u64(&from);
    uint64_t parts = cs_bytes_take_varint(&from);
    if (parts > n / 16) /* a part has more bytes than that */
        return cs_fail(err, EBADMSG, "%s is damaged: remove it, its samples are lost", path);
    out->parts = calloc((size_t)parts + 1, sizeof *out->parts);
    int rc = out->parts ? 0 : cs_fail(err, ENOMEM, "out of memory while reading %s", path);
    while (rc == 0 && out->n_parts < parts) {
        struct cs_fleet_batch_part *part = &out->parts[out->n_parts++];
        rc = take_part(&from, path, part, err);
        part->image.path = part->path;
        part->image.build_id = part->build_id;
        out->rows += part->table ? cs_table_rows(part->table) : 0;
        out->samples += part->table ? cs_table_sum(part->table, CS_FLEET_BATCH_SAMPLES) : 0;
    }
    if (rc < 0)
        cs_fleet_batch_fini(out);
    return rc;
}

void cs_fleet_batch_fini(struct cs_fleet_batch *batch)
{
    for (unsigned i = 0; batch->parts && i < batch->n_parts; i++)
        cs_table_close(batch->parts[i].table);
    free(batch->parts);
    *batch = (struct cs_fleet_batch){0};
}

#define TIME_LENGTH 16 /* 20240131T235959Z */

uint64_t cs_fleet_epoch_time(const char *epoch)
{
    struct tm utc = {0};
    const char *end = strptime(epoch, "%Y%m%dT%H%M%SZ", &utc);
    time_t at = end == epoch + TIME_LENGTH ? timegm(&utc) : -1;
    return at > 0 ? (uint64_t)at : 0;
}

void cs_fleet_epoch_host(const char *epoch, char *host, size_t capacity)
{
    bool timed = cs_fleet_epoch_time(epoch) && epoch[TIME_LENGTH] == '-' && epoch[TIME_LENGTH + 1];
    snprintf(host, capacity, "%s", timed ? epoch + TIME_LENGTH + 1 : epoch);
    /* A second epoch of the same second ends in "-2". */
    char *dash = timed ? strrchr(host, '-') : NULL;
    if (dash && dash > host && dash[1] > '1' && dash[1] <= '9' && !dash[2])
        *dash = '\0';
}
