/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/base/bytes.h"
#include "store/base/array.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void cs_bytes_fini(struct cs_bytes *bytes)
{
    free(bytes->start);
    *bytes = (struct cs_bytes){0};
}

uint8_t *cs_bytes_put_room(struct cs_bytes *bytes, size_t n)
{
    if (bytes->failed)
        return NULL;
    if (n > SIZE_MAX - bytes->used || cs_array_reserve_in(bytes->start, n + bytes->used, bytes->size) < 0) {
        bytes->failed = true;
        return NULL;
    }
    uint8_t *to = bytes->start + bytes->used;
    bytes->used += n;
    return to;
}

void cs_bytes_put_raw(struct cs_bytes *bytes, const void *from, size_t n)
{
    uint8_t *to = n ? cs_bytes_put_room(bytes, n) : NULL;
    if (to)
        memcpy(to, from, n);
}

void cs_bytes_put_u8(struct cs_bytes *bytes, uint8_t value)
{
    cs_bytes_put_raw(bytes, &value, 1);
}

static void put_little_endian(struct cs_bytes *bytes, uint64_t value, size_t n)
{
    uint8_t *to = cs_bytes_put_room(bytes, n);
    for (size_t i = 0; to && i < n; i++)
        to[i] = (uint8_t)(value >> (8 * i));
}

void cs_bytes_put_u16(struct cs_bytes *bytes, uint16_t value)
{
    put_little_endian(bytes, value, 2);
}

void cs_bytes_put_u32(struct cs_bytes *bytes, uint32_t value)
{
    put_little_endian(bytes, value, 4);
}

void cs_bytes_put_u64(struct cs_bytes *bytes, uint64_t value)
{
    put_little_endian(bytes, value, 8);
}

void cs_bytes_put_varint(struct cs_bytes *bytes, uint64_t value)
{
    uint8_t coded[10];
    size_t n = 0;
    for (; value >= 0x80; value >>= 7)
        coded[n++] = (uint8_t)(value | 0x80);
    coded[n++] = (uint8_t)value;
    cs_bytes_put_raw(bytes, coded, n);
}

void cs_bytes_put_text(struct cs_bytes *bytes, const char *text)
{
    size_t n = strlen(text);
    cs_bytes_put_varint(bytes, n);
    cs_bytes_put_raw(bytes, text, n);
}

const uint8_t *cs_bytes_take_raw(struct cs_bytes_cursor *cursor, uint64_t n)
{
    assert(cursor->bad || cursor->at <= cursor->end);
    if (cursor->bad || n > (uint64_t)(cursor->end - cursor->at)) {
        cursor->bad = true;
        return NULL;
    }
    const uint8_t *start = cursor->at;
    cursor->at += n;
    return start;
}

static uint64_t take_little_endian(struct cs_bytes_cursor *cursor, unsigned n)
{
    const uint8_t *from = cs_bytes_take_raw(cursor, n);
    uint64_t value = 0;
    for (unsigned i = 0; from && i < n; i++)
        value |= (uint64_t)from[i] << (8 * i);
    return value;
}

uint8_t cs_bytes_take_u8(struct cs_bytes_cursor *cursor)
{
    return (uint8_t)take_little_endian(cursor, 1);
}

uint16_t cs_bytes_take_u16(struct cs_bytes_cursor *cursor)
{
    return (uint16_t)take_little_endian(cursor, 2);
}

uint64_t cs_bytes_take_u64(struct cs_bytes_cursor *cursor)
{
    return take_little_endian(cursor, 8);
}

uint64_t cs_bytes_take_varint(struct cs_bytes_cursor *cursor)
{
    const uint8_t *at = cursor->at, *end = cursor->bad ? at : cursor->end;
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && at < end; shift += 7) {
        uint8_t byte = *at++;
        if ((shift == 63 && byte > 1) || (shift && !byte))
            break;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            cursor->at = at;
            return value;
        }
    }
    cursor->bad = true;
    return 0;
}

void cs_bytes_take_text(struct cs_bytes_cursor *cursor, char *text, size_t size)
{
    uint64_t n = cs_bytes_take_varint(cursor);
    const uint8_t *from = cs_bytes_take_raw(cursor, n);
    if (!from || n >= size || memchr(from, 0, n)) {
        cursor->bad = true;
        text[0] = '\0';
        return;
    }
    memcpy(text, from, n);
    text[n] = '\0';
}
