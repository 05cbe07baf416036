/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/bytes.h"

#include <stdlib.h>
#include <string.h>

void cs_bytes_fini(struct cs_bytes *bytes)
{
    free(bytes->start);
    *bytes = (struct cs_bytes){0};
}

uint8_t *cs_put_room(struct cs_bytes *bytes, size_t n)
{
    if (bytes->failed)
        return NULL;
    if (n > bytes->size - bytes->used) {
        size_t size = bytes->size ? bytes->size : 256;
        while (size - bytes->used < n)
            size *= 2;
        uint8_t *start = realloc(bytes->start, size);
        if (!start) {
            bytes->failed = true;
            return NULL;
        }
        bytes->start = start;
        bytes->size = size;
    }
    uint8_t *room = bytes->start + bytes->used;
    bytes->used += n;
    return room;
}

void cs_put_raw(struct cs_bytes *bytes, const void *from, size_t n)
{
    uint8_t *room = n ? cs_put_room(bytes, n) : NULL;
    if (room)
        memcpy(room, from, n);
}

void cs_put_u8(struct cs_bytes *bytes, uint8_t value)
{
    cs_put_raw(bytes, &value, 1);
}

static void put_little_endian(struct cs_bytes *bytes, uint64_t value, size_t n)
{
    uint8_t *room = cs_put_room(bytes, n);
    for (size_t i = 0; room && i < n; i++)
        room[i] = (uint8_t)(value >> (8 * i));
}

void cs_put_u16(struct cs_bytes *bytes, uint16_t value)
{
    put_little_endian(bytes, value, 2);
}

void cs_put_u64(struct cs_bytes *bytes, uint64_t value)
{
    put_little_endian(bytes, value, 8);
}

void cs_put_varint(struct cs_bytes *bytes, uint64_t value)
{
    uint8_t coded[10];
    size_t n = 0;
    for (; value >= 0x80; value >>= 7)
        coded[n++] = (uint8_t)(value | 0x80);
    coded[n++] = (uint8_t)value;
    cs_put_raw(bytes, coded, n);
}

void cs_put_text(struct cs_bytes *bytes, const char *text)
{
    size_t n = strlen(text);
    cs_put_varint(bytes, n);
    cs_put_raw(bytes, text, n);
}

const uint8_t *cs_take_raw(struct cs_cursor *cursor, uint64_t n)
{
    if (cursor->bad || n > (uint64_t)(cursor->end - cursor->at)) {
        cursor->bad = true;
        return NULL;
    }
    const uint8_t *start = cursor->at;
    cursor->at += n;
    return start;
}

static uint64_t take_little_endian(struct cs_cursor *cursor, unsigned n)
{
    const uint8_t *from = cs_take_raw(cursor, n);
    uint64_t value = 0;
    for (unsigned i = 0; from && i < n; i++)
        value |= (uint64_t)from[i] << (8 * i);
    return value;
}

uint8_t cs_take_u8(struct cs_cursor *cursor)
{
    return (uint8_t)take_little_endian(cursor, 1);
}

uint16_t cs_take_u16(struct cs_cursor *cursor)
{
    return (uint16_t)take_little_endian(cursor, 2);
}

uint64_t cs_take_u64(struct cs_cursor *cursor)
{
    return take_little_endian(cursor, 8);
}

uint64_t cs_take_varint(struct cs_cursor *cursor)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !cursor->bad; shift += 7) {
        uint8_t byte = cs_take_u8(cursor);
        if ((shift == 63 && byte > 1) || (shift && !byte))
            break;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return cursor->bad ? 0 : value;
    }
    cursor->bad = true;
    return 0;
}

void cs_take_text(struct cs_cursor *cursor, char *text, size_t size)
{
    uint64_t n = cs_take_varint(cursor);
    const uint8_t *from = cs_take_raw(cursor, n);
    if (!from || n >= size || memchr(from, 0, n)) {
        cursor->bad = true;
        text[0] = '\0';
        return;
    }
    memcpy(text, from, n);
    text[n] = '\0';
}
