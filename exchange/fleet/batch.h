/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Batches of new samples, and the server they go to.
 *
 * Files of this module:
 *   batch                a batch as bytes
 *   spool                batches that wait
 *   collect              what is new in a store becomes batches
 *   spool_internal       what these two share
 *   sent                 what earlier batches held
 *   clickhouse           the server and its tables
 *   clickhouse_send      a batch as rows
 *   clickhouse_internal  what these two share
 *   http                 requests by libcurl
 *   receiver             a receiver of profiles: OpenTelemetry's collector, Pyroscope, Parca
 *   receiver_sent        which epochs it has
 *
 * What is new in a store since the last time, in batches for a server that adds them up.
 *
 *      struct cs_fleet_spool *spool;
 *      cs_fleet_spool_open("STORE/.fleet/SERVER", &spool, &err);
 *      if (cs_fleet_spool_is_new(spool)) cs_fleet_spool_note_sent(...) for all that the server has; cs_fleet_spool_begin(...)
 *      cs_fleet_spool_collect(spool, store, &settings, &made, &err);
 *      cs_fleet_spool_each(spool, send, arg, &err);            // a batch for which `send` returns 0 is done
 *
 * Invariants: counts of a store only grow, so a batch is the difference between a profile and what earlier
 * batches held of it. A batch and that knowledge change together. The batch's file comes first, and opening a
 * spool brings the knowledge up to the last batch. So a crash between the two neither loses nor repeats a
 * count. Batches are numbered in order, and a number is never used again. The spool is bounded because a
 * store keeps what is in no batch yet. At the bound no new batch is made, and later ones cover more time.
 *
 * A lock file keeps others out. Profiles of points only. Depends on store/ and image/code.h.
 */
#pragma once

#include "store/store.h"

/* New counts of one profile: offset, procedure (its start), size, name (text) | samples. A point in no
 * procedure has procedure, size 0 and name "". */
extern const struct cs_schema cs_schema_batch;
enum {
    CS_FLEET_BATCH_OFFSET,
    CS_FLEET_BATCH_PROCEDURE,
    CS_FLEET_BATCH_SIZE,
    CS_FLEET_BATCH_NAME,
    CS_FLEET_BATCH_SAMPLES
};

#define CS_FLEET_BATCH_TEXT_MAX 4096

struct cs_fleet_batch_part {
    char epoch[256], host[256], path[CS_FLEET_BATCH_TEXT_MAX], build_id[128];
    struct cs_store_image image; /* path and build_id point at the texts above */
    char event[64], label[64];
    uint64_t time_s; /* since 1970 */
    struct cs_table *table;
};

struct cs_fleet_batch {
    uint64_t spool, sequence; /* together: which batch in the world */
    struct cs_fleet_batch_part *parts;
    unsigned n_parts;
    uint64_t rows, samples;
};

/* store/base/bytes.h's bytes; a batch that is damaged is refused in a sentence that names `path`. */
struct cs_bytes;
int cs_fleet_batch_encode(const struct cs_fleet_batch *batch, struct cs_bytes *out);
int cs_fleet_batch_decode(const uint8_t *bytes, size_t n, const char *path, struct cs_fleet_batch *out,
                          struct cs_error *err);
void cs_fleet_batch_fini(struct cs_fleet_batch *batch);

struct cs_fleet_spool;
int cs_fleet_spool_open(const char *directory, struct cs_fleet_spool **out, struct cs_error *err);
void cs_fleet_spool_close(struct cs_fleet_spool *spool);

/* A spool without a past doesn't know what the server has of this store already (it was removed, or the store
 * is a copy): tell it with cs_fleet_spool_note_sent, then cs_fleet_spool_begin. */
bool cs_fleet_spool_is_new(const struct cs_fleet_spool *spool);
int cs_fleet_spool_note_sent(struct cs_fleet_spool *spool, const char *epoch, const char *image_id,
                             const char *event, const char *label, uint64_t offset, uint64_t samples,
                             struct cs_error *err);
int cs_fleet_spool_begin(struct cs_fleet_spool *spool, struct cs_error *err);

struct cs_fleet_spool_settings {
    const char *host;    /* NULL = each epoch's own, see cs_fleet_epoch_host */
    uint64_t now_s;      /* time of counts that came since an earlier batch; an epoch's first ones have the
                            epoch's time */
    uint64_t most_bytes; /* of batches that wait */
    uint64_t most_rows;  /* of a batch: a new one begins after the profile that passes it */
};
struct cs_fleet_spool_made {
    uint64_t batches, rows, samples;
    bool full; /* there is more than the bound lets in */
};
int cs_fleet_spool_collect(struct cs_fleet_spool *spool, struct cs_store *store,
                           const struct cs_fleet_spool_settings *settings, struct cs_fleet_spool_made *made,
                           struct cs_error *err);

/* Oldest first. Stops at the first negative result and returns it. */
int cs_fleet_spool_each(struct cs_fleet_spool *spool,
                        int (*send)(const struct cs_fleet_batch *batch, void *arg, struct cs_error *err),
                        void *arg, struct cs_error *err);
/* Batches that wait, and their bytes. */
int cs_fleet_spool_waiting(const struct cs_fleet_spool *spool, uint64_t *batches, uint64_t *bytes,
                           struct cs_error *err);

/* The parts of an epoch's name, <UTC time>-<host>: the host (whole name where it has none), and the time (0
 * where it has none). */
void cs_fleet_epoch_host(const char *epoch, char *host, size_t capacity);
uint64_t cs_fleet_epoch_time(const char *epoch);
