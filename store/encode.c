/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A table to the bytes of a file: FORMAT.md, "The container". */
#include "store/profile.h"
#include "store/table/schema.h"

#include "store/container.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include <zstd.h>

/* Used texts in strcmp order; number[i] = position in the file of the dictionary's string i. */
static int64_t put_texts(struct cs_bytes *body, struct cs_table *table, uint64_t **number)
{
    const struct cs_schema *schema = cs_table_schema(table);
    size_t n = cs_table_texts(table);
    uint64_t *place = calloc(n ? n : 1, sizeof *place);
    struct cs_table *sorter = cs_table_open(&cs_schema_text_set);
    int64_t used = -ENOMEM;
    if (!place || !sorter)
        goto out;
    for (size_t i = 0; i < cs_table_rows(table); i++) {
        const uint64_t *row = cs_table_row(table, i);
        for (unsigned c = 0; c < schema->n_keys; c++)
            if (schema->columns[c].kind == CS_KEY_TEXT && row[c] < n)
                place[row[c]] = 1;
    }
    for (size_t i = 0; i < n; i++) {
        int64_t index = place[i] ? cs_table_text(sorter, cs_table_string(table, i)) : 0;
        if (index < 0 || (place[i] && cs_table_add(sorter, (uint64_t[]){(uint64_t)index, i}) < 0))
            goto out;
    }
    used = (int64_t)cs_table_rows(sorter);
    for (int64_t i = 0; i < used; i++) {
        const uint64_t *row = cs_table_row(sorter, (size_t)i);
        cs_bytes_put_text(body, cs_table_string(sorter, row[0]));
        place[row[1]] = (uint64_t)i;
    }
out:
    cs_table_close(sorter);
    if (used < 0)
        free(place);
    else
        *number = place;
    return used;
}

/* Column by column, each row against the one before it: neighbours are alike. */
static void put_columns(struct cs_bytes *body, struct cs_table *table, const uint64_t *number)
{
    const struct cs_schema *schema = cs_table_schema(table);
    size_t n_rows = cs_table_rows(table), n_texts = cs_table_texts(table);
    for (unsigned c = 0; c < schema->n_columns; c++) {
        bool is_text = schema->columns[c].kind == CS_KEY_TEXT;
        uint64_t before = 0;
        for (size_t i = 0; i < n_rows; i++) {
            uint64_t value = cs_table_row(table, i)[c];
            if (is_text)
                value = value < n_texts ? number[value] : 0;
            if (c == 0)
                cs_bytes_put_varint(body, value - before);
            else if (c < schema->n_keys)
                cs_bytes_put_varint(body, cs_zigzag(value - before));
            else
                cs_bytes_put_varint(body, value);
            before = value;
        }
    }
}

/* zstd where it pays, in place; true when it did. */
static bool compress(struct cs_bytes *body)
{
    if (body->failed || body->used < COMPRESS_MIN)
        return false;
    int level = body->used <= COMPRESS_WELL_MAX ? COMPRESS_LEVEL : COMPRESS_LEVEL_FAST;
    size_t capacity = ZSTD_compressBound(body->used);
    uint8_t *packed = malloc(capacity);
    size_t n = packed ? ZSTD_compress(packed, capacity, body->start, body->used, level) : capacity;
    bool pays = packed && !ZSTD_isError(n) && n < body->used && !unpacks_too_far(body->used, n);
    if (pays) {
        memcpy(body->start, packed, n);
        body->used = n;
    }
    free(packed);
    return pays;
}

static void put_schema(struct cs_bytes *head, const struct cs_schema *schema)
{
    uint64_t number = cs_schema_number(schema);
    cs_bytes_put_varint(head, number);
    if (number)
        return;
    cs_bytes_put_text(head, schema->kind);
    cs_bytes_put_u8(head, (uint8_t)schema->n_columns);
    for (unsigned c = 0; c < schema->n_columns; c++) {
        cs_bytes_put_u8(head, (uint8_t)schema->columns[c].kind);
        cs_bytes_put_text(head, schema->columns[c].name);
    }
}

int cs_store_profile_encode(const struct cs_store_profile_head *head, struct cs_table *table,
                            struct cs_bytes *out)
{
    struct cs_bytes body = {0}, front = {0};
    uint64_t *number = NULL;
    int rc = -ENOMEM;

    int64_t n_texts = put_texts(&body, table, &number);
    if (n_texts < 0)
        goto out;
    put_columns(&body, table, number);
    size_t raw_bytes = body.used;
    bool packed = compress(&body);

    put_schema(&front, cs_table_schema(table));
    cs_bytes_put_text(&front, head->event);
    cs_bytes_put_text(&front, head->label);
    cs_bytes_put_text(&front, head->unit);
    cs_bytes_put_varint(&front, head->period_sum);
    cs_bytes_put_varint(&front, head->enabled_ns);
    cs_bytes_put_varint(&front, head->running_ns);
    cs_bytes_put_varint(&front, (uint64_t)n_texts);
    cs_bytes_put_varint(&front, cs_table_rows(table));
    cs_bytes_put_varint(&front, raw_bytes);
    cs_bytes_put_varint(&front, body.used);
    if (front.failed || body.failed)
        goto out;

    assert(FIXED_BYTES + front.used <= CS_PROFILE_HEAD_MAX /* what a reader takes for it */);
    /* The fixed part; its first eight bytes are under the head's checksum too. */
    struct cs_bytes fixed = {0};
    cs_bytes_put_raw(&fixed, MAGIC, 4);
    cs_bytes_put_u8(&fixed, VERSION_WRITTEN);
    cs_bytes_put_u8(&fixed, packed ? FLAG_ZSTD : 0);
    cs_bytes_put_u16(&fixed, (uint16_t)front.used);
    if (!fixed.failed) {
        cs_bytes_put_u64(&fixed, checksum_head(fixed.start, front.start, front.used));
        cs_bytes_put_u64(&fixed, XXH64(body.start, body.used, 0));
    }
    cs_bytes_put_raw(out, fixed.start, fixed.used);
    cs_bytes_put_raw(out, front.start, front.used);
    cs_bytes_put_raw(out, body.start, body.used);
    rc = fixed.failed || out->failed ? -ENOMEM : 0;
    cs_bytes_fini(&fixed);
out:
    free(number);
    cs_bytes_fini(&front);
    cs_bytes_fini(&body);
    return rc;
}
