/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzz target: any bytes as a file of the store are read or refused in a sentence; what was read encodes to a
 * file that says the same. The checksums are made right first, or nothing would get past them. */
#include "store/profile.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void put_u64(uint8_t *at, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

static void make_checksums_right(uint8_t *file, size_t size)
{
    size_t head = (size_t)file[6] | (size_t)file[7] << 8;
    uint8_t covered[2056];
    if (size < 24 || 24 + head > size || 24 + head > 2048)
        return;
    memcpy(covered, file, 8);
    memcpy(covered + 8, file + 24, head);
    put_u64(file + 8, XXH64(covered, 8 + head, 0));
    put_u64(file + 16, XXH64(file + 24 + head, size - 24 - head, 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct cs_error err = {0};
    struct cs_profile_file file, again;
    struct cs_table *table, *back;
    struct cs_bytes once = {0}, twice = {0};
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy)
        return 0;
    memcpy(copy, bytes, size);
    if (size >= 24)
        make_checksums_right(copy, size);
    int rc = cs_profile_decode(copy, size, "fuzz", &file, &table, &err);
    if (rc < 0) {
        assert(err.code == -rc && strstr(err.text, "fuzz"));
    } else {
        assert(cs_table_rows(table) == file.n_rows);
        assert(cs_profile_encode(&file.head, table, &once) == 0);
        assert(cs_profile_decode(once.start, once.used, "again", &again, &back, &err) == 0);
        assert(cs_profile_encode(&again.head, back, &twice) == 0);
        assert(once.used == twice.used && memcmp(once.start, twice.start, once.used) == 0);
        cs_table_close(back);
        cs_table_close(table);
    }
    cs_bytes_fini(&once);
    cs_bytes_fini(&twice);
    free(copy);
    return 0;
}
