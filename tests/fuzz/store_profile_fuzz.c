/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzz target: any bytes as a file of the store are read or refused in a sentence. What was read encodes to a
 * file that says the same. The checksums are made right first, or nothing would get past them.
 * Sources: store/[a-z]*.c store/base/[a-z]*.c store/table/[a-z]*.c */
#include "store/profile.h"
#include "tests/fuzz/checksums.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct cs_error err = {0};
    struct cs_store_profile_file file, again;
    struct cs_table *table, *back;
    struct cs_bytes once = {0}, twice = {0};
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy)
        return 0;
    memcpy(copy, bytes, size);
    profile_checksums(copy, size);
    int rc = cs_store_profile_decode(copy, size, "fuzz", &file, &table, &err);
    if (rc < 0) {
        assert(err.code == -rc && strstr(err.text, "fuzz"));
    } else {
        assert(cs_table_rows(table) == file.n_rows);
        assert(cs_store_profile_encode(&file.head, table, &once) == 0);
        assert(cs_store_profile_decode(once.start, once.used, "again", &again, &back, &err) == 0);
        assert(cs_store_profile_encode(&again.head, back, &twice) == 0);
        assert(once.used == twice.used && memcmp(once.start, twice.start, once.used) == 0);
        cs_table_close(back);
        cs_table_close(table);
    }
    cs_bytes_fini(&once);
    cs_bytes_fini(&twice);
    free(copy);
    return 0;
}
