/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzz target: any bytes as a batch for a server are read or refused in a sentence. What was read encodes to bytes that
 * say the same.
 * Sources: exchange/fleet/batch.c store/[a-z]*.c store/base/[a-z]*.c store/table/[a-z]*.c */
#include "exchange/fleet/batch.h"
#include "tests/fuzz/checksums.h"

#include <assert.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void judge(const struct cs_fleet_batch *batch)
{
    struct cs_bytes once = {0}, twice = {0};
    struct cs_fleet_batch again;
    struct cs_error err = {0};
    for (unsigned i = 0; i < batch->n_parts; i++) {
        const struct cs_fleet_batch_part *part = &batch->parts[i];
        char host[256];
        assert(part->image.kind <= CS_IMAGE_CONTEXTS &&
               cs_schema_equal(cs_table_schema(part->table), &cs_schema_batch));
        cs_fleet_epoch_host(part->epoch, host, sizeof host);
        (void)cs_fleet_epoch_time(part->epoch);
    }
    assert(cs_fleet_batch_encode(batch, &once) == 0);
    assert(cs_fleet_batch_decode(once.start, once.used, "again", &again, &err) == 0);
    assert(again.rows == batch->rows && again.samples == batch->samples);
    assert(cs_fleet_batch_encode(&again, &twice) == 0);
    assert(once.used == twice.used && memcmp(once.start, twice.start, once.used) == 0);
    cs_fleet_batch_fini(&again);
    cs_bytes_fini(&once);
    cs_bytes_fini(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct cs_error err = {0};
    struct cs_fleet_batch batch;
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy)
        return 0;
    memcpy(copy, bytes, size);
    batch_checksums(copy, size);
    int rc = cs_fleet_batch_decode(copy, size, "fuzz", &batch, &err);
    if (rc == 0)
        judge(&batch);
    else
        assert(err.code == -rc && strstr(err.text, "fuzz"));
    cs_fleet_batch_fini(&batch);
    free(copy);
    return 0;
}
