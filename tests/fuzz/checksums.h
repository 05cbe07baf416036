/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzz targets put checksums right, or nothing that was mutated would get past them. */
#ifndef CS_TESTS_FUZZ_CHECKSUMS_H
#define CS_TESTS_FUZZ_CHECKSUMS_H

#include "store/base/bytes.h"

#include <string.h>
#include <xxhash.h>

static inline void put_u64_at(uint8_t *at, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

/* A profile file's head and body (store/container.h). */
static inline void profile_checksums(uint8_t *file, size_t size)
{
    if (size < 24)
        return;
    size_t head = (size_t)file[6] | (size_t)file[7] << 8;
    uint8_t covered[2056];
    if (24 + head > size || 24 + head > 2048)
        return;
    memcpy(covered, file, 8);
    memcpy(covered + 8, file + 24, head);
    put_u64_at(file + 8, XXH64(covered, 8 + head, 0));
    put_u64_at(file + 16, XXH64(file + 24 + head, size - 24 - head, 0));
}

/* A batch's tables, then the batch (exchange/fleet/batch.c). */
static inline void batch_checksums(uint8_t *file, size_t size)
{
    char text[4096];
    if (size < 32)
        return;
    memcpy(file, "CSBATCH1", 8);
    struct cs_bytes_cursor from = {file + 24, file + size - 8, false};
    for (uint64_t parts = cs_bytes_take_varint(&from); parts && !from.bad; parts--) {
        for (int i = 0; i < 3; i++) /* epoch, host, image */
            cs_bytes_take_text(&from, text, sizeof text);
        (void)cs_bytes_take_varint(&from); /* its kind */
        for (int i = 0; i < 2; i++)        /* path, build-id */
            cs_bytes_take_text(&from, text, sizeof text);
        (void)cs_bytes_take_varint(&from); /* time */
        uint64_t n = cs_bytes_take_varint(&from);
        const uint8_t *table = cs_bytes_take_raw(&from, n);
        if (table)
            profile_checksums(file + (table - file), (size_t)n);
    }
    put_u64_at(file + size - 8, XXH64(file, size - 8, 0));
}

#endif
