/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A batch as rows in RowBinary. It counts when its completion is written, after its rows. */
#include "exchange/fleet/clickhouse_internal.h"
#include "image/code.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <xxhash.h>

#define INSERT_BYTES (8u << 20) /* of one request */
#define PART_COLUMNS "(time, epoch, host, label, event, image, procedure, offset, count, attempt)"

static uint64_t image_key(const char *id)
{
    return XXH64(id, strlen(id), 0);
}

struct insertion {
    struct cs_fleet_server *server;
    const char *into;
    struct cs_bytes rows;
    struct cs_error *err;
};

static int flush(struct insertion *to)
{
    char *query = NULL;
    if (to->rows.used == 0)
        return 0;
    if (to->rows.failed || asprintf(&query, "INSERT INTO %s FORMAT RowBinary", to->into) < 0)
        return cs_fleet_server_no_memory(to->err);
    int rc = cs_fleet_server_execute(to->server, to->server->database, query, &to->rows, to->err);
    free(query);
    to->rows.used = 0;
    return rc;
}

static int row_done(struct insertion *to)
{
    return to->rows.failed                 ? cs_fleet_server_no_memory(to->err)
           : to->rows.used >= INSERT_BYTES ? flush(to)
                                           : 0;
}

static int finish(struct insertion *to, int rc)
{
    if (rc == 0)
        rc = flush(to);
    cs_bytes_fini(&to->rows);
    return rc;
}

static int send_images(struct cs_fleet_server *server, const struct cs_fleet_batch *batch,
                       struct cs_error *err)
{
    struct insertion to = {server, "images (image, id, kind, path, build_id)", {0}, err};
    int rc = 0;
    for (unsigned i = 0; rc == 0 && i < batch->n_parts; i++) {
        const struct cs_fleet_batch_part *part = &batch->parts[i];
        cs_bytes_put_u64(&to.rows, image_key(part->image.id));
        cs_bytes_put_text(&to.rows, part->image.id);
        cs_bytes_put_u8(&to.rows, (uint8_t)part->image.kind);
        cs_bytes_put_text(&to.rows, part->path);
        cs_bytes_put_text(&to.rows, part->build_id);
        rc = row_done(&to);
    }
    return finish(&to, rc);
}

static int send_symbols(struct cs_fleet_server *server, const struct cs_fleet_batch *batch,
                        struct cs_error *err)
{
    struct insertion to = {server, "symbols (image, start, size, name)", {0}, err};
    char readable[CS_IMAGE_NAME_MAX];
    int rc = 0;
    for (unsigned i = 0; rc == 0 && i < batch->n_parts; i++) {
        const struct cs_fleet_batch_part *part = &batch->parts[i];
        uint64_t last = UINT64_MAX;
        for (size_t k = 0; rc == 0 && k < cs_table_rows(part->table); k++) {
            const uint64_t *row = cs_table_row(part->table, k);
            const char *name = cs_table_string(part->table, row[CS_FLEET_BATCH_NAME]);
            if (!*name || row[CS_FLEET_BATCH_PROCEDURE] == last)
                continue;
            last = row[CS_FLEET_BATCH_PROCEDURE];
            cs_bytes_put_u64(&to.rows, image_key(part->image.id));
            cs_bytes_put_u64(&to.rows, last);
            cs_bytes_put_u64(&to.rows, row[CS_FLEET_BATCH_SIZE]);
            cs_bytes_put_text(&to.rows, cs_image_demangle(name, readable, sizeof readable));
            rc = row_done(&to);
        }
    }
    return finish(&to, rc);
}

static int send_points(struct cs_fleet_server *server, const struct cs_fleet_batch *batch, uint64_t attempt,
                       struct cs_error *err)
{
    struct insertion to = {server, "points " PART_COLUMNS, {0}, err};
    int rc = 0;
    for (unsigned i = 0; rc == 0 && i < batch->n_parts; i++) {
        const struct cs_fleet_batch_part *part = &batch->parts[i];
        for (size_t k = 0; rc == 0 && k < cs_table_rows(part->table); k++) {
            const uint64_t *row = cs_table_row(part->table, k);
            cs_bytes_put_u32(&to.rows, (uint32_t)part->time_s);
            cs_bytes_put_text(&to.rows, part->epoch);
            cs_bytes_put_text(&to.rows, part->host);
            cs_bytes_put_text(&to.rows, part->label);
            cs_bytes_put_text(&to.rows, part->event);
            cs_bytes_put_u64(&to.rows, image_key(part->image.id));
            cs_bytes_put_u64(&to.rows, row[CS_FLEET_BATCH_PROCEDURE]);
            cs_bytes_put_u64(&to.rows, row[CS_FLEET_BATCH_OFFSET]);
            cs_bytes_put_u64(&to.rows, row[CS_FLEET_BATCH_SAMPLES]);
            cs_bytes_put_u64(&to.rows, attempt);
            rc = row_done(&to);
        }
    }
    return finish(&to, rc);
}

static int send_completion(struct cs_fleet_server *server, const struct cs_fleet_batch *batch,
                           uint64_t attempt, struct cs_error *err)
{
    struct insertion to = {server, "batches (host, spool, sequence, attempt, time, rows, samples)", {0}, err};
    cs_bytes_put_text(&to.rows, batch->n_parts ? batch->parts[0].host : "");
    cs_bytes_put_u64(&to.rows, batch->spool);
    cs_bytes_put_u64(&to.rows, batch->sequence);
    cs_bytes_put_u64(&to.rows, attempt);
    cs_bytes_put_u32(&to.rows, (uint32_t)time(NULL));
    cs_bytes_put_u64(&to.rows, batch->rows);
    cs_bytes_put_u64(&to.rows, batch->samples);
    return finish(&to, 0);
}

/* An acknowledgement that was lost on its way leaves a batch that is there: 1 = it is. */
static int is_there(struct cs_fleet_server *server, const struct cs_fleet_batch *batch, struct cs_error *err)
{
    char sql[160];
    json_t *answer = NULL;
    snprintf(sql, sizeof sql, "SELECT count() FROM batches WHERE spool = %" PRIu64 " AND sequence = %" PRIu64,
             batch->spool, batch->sequence);
    int rc = cs_fleet_server_ask(server, sql, &answer, err);
    if (rc == 0) {
        const char *n =
            json_string_value(json_array_get(json_array_get(json_object_get(answer, "data"), 0), 0));
        rc = n && strcmp(n, "0") != 0;
        json_decref(answer);
    }
    return rc;
}

int cs_fleet_server_send(struct cs_fleet_server *server, const struct cs_fleet_batch *batch,
                         struct cs_error *err)
{
    assert(batch->parts || batch->n_parts == 0);
    uint64_t attempt;
    int rc = is_there(server, batch, err);
    if (rc != 0)
        return rc < 0 ? rc : 0;
    if (getrandom(&attempt, sizeof attempt, 0) != sizeof attempt)
        return cs_fail(err, errno, "can't get random bytes: %s", strerror(errno));
    rc = send_images(server, batch, err);
    if (rc == 0)
        rc = send_symbols(server, batch, err);
    if (rc == 0)
        rc = send_points(server, batch, attempt, err);
    if (rc == 0)
        rc = send_completion(server, batch, attempt, err);
    return rc;
}
