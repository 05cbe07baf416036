/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What encode.c and decode.c agree on: the fixed part of a file, drawn in FORMAT.md. For these two only.
 *
 *   0      4       5       6            8               16              24
 *   | CSPF | version | flags | head bytes | head checksum | body checksum | head ... | body ... |
 */
#pragma once

#include "store/profile.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <xxhash.h>

#define MAGIC "CSPF"
#define VERSION_WRITTEN 1
#define VERSION_READ_MIN 1
#define FIXED_BYTES 24
#define FLAG_ZSTD 1

#define COMPRESS_MIN 32   /* bytes: below, a zstd frame's own header eats the gain */
#define COMPRESS_LEVEL 19 /* profiles are small and written once in minutes */
/* Of a body larger than this the fastest level makes 1 % more bytes in 1/90 of the time and 1/16 of the
 * memory (223,192 points: 282,000 against 278,500 bytes, 4 ms against 340, 0.6 MB against 9.7). */
#define COMPRESS_WELL_MAX 65536
#define COMPRESS_LEVEL_FAST 1
#define BODY_BYTES_MAX (1ull << 30)
/* A body unpacks to at most so many times its bytes, beyond the first megabyte: a file of 2.5 KB that unpacks to gigabytes is no
 * profile. What compresses better is written without compression. */
#define UNPACK_TIMES_MAX 1000
#define UNPACK_FREE_BYTES (1u << 20)

static inline uint64_t checksum_head(const uint8_t *first8, const uint8_t *head, size_t n)
{
    assert(n <= CS_PROFILE_HEAD_MAX);
    uint8_t all[8 + CS_PROFILE_HEAD_MAX];
    memcpy(all, first8, 8);
    memcpy(all + 8, head, n);
    return XXH64(all, 8 + n, 0);
}

static inline bool unpacks_too_far(uint64_t raw_bytes, uint64_t stored_bytes)
{
    return raw_bytes > UNPACK_FREE_BYTES && (raw_bytes - UNPACK_FREE_BYTES) / UNPACK_TIMES_MAX > stored_bytes;
}
