/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The spool's directory:
 *   spool                  its number and the next sequence, written before that sequence is used
 *   batch-<sequence>       a batch that waits
 *   known/<epoch>/<hash>   what batches held of one profile so far: the last of them that spoke of it, the
 *                          profile file's time and size then, and the points
 * Order of a batch: its number, its file, then what is known; opening repeats the last step for the last
 * batch. A profile is known up to a sequence, which makes that step idempotent. */
#include "exchange/fleet/spool_internal.h"
#include "store/file.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define SPOOL_FILE_BYTES 16

int cs_fleet_spool_no_memory(struct cs_error *err)
{
    return cs_fail(err, ENOMEM, "out of memory while collecting what is new");
}

/* ---- opening ---- */

int cs_fleet_spool_write(const struct cs_fleet_spool *spool, struct cs_error *err)
{
    assert(spool->lock >= 0);
    struct cs_store_pathname path;
    struct cs_bytes bytes = {0};
    cs_bytes_put_u64(&bytes, spool->number);
    cs_bytes_put_u64(&bytes, spool->next);
    int rc = cs_store_pathname_join(&path, err, "%s/spool", spool->path);
    if (rc == 0)
        rc = bytes.failed ? cs_fleet_spool_no_memory(err) : cs_store_file_replace(path.text, &bytes, err);
    cs_bytes_fini(&bytes);
    return rc;
}

static int read_spool_file(struct cs_fleet_spool *spool, struct cs_error *err)
{
    struct cs_store_pathname path;
    struct cs_bytes bytes = {0};
    uint64_t size;
    int rc = cs_store_pathname_join(&path, err, "%s/spool", spool->path);
    if (rc == 0)
        rc = cs_store_file_read(path.text, UINT64_MAX, &bytes, &size, err);
    if (rc == -ENOENT) {
        spool->is_new = true;
        rc = 0;
    } else if (rc == 0 && bytes.used != SPOOL_FILE_BYTES) {
        rc =
            cs_fail(err, EBADMSG, "%s is damaged: remove the spool, the server knows what it has", path.text);
    } else if (rc == 0) {
        struct cs_bytes_cursor from = {bytes.start, bytes.start + bytes.used, false};
        spool->number = cs_bytes_take_u64(&from);
        spool->next = cs_bytes_take_u64(&from);
    }
    cs_bytes_fini(&bytes);
    return rc;
}

static int each_waiting(const struct cs_fleet_spool *spool,
                        int (*visit)(const char *path, uint64_t bytes, void *arg, struct cs_error *err),
                        void *arg, struct cs_error *err)
{
    struct cs_store_listing listing;
    int rc = cs_store_directory_list(spool->path, &listing, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; rc == 0 && i < listing.n; i++) {
        struct cs_store_pathname path;
        struct stat st;
        const char *name = listing.names[i];
        if (strncmp(name, BATCH_PREFIX, strlen(BATCH_PREFIX)) != 0 || strchr(name, '.'))
            continue;
        rc = cs_store_pathname_join(&path, err, "%s/%s", spool->path, name);
        if (rc == 0 && stat(path.text, &st) == 0)
            rc = visit(path.text, (uint64_t)st.st_size, arg, err);
    }
    cs_store_listing_fini(&listing);
    return rc;
}

static int load_batch(const char *path, struct cs_fleet_batch *batch, struct cs_error *err)
{
    struct cs_bytes bytes = {0};
    uint64_t size;
    int rc = cs_store_file_read(path, UINT64_MAX, &bytes, &size, err);
    if (rc == 0)
        rc = cs_fleet_batch_decode(bytes.start, bytes.used, path, batch, err);
    cs_bytes_fini(&bytes);
    return rc;
}

static int remember_part(const struct cs_fleet_spool *spool, const struct cs_fleet_batch *batch,
                         const struct cs_fleet_batch_part *part, struct cs_error *err)
{
    struct cs_fleet_sent k = {0};
    int rc = cs_fleet_sent_path(spool->path, part->epoch, part->image.id, part->event, part->label, &k, err);
    if (rc == 0)
        rc = cs_fleet_sent_read(&k, err);
    if (rc == 0 && k.sequence < batch->sequence) {
        for (size_t i = 0; rc == 0 && i < cs_table_rows(part->table); i++) {
            const uint64_t *row = cs_table_row(part->table, i);
            rc =
                cs_table_add(k.points, (uint64_t[]){row[CS_FLEET_BATCH_OFFSET], row[CS_FLEET_BATCH_SAMPLES]});
        }
        k.sequence = batch->sequence;
        k.source_ns = k.source_bytes = 0; /* look at the profile again */
        snprintf(k.head.event, sizeof k.head.event, "%s", part->event);
        rc = rc < 0 ? cs_fleet_spool_no_memory(err) : cs_fleet_sent_write(&k, err);
    }
    cs_fleet_sent_fini(&k);
    return rc;
}

static int keep_last(const char *path, uint64_t bytes, void *arg, struct cs_error *err)
{
    (void)bytes;
    (void)err;
    snprintf(((struct cs_store_pathname *)arg)->text, CS_STORE_PATHNAME_MAX, "%s", path);
    return 0;
}

/* The only batch whose counts may not be known yet is the last one. */
static int finish_last(struct cs_fleet_spool *spool, struct cs_error *err)
{
    struct cs_store_pathname last = {.text = ""};
    struct cs_fleet_batch batch = {0};
    int rc = each_waiting(spool, keep_last, &last, err);
    if (rc == 0 && last.text[0])
        rc = load_batch(last.text, &batch, err);
    for (unsigned i = 0; rc == 0 && i < batch.n_parts; i++)
        rc = remember_part(spool, &batch, &batch.parts[i], err);
    cs_fleet_batch_fini(&batch);
    return rc;
}

/* "a/b/c": makes a, a/b, a/b/c. */
static int make_directories(const char *path, struct cs_error *err)
{
    struct cs_store_pathname part;
    int rc = cs_store_pathname_join(&part, err, "%s", path);
    for (char *at = part.text + 1; rc == 0 && (at = strchr(at, '/')) != NULL; *at++ = '/') {
        *at = '\0';
        if (access(part.text, F_OK) < 0)
            rc = cs_store_directory_make(part.text, NULL, err);
    }
    return rc < 0 ? rc : cs_store_directory_make(path, NULL, err);
}

int cs_fleet_spool_open(const char *directory, struct cs_fleet_spool **out, struct cs_error *err)
{
    struct cs_store_pathname known;
    struct cs_fleet_spool *spool = calloc(1, sizeof *spool);
    *out = NULL;
    if (!spool)
        return cs_fleet_spool_no_memory(err);
    spool->lock = -1;
    int n = snprintf(spool->path, sizeof spool->path, "%s", directory), rc = 0;
    if ((size_t)n >= sizeof spool->path)
        rc = cs_fail(err, ENAMETOOLONG, "%s: the spool's path is too long", directory);
    if (rc == 0)
        rc = make_directories(spool->path, err);
    if (rc == 0)
        rc = cs_store_pathname_join(&known, err, "%s/known", spool->path);
    if (rc == 0)
        rc = cs_store_directory_make(known.text, NULL, err);
    if (rc == 0)
        rc = spool->lock = cs_store_lock(spool->path, err);
    if (rc >= 0)
        rc = read_spool_file(spool, err);
    if (rc == 0 && !spool->is_new)
        rc = finish_last(spool, err);
    if (rc < 0)
        cs_fleet_spool_close(spool);
    else
        *out = spool;
    return rc < 0 ? rc : 0;
}

void cs_fleet_spool_close(struct cs_fleet_spool *spool)
{
    if (!spool)
        return;
    cs_fleet_sent_fini(&spool->told);
    if (spool->lock >= 0)
        cs_store_unlock(spool->lock);
    free(spool);
}

/* ---- a new spool learns what the server has ---- */

bool cs_fleet_spool_is_new(const struct cs_fleet_spool *spool)
{
    return spool->is_new;
}

static int write_told(struct cs_fleet_spool *spool, struct cs_error *err)
{
    int rc = spool->told.points ? cs_fleet_sent_write(&spool->told, err) : 0;
    cs_fleet_sent_fini(&spool->told);
    return rc;
}

int cs_fleet_spool_note_sent(struct cs_fleet_spool *spool, const char *epoch, const char *image_id,
                             const char *event, const char *label, uint64_t offset, uint64_t samples,
                             struct cs_error *err)
{
    struct cs_fleet_sent next = {0};
    int rc = cs_fleet_sent_path(spool->path, epoch, image_id, event, label, &next, err);
    if (rc == 0 && (!spool->told.points || strcmp(next.path.text, spool->told.path.text) != 0)) {
        rc = write_told(spool, err);
        if (rc == 0) {
            spool->told = next;
            rc = cs_fleet_sent_read(&spool->told, err);
            snprintf(spool->told.head.event, sizeof spool->told.head.event, "%s", event);
        }
    }
    return rc == 0 && cs_table_add(spool->told.points, (uint64_t[]){offset, samples}) < 0
               ? cs_fleet_spool_no_memory(err)
               : rc;
}

int cs_fleet_spool_begin(struct cs_fleet_spool *spool, struct cs_error *err)
{
    assert(spool->is_new);
    int rc = write_told(spool, err);
    if (rc < 0)
        return rc;
    if (getrandom(&spool->number, sizeof spool->number, 0) != sizeof spool->number)
        return cs_fail(err, errno, "can't get random bytes: %s", strerror(errno));
    spool->next = 1;
    spool->is_new = false;
    return cs_fleet_spool_write(spool, err);
}

/* ---- sending ---- */

struct sending {
    int (*send)(const struct cs_fleet_batch *batch, void *arg, struct cs_error *err);
    void *arg;
};

static int send_one(const char *path, uint64_t bytes, void *arg, struct cs_error *err)
{
    struct sending *s = arg;
    struct cs_fleet_batch batch;
    (void)bytes;
    int rc = load_batch(path, &batch, err);
    if (rc < 0)
        return rc;
    rc = s->send(&batch, s->arg, err);
    cs_fleet_batch_fini(&batch);
    if (rc == 0 && unlink(path) < 0)
        rc = cs_fail(err, errno, "%s was sent but can't be removed: %s", path, strerror(errno));
    return rc;
}

int cs_fleet_spool_each(struct cs_fleet_spool *spool,
                        int (*send)(const struct cs_fleet_batch *batch, void *arg, struct cs_error *err),
                        void *arg, struct cs_error *err)
{
    struct sending s = {send, arg};
    return each_waiting(spool, send_one, &s, err);
}

static int add_bytes(const char *path, uint64_t bytes, void *arg, struct cs_error *err)
{
    uint64_t *sums = arg;
    (void)path;
    (void)err;
    sums[0]++;
    sums[1] += bytes;
    return 0;
}

int cs_fleet_spool_waiting(const struct cs_fleet_spool *spool, uint64_t *batches, uint64_t *bytes,
                           struct cs_error *err)
{
    uint64_t sums[2] = {0};
    int rc = each_waiting(spool, add_bytes, sums, err);
    *batches = sums[0];
    *bytes = sums[1];
    return rc;
}
