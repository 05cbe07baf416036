/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The bytes of a file to a table: FORMAT.md, "The container". Nothing in the file is trusted: every length is
 * checked against what is there before memory is taken for it. */
#include "store/container.h"
#include "store/profile.h"
#include "store/table/schema.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

static int damaged(struct cs_error *err, const char *path, const char *what)
{
    return cs_fail(err, EBADMSG, "%s is damaged (%s); move it away, the other profiles are not touched by it",
                   path, what);
}

static void take_schema(struct cs_bytes_cursor *cursor, struct cs_schema *schema)
{
    uint64_t number = cs_bytes_take_varint(cursor);
    if (number) {
        const struct cs_schema *known = cs_schema_numbered(number);
        if (known)
            *schema = *known;
        else
            cursor->bad = true;
        return;
    }
    cs_bytes_take_text(cursor, schema->kind, sizeof schema->kind);
    schema->n_columns = cs_bytes_take_u8(cursor);
    if (schema->n_columns > CS_TABLE_COLUMNS_MAX)
        cursor->bad = true;
    for (unsigned c = 0; c < schema->n_columns && !cursor->bad; c++) {
        uint8_t kind = cs_bytes_take_u8(cursor);
        schema->columns[c].kind = kind > CS_MIN ? CS_KEY : (enum cs_column_kind)kind;
        cursor->bad |= kind > CS_MIN;
        cs_bytes_take_text(cursor, schema->columns[c].name, sizeof schema->columns[c].name);
        if (kind == CS_KEY || kind == CS_KEY_TEXT)
            schema->n_keys = c + 1;
    }
    if (!cursor->bad && !cs_schema_valid(schema))
        cursor->bad = true;
}

int cs_store_profile_decode_head(const uint8_t *bytes, size_t n, uint64_t file_bytes, const char *path,
                                 struct cs_store_profile_file *file, struct cs_error *err)
{
    *file = (struct cs_store_profile_file){.version = 0};
    if (n < 5 || memcmp(bytes, MAGIC, 4) != 0)
        return cs_fail(
            err, EBADMSG,
            "%s is no profile (%s); move it away if a store has it, the other profiles are not touched by it",
            path, n < 5 ? "it is too short" : "it doesn't begin as one");
    file->version = bytes[4];
    if (file->version > VERSION_WRITTEN)
        return cs_fail(err, EPROTONOSUPPORT,
                       "%s was written by a newer cyclescope (format %u, this one reads up to %u); read it "
                       "with that one",
                       path, file->version, VERSION_WRITTEN);
    if (file->version < VERSION_READ_MIN)
        return damaged(err, path, "it has an impossible version");

    struct cs_bytes_cursor cursor = {.at = bytes + 5, .end = bytes + n};
    uint8_t flags = cs_bytes_take_u8(&cursor);
    uint16_t head_bytes = cs_bytes_take_u16(&cursor);
    uint64_t head_sum = cs_bytes_take_u64(&cursor);
    file->body_checksum = cs_bytes_take_u64(&cursor);
    const uint8_t *head = cs_bytes_take_raw(&cursor, head_bytes);
    if (cursor.bad || FIXED_BYTES + head_bytes > CS_PROFILE_HEAD_MAX)
        return damaged(err, path, "its head is cut off");
    if (checksum_head(bytes, head, head_bytes) != head_sum)
        return damaged(err, path, "its head's checksum is wrong");
    if (flags & ~FLAG_ZSTD)
        return damaged(err, path, "it has unknown flags");

    cursor = (struct cs_bytes_cursor){.at = head, .end = head + head_bytes};
    take_schema(&cursor, &file->schema);
    cs_bytes_take_text(&cursor, file->head.event, sizeof file->head.event);
    cs_bytes_take_text(&cursor, file->head.label, sizeof file->head.label);
    cs_bytes_take_text(&cursor, file->head.unit, sizeof file->head.unit);
    file->head.period_sum = cs_bytes_take_varint(&cursor);
    file->head.enabled_ns = cs_bytes_take_varint(&cursor);
    file->head.running_ns = cs_bytes_take_varint(&cursor);
    file->n_texts = cs_bytes_take_varint(&cursor);
    file->n_rows = cs_bytes_take_varint(&cursor);
    file->raw_bytes = cs_bytes_take_varint(&cursor);
    file->stored_bytes = cs_bytes_take_varint(&cursor);
    file->body_at = FIXED_BYTES + head_bytes;
    if (cursor.bad || cursor.at != cursor.end)
        return damaged(err, path, "its head makes no sense");
    /* A row takes at least a byte a column, a text at least one. */
    if (file->raw_bytes > BODY_BYTES_MAX || file->n_rows > file->raw_bytes ||
        file->n_texts > file->raw_bytes ||
        file->n_rows * file->schema.n_columns + file->n_texts > file->raw_bytes ||
        (!(flags & FLAG_ZSTD) && file->raw_bytes != file->stored_bytes))
        return damaged(err, path, "its head's sizes contradict each other");
    if (unpacks_too_far(file->raw_bytes, file->stored_bytes))
        return damaged(err, path, "it would unpack to more than 1,000 times its size");
    if (file->body_at + file->stored_bytes != file_bytes)
        return damaged(err, path,
                       file->body_at + file->stored_bytes > file_bytes ? "it is cut off"
                                                                       : "it is longer than it says");
    return 0;
}

/* Texts must ascend: that makes the encoding canonical and the numbers ranks. */
static int take_texts(struct cs_bytes_cursor *cursor, uint64_t n, struct cs_table *table)
{
    struct cs_bytes text = {0};
    const char *before = NULL;
    int rc = 0;
    for (uint64_t i = 0; i < n && !cursor->bad && rc == 0; i++) {
        uint64_t length = cs_bytes_take_varint(cursor);
        const uint8_t *from = cs_bytes_take_raw(cursor, length);
        if (!from || memchr(from, 0, length)) {
            cursor->bad = true;
            break;
        }
        text.used = 0;
        cs_bytes_put_raw(&text, from, length);
        cs_bytes_put_u8(&text, 0);
        int64_t index = text.failed ? -ENOMEM : cs_table_text(table, (char *)text.start);
        if (index < 0) {
            rc = -ENOMEM;
            break;
        }
        const char *now = cs_table_string(table, (uint64_t)index);
        if (before && strcmp(before, now) >= 0)
            cursor->bad = true;
        before = now;
    }
    cs_bytes_fini(&text);
    return rc;
}

/* -EBADMSG when a row does not stand after the one before it, a number has no text, a text no number. */
static int take_rows(struct cs_bytes_cursor *cursor, const struct cs_store_profile_file *file,
                     struct cs_table *table)
{
    const struct cs_schema *schema = &file->schema;
    size_t n_rows = file->n_rows, n_columns = schema->n_columns;
    uint64_t *rows = malloc((n_rows ? n_rows : 1) * n_columns * sizeof *rows), n_used = 0;
    bool *used = calloc(file->n_texts ? file->n_texts : 1, sizeof *used);
    int rc = -ENOMEM;
    if (!rows || !used)
        goto out;
    for (unsigned c = 0; c < n_columns; c++) {
        uint64_t before = 0;
        for (size_t i = 0; i < n_rows; i++) {
            uint64_t coded = cs_bytes_take_varint(cursor);
            if (c == 0)
                before += coded;
            else
                before = c < schema->n_keys ? before + cs_unzigzag(coded) : coded;
            rows[i * n_columns + c] = before;
            if (schema->columns[c].kind != CS_KEY_TEXT || cursor->bad)
                continue;
            if (before >= file->n_texts) {
                cursor->bad = true;
                continue;
            }
            n_used += !used[before];
            used[before] = true;
        }
    }
    for (size_t i = 0; i < n_rows && !cursor->bad; i++) {
        const uint64_t *row = rows + i * n_columns, *last = row - n_columns;
        unsigned c = 0;
        while (i && c < schema->n_keys && row[c] == last[c])
            c++;
        if (i && (c == schema->n_keys || row[c] < last[c]))
            cursor->bad = true;
    }
    rc = -EBADMSG;
    if (!cursor->bad && cursor->at == cursor->end && n_used == file->n_texts) {
        rc = cs_table_adopt(table, rows, n_rows);
        rows = NULL;
    }
out:
    free(used);
    free(rows);
    return rc;
}

/* One a thread, until it ends: a new context asks the processor twice who it is, and below a hypervisor that takes
 * longer (9 us) than a small body. */
static pthread_key_t context_key;
static int context_key_rc;

static void free_context(void *context)
{
    ZSTD_freeDCtx(context);
}

static void make_context_key(void)
{
    context_key_rc = pthread_key_create(&context_key, free_context);
}

static ZSTD_DCtx *unpacking_context(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (pthread_once(&once, make_context_key) != 0 || context_key_rc != 0)
        return NULL;
    ZSTD_DCtx *context = pthread_getspecific(context_key);
    if (!context && (context = ZSTD_createDCtx()) && pthread_setspecific(context_key, context) != 0) {
        ZSTD_freeDCtx(context);
        context = NULL;
    }
    return context;
}

int cs_store_profile_decode(const uint8_t *bytes, size_t n, const char *path,
                            struct cs_store_profile_file *file, struct cs_table **table, struct cs_error *err)
{
    *table = NULL;
    int rc = cs_store_profile_decode_head(bytes, n, n, path, file, err);
    if (rc < 0)
        return rc;
    const uint8_t *stored = bytes + file->body_at;
    if (XXH64(stored, file->stored_bytes, 0) != file->body_checksum)
        return damaged(err, path, "its rows' checksum is wrong");

    uint8_t *unpacked = NULL;
    struct cs_table *filled = cs_table_open(&file->schema);
    rc = -ENOMEM;
    if (!filled)
        goto out;
    struct cs_bytes_cursor cursor = {.at = stored, .end = stored + file->stored_bytes};
    if (bytes[5] & FLAG_ZSTD) {
        unpacked = malloc(file->raw_bytes ? file->raw_bytes : 1);
        if (!unpacked)
            goto out;
        ZSTD_DCtx *context = unpacking_context();
        if (!context)
            goto out;
        if (ZSTD_decompressDCtx(context, unpacked, file->raw_bytes, stored, file->stored_bytes) !=
            file->raw_bytes) {
            rc = damaged(err, path, "its rows can't be unpacked");
            goto out;
        }
        cursor = (struct cs_bytes_cursor){.at = unpacked, .end = unpacked + file->raw_bytes};
    }
    rc = take_texts(&cursor, file->n_texts, filled);
    if (rc == 0)
        rc = take_rows(&cursor, file, filled);
    if (rc == -EBADMSG)
        damaged(err, path, "its rows make no sense");
out:
    if (rc == -ENOMEM)
        cs_fail(err, ENOMEM, "not enough memory to read %s", path);
    if (rc == 0)
        *table = filled;
    else
        cs_table_close(filled);
    free(unpacked);
    return rc;
}

static uint64_t add_saturating(uint64_t a, uint64_t b)
{
    return a + b < a ? UINT64_MAX : a + b;
}

int cs_store_profile_head_merge(struct cs_store_profile_head *into, const struct cs_store_profile_head *from)
{
    if (strcmp(into->event, from->event) != 0 || strcmp(into->label, from->label) != 0 ||
        strcmp(into->unit, from->unit) != 0)
        return -EINVAL;
    into->period_sum = add_saturating(into->period_sum, from->period_sum);
    into->enabled_ns = add_saturating(into->enabled_ns, from->enabled_ns);
    into->running_ns = add_saturating(into->running_ns, from->running_ns);
    return 0;
}
