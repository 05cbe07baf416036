/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers of DWARF sections and exception frames (DWARF 5 section 7.6). What would go beyond the end reads as
 * 0 and makes the reader bad, and it stays so. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct reader {
    const uint8_t *at, *end;
    bool bad;
};

/* Little-endian, of so many bytes; those beyond eight are skipped. */
static inline uint64_t take(struct reader *r, size_t bytes)
{
    uint64_t value = 0;
    if ((size_t)(r->end - r->at) < bytes) {
        r->bad = true;
        r->at = r->end;
        return 0;
    }
    memcpy(&value, r->at, bytes < sizeof value ? bytes : sizeof value);
    r->at += bytes;
    return value;
}

static inline uint64_t take_leb(struct reader *r, bool is_signed)
{
    uint64_t value = 0, byte;
    unsigned shift = 0;
    do {
        byte = take(r, 1);
        if (shift < 64)
            value |= (byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80);
    if (is_signed && shift < 64 && (byte & 0x40))
        value |= UINT64_MAX << shift;
    return r->bad ? 0 : value;
}

static inline uint64_t take_uleb(struct reader *r)
{
    return take_leb(r, false);
}

static inline int64_t take_sleb(struct reader *r)
{
    return (int64_t)take_leb(r, true);
}
