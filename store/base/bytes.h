/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bytes of file formats: little-endian numbers, LEB128 varints, length-prefixed texts. Writing goes to a
 * growing buffer whose one `failed` flag is checked at the end. Reading goes through a cursor that never
 * leaves its range and whose one `bad` flag says that something asked for was not there. All-zero is an empty
 * buffer. Specified in FORMAT.md "Numbers and texts".
 *
 *     struct cs_bytes out = {0};
 *     cs_bytes_put_u64(&out, 7), cs_bytes_put_text(&out, "seven");
 *     struct cs_bytes_cursor in = {out.start, out.start + out.used, false};
 *     uint64_t seven = cs_bytes_take_u64(&in);    0 and in.bad when there are no eight bytes
 *     if (out.failed || in.bad) ...
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cs_bytes {
    uint8_t *start;
    size_t used, size;
    bool failed; /* memory ran short: what is in the buffer is useless */
};

void cs_bytes_fini(struct cs_bytes *bytes);
/* Room for n more bytes, counted as used; NULL when memory is short. */
uint8_t *cs_bytes_put_room(struct cs_bytes *bytes, size_t n);
void cs_bytes_put_raw(struct cs_bytes *bytes, const void *from, size_t n);
void cs_bytes_put_u8(struct cs_bytes *bytes, uint8_t value);
void cs_bytes_put_u16(struct cs_bytes *bytes, uint16_t value);
void cs_bytes_put_u32(struct cs_bytes *bytes, uint32_t value);
void cs_bytes_put_u64(struct cs_bytes *bytes, uint64_t value);
void cs_bytes_put_varint(struct cs_bytes *bytes, uint64_t value);
void cs_bytes_put_text(struct cs_bytes *bytes, const char *text);

struct cs_bytes_cursor {
    const uint8_t *at, *end;
    bool bad;
};

uint8_t cs_bytes_take_u8(struct cs_bytes_cursor *cursor);
uint16_t cs_bytes_take_u16(struct cs_bytes_cursor *cursor);
uint64_t cs_bytes_take_u64(struct cs_bytes_cursor *cursor);
/* The shortest form only: a number has one encoding. */
uint64_t cs_bytes_take_varint(struct cs_bytes_cursor *cursor);
/* Copies a text of less than `size` bytes, without NUL inside, to `text`. */
void cs_bytes_take_text(struct cs_bytes_cursor *cursor, char *text, size_t size);
/* n bytes in place; NULL (and bad) when there aren't as many. */
const uint8_t *cs_bytes_take_raw(struct cs_bytes_cursor *cursor, uint64_t n);

/* Signed differences as small unsigned numbers: 0, -1, 1, -2 become 0, 1, 2, 3. */
static inline uint64_t cs_zigzag(uint64_t difference)
{
    return (difference << 1) ^ (0 - (difference >> 63));
}
static inline uint64_t cs_unzigzag(uint64_t coded)
{
    return (coded >> 1) ^ (0 - (coded & 1));
}
