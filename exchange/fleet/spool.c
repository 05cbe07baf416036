/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The spool's directory:
 *   spool                  its number and the next sequence, written before that sequence is used
 *   batch-<sequence>       a batch that waits
 *   known/<epoch>/<hash>   what batches held of one profile so far: the last of them that spoke of it, the
 *                          profile file's time and size then, and the points
 * Order of a batch: its number, its file, then what is known; opening repeats the last step for the last
 * batch. A profile is known up to a sequence, which makes that step idempotent. */
#include "image/code.h"
#include "exchange/fleet/batch.h"
#include "analysis/export_known.h"
#include "store/file.h"
#include "store/profile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#define BATCH_PREFIX "batch-"
#define SPOOL_FILE_BYTES 16

struct cs_spool {
    char path[CS_PATH_MAX / 2];
    int lock;
    uint64_t number, next;
    bool is_new;
    struct cs_known told; /* the profile that cs_spool_known spoke of last */
};

static int out_of_memory(struct cs_error *err)
{
    return cs_fail(err, ENOMEM, "out of memory while collecting what is new");
}

/* ---- opening ---- */

static int write_spool_file(const struct cs_spool *spool, struct cs_error *err)
{
    struct cs_path path;
    struct cs_bytes bytes = {0};
    cs_put_u64(&bytes, spool->number);
    cs_put_u64(&bytes, spool->next);
    int rc = cs_path_join(&path, err, "%s/spool", spool->path);
    if (rc == 0)
        rc = bytes.failed ? out_of_memory(err) : cs_file_replace(path.text, &bytes, err);
    cs_bytes_fini(&bytes);
    return rc;
}

static int read_spool_file(struct cs_spool *spool, struct cs_error *err)
{
    struct cs_path path;
    struct cs_bytes bytes = {0};
    uint64_t size;
    int rc = cs_path_join(&path, err, "%s/spool", spool->path);
    if (rc == 0)
        rc = cs_file_read(path.text, UINT64_MAX, &bytes, &size, err);
    if (rc == -ENOENT) {
        spool->is_new = true;
        rc = 0;
    } else if (rc == 0 && bytes.used != SPOOL_FILE_BYTES) {
        rc =
            cs_fail(err, EBADMSG, "%s is damaged: remove the spool, the server knows what it has", path.text);
    } else if (rc == 0) {
        struct cs_cursor from = {bytes.start, bytes.start + bytes.used, false};
        spool->number = cs_take_u64(&from);
        spool->next = cs_take_u64(&from);
    }
    cs_bytes_fini(&bytes);
    return rc;
}

static int each_waiting(const struct cs_spool *spool,
                        int (*visit)(const char *path, uint64_t bytes, void *arg, struct cs_error *err),
                        void *arg, struct cs_error *err)
{
    struct cs_listing listing;
    int rc = cs_directory_list(spool->path, &listing, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; rc == 0 && i < listing.n; i++) {
        struct cs_path path;
        struct stat st;
        const char *name = listing.names[i];
        if (strncmp(name, BATCH_PREFIX, strlen(BATCH_PREFIX)) != 0 || strchr(name, '.'))
            continue;
        rc = cs_path_join(&path, err, "%s/%s", spool->path, name);
        if (rc == 0 && stat(path.text, &st) == 0)
            rc = visit(path.text, (uint64_t)st.st_size, arg, err);
    }
    cs_listing_fini(&listing);
    return rc;
}

static int load_batch(const char *path, struct cs_batch *batch, struct cs_error *err)
{
    struct cs_bytes bytes = {0};
    uint64_t size;
    int rc = cs_file_read(path, UINT64_MAX, &bytes, &size, err);
    if (rc == 0)
        rc = cs_batch_decode(bytes.start, bytes.used, path, batch, err);
    cs_bytes_fini(&bytes);
    return rc;
}

static int remember_part(const struct cs_spool *spool, const struct cs_batch *batch,
                         const struct cs_batch_part *part, struct cs_error *err)
{
    struct cs_known k = {0};
    int rc = cs_known_path(spool->path, part->epoch, part->image.id, part->event, part->label, &k, err);
    if (rc == 0)
        rc = cs_known_read(&k, err);
    if (rc == 0 && k.sequence < batch->sequence) {
        for (size_t i = 0; rc == 0 && i < cs_table_rows(part->table); i++) {
            const uint64_t *row = cs_table_row(part->table, i);
            rc = cs_table_add(k.points, (uint64_t[]){row[CS_BATCH_OFFSET], row[CS_BATCH_SAMPLES]});
        }
        k.sequence = batch->sequence;
        k.source_ns = k.source_bytes = 0; /* look at the profile again */
        snprintf(k.head.event, sizeof k.head.event, "%s", part->event);
        rc = rc < 0 ? out_of_memory(err) : cs_known_write(&k, err);
    }
    cs_known_fini(&k);
    return rc;
}

static int keep_last(const char *path, uint64_t bytes, void *arg, struct cs_error *err)
{
    (void)bytes;
    (void)err;
    snprintf(((struct cs_path *)arg)->text, CS_PATH_MAX, "%s", path);
    return 0;
}

/* The only batch whose counts may not be known yet is the last one. */
static int finish_last(struct cs_spool *spool, struct cs_error *err)
{
    struct cs_path last = {.text = ""};
    struct cs_batch batch = {0};
    int rc = each_waiting(spool, keep_last, &last, err);
    if (rc == 0 && last.text[0])
        rc = load_batch(last.text, &batch, err);
    for (unsigned i = 0; rc == 0 && i < batch.n_parts; i++)
        rc = remember_part(spool, &batch, &batch.parts[i], err);
    cs_batch_fini(&batch);
    return rc;
}

/* "a/b/c": makes a, a/b, a/b/c. */
static int make_directories(const char *path, struct cs_error *err)
{
    struct cs_path part;
    int rc = cs_path_join(&part, err, "%s", path);
    for (char *at = part.text + 1; rc == 0 && (at = strchr(at, '/')) != NULL; *at++ = '/') {
        *at = '\0';
        if (access(part.text, F_OK) < 0)
            rc = cs_directory_make(part.text, NULL, err);
    }
    return rc < 0 ? rc : cs_directory_make(path, NULL, err);
}

int cs_spool_open(const char *directory, struct cs_spool **out, struct cs_error *err)
{
    struct cs_path known;
    struct cs_spool *spool = calloc(1, sizeof *spool);
    *out = NULL;
    if (!spool)
        return out_of_memory(err);
    spool->lock = -1;
    int n = snprintf(spool->path, sizeof spool->path, "%s", directory), rc = 0;
    if ((size_t)n >= sizeof spool->path)
        rc = cs_fail(err, ENAMETOOLONG, "%s: the spool's path is too long", directory);
    if (rc == 0)
        rc = make_directories(spool->path, err);
    if (rc == 0)
        rc = cs_path_join(&known, err, "%s/known", spool->path);
    if (rc == 0)
        rc = cs_directory_make(known.text, NULL, err);
    if (rc == 0)
        rc = spool->lock = cs_lock(spool->path, err);
    if (rc >= 0)
        rc = read_spool_file(spool, err);
    if (rc == 0 && !spool->is_new)
        rc = finish_last(spool, err);
    if (rc < 0)
        cs_spool_close(spool);
    else
        *out = spool;
    return rc < 0 ? rc : 0;
}

void cs_spool_close(struct cs_spool *spool)
{
    if (!spool)
        return;
    cs_known_fini(&spool->told);
    if (spool->lock >= 0)
        cs_unlock(spool->lock);
    free(spool);
}

/* ---- a new spool learns what the server has ---- */

bool cs_spool_is_new(const struct cs_spool *spool)
{
    return spool->is_new;
}

static int write_told(struct cs_spool *spool, struct cs_error *err)
{
    int rc = spool->told.points ? cs_known_write(&spool->told, err) : 0;
    cs_known_fini(&spool->told);
    return rc;
}

int cs_spool_known(struct cs_spool *spool, const char *epoch, const char *image_id, const char *event,
                   const char *label, uint64_t offset, uint64_t samples, struct cs_error *err)
{
    struct cs_known next = {0};
    int rc = cs_known_path(spool->path, epoch, image_id, event, label, &next, err);
    if (rc == 0 && (!spool->told.points || strcmp(next.path.text, spool->told.path.text) != 0)) {
        rc = write_told(spool, err);
        if (rc == 0) {
            spool->told = next;
            rc = cs_known_read(&spool->told, err);
            snprintf(spool->told.head.event, sizeof spool->told.head.event, "%s", event);
        }
    }
    return rc == 0 && cs_table_add(spool->told.points, (uint64_t[]){offset, samples}) < 0 ? out_of_memory(err)
                                                                                          : rc;
}

int cs_spool_begin(struct cs_spool *spool, struct cs_error *err)
{
    int rc = write_told(spool, err);
    if (rc < 0)
        return rc;
    if (getrandom(&spool->number, sizeof spool->number, 0) != sizeof spool->number)
        return cs_fail(err, errno, "can't get random bytes: %s", strerror(errno));
    spool->next = 1;
    spool->is_new = false;
    return write_spool_file(spool, err);
}

/* ---- collecting ---- */

struct collecting {
    struct cs_spool *spool;
    struct cs_store *store;
    const struct cs_spool_settings *settings;
    struct cs_spool_made *made;
    struct cs_error *err;
    struct cs_batch batch; /* being filled */
    struct pending {
        struct cs_known k; /* without its points: they are in bytes */
        struct cs_bytes bytes;
    } * pending; /* one a part */
    uint64_t waiting_bytes;
    struct cs_code *code; /* of the image looked at last */
    char code_id[CS_IMAGE_ID_MAX];
    unsigned room;
};

static int code_of(struct collecting *c, const struct cs_image *image)
{
    if (c->code && strcmp(c->code_id, image->id) == 0)
        return 0;
    if (c->code)
        cs_code_close(c->code);
    c->code = NULL;
    snprintf(c->code_id, sizeof c->code_id, "%s", image->id);
    return cs_code_open(image, c->store, &c->code, c->err);
}

static int add_new(struct collecting *c, struct cs_table *to, uint64_t offset, uint64_t samples)
{
    const struct cs_procedure *p = cs_code_procedure(c->code, offset);
    int64_t name = cs_table_text(to, p ? p->name : "");
    uint64_t row[] = {offset, p ? p->start : 0, p ? p->size : 0, (uint64_t)name, samples};
    return name < 0 || cs_table_add(to, row) < 0 ? out_of_memory(c->err) : 0;
}

/* Both ascend by offset. */
static int difference(struct collecting *c, struct cs_table *now, struct cs_table *before,
                      struct cs_table *to)
{
    size_t n = cs_table_rows(now), m = cs_table_rows(before), k = 0;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < n; i++) {
        const uint64_t *row = cs_table_row(now, i);
        while (k < m && cs_table_row(before, k)[0] < row[0])
            k++;
        uint64_t had = k < m && cs_table_row(before, k)[0] == row[0] ? cs_table_row(before, k)[1] : 0;
        if (row[1] > had)
            rc = add_new(c, to, row[0], row[1] - had);
    }
    return rc;
}

static int add_part(struct collecting *c, const struct cs_profile_ref *ref, struct cs_known *k,
                    struct cs_table *difference_table)
{
    if (c->batch.n_parts == c->room) {
        unsigned room = c->room ? 2 * c->room : 16;
        struct cs_batch_part *parts = realloc(c->batch.parts, room * sizeof *parts);
        if (parts)
            c->batch.parts = parts;
        struct pending *pending = realloc(c->pending, room * sizeof *pending);
        if (pending)
            c->pending = pending;
        if (!parts || !pending)
            return out_of_memory(c->err);
        c->room = room;
    }
    struct pending *p = &c->pending[c->batch.n_parts];
    *p = (struct pending){0};
    bool first = k->sequence == 0;
    k->sequence = c->spool->next;
    k->head = *ref->head;
    int rc = cs_known_encode(k, &p->bytes, c->err);
    if (rc < 0) {
        cs_bytes_fini(&p->bytes);
        return rc;
    }
    p->k.path = k->path;
    p->k.directory = k->directory;
    struct cs_batch_part *part = &c->batch.parts[c->batch.n_parts++];
    *part = (struct cs_batch_part){.image = *ref->image, .table = difference_table};
    uint64_t epoch_s = cs_epoch_time(ref->epoch);
    part->time_s = first && epoch_s ? epoch_s : c->settings->now_s;
    snprintf(part->epoch, sizeof part->epoch, "%s", ref->epoch);
    if (c->settings->host)
        snprintf(part->host, sizeof part->host, "%s", c->settings->host);
    else
        cs_epoch_host(ref->epoch, part->host, sizeof part->host);
    snprintf(part->path, sizeof part->path, "%s", ref->image->path);
    snprintf(part->build_id, sizeof part->build_id, "%s", ref->image->build_id);
    snprintf(part->event, sizeof part->event, "%s", ref->head->event);
    snprintf(part->label, sizeof part->label, "%s", ref->head->label);
    c->batch.rows += cs_table_rows(difference_table);
    c->batch.samples += cs_table_sum(difference_table, CS_BATCH_SAMPLES);
    return 0;
}

static void forget_batch(struct collecting *c)
{
    for (unsigned i = 0; i < c->batch.n_parts; i++)
        cs_bytes_fini(&c->pending[i].bytes);
    cs_batch_fini(&c->batch);
    c->room = 0;
    free(c->pending);
    c->pending = NULL;
}

static int finish_batch(struct collecting *c)
{
    struct cs_spool *spool = c->spool;
    struct cs_path path;
    struct cs_bytes bytes = {0};
    if (c->batch.n_parts == 0)
        return 0;
    c->batch.spool = spool->number;
    c->batch.sequence = spool->next++;
    int rc = write_spool_file(spool, c->err);
    if (rc == 0)
        rc = cs_path_join(&path, c->err, "%s/" BATCH_PREFIX "%016" PRIx64, spool->path, c->batch.sequence);
    if (rc == 0)
        rc = cs_batch_encode(&c->batch, &bytes) < 0 ? out_of_memory(c->err)
                                                    : cs_file_replace(path.text, &bytes, c->err);
    for (unsigned i = 0; rc == 0 && i < c->batch.n_parts; i++)
        rc = cs_known_store(&c->pending[i].k, &c->pending[i].bytes, c->err);
    if (rc == 0) {
        c->made->batches++;
        c->made->rows += c->batch.rows;
        c->made->samples += c->batch.samples;
        c->waiting_bytes += bytes.used;
    }
    cs_bytes_fini(&bytes);
    forget_batch(c);
    return rc;
}

/* 1 = nothing to do. */
static int is_unchanged(const struct cs_known *k, const struct stat *st)
{
    return k->source_bytes == (uint64_t)st->st_size &&
           k->source_ns == (uint64_t)st->st_mtim.tv_sec * 1000000000u + (uint64_t)st->st_mtim.tv_nsec;
}

static int collect_changed(struct collecting *c, const struct cs_profile_ref *ref, struct cs_known *k,
                           const struct stat *st)
{
    struct cs_table *now = NULL, *changed = cs_table_open(&cs_schema_batch);
    int rc = changed ? cs_store_load(ref, &now, c->err) : out_of_memory(c->err);
    if (rc == 0)
        rc = code_of(c, ref->image);
    if (rc == 0)
        rc = difference(c, now, k->points, changed);
    if (rc == 0 && cs_table_rows(changed) > 0) {
        cs_table_close(k->points);
        k->points = now;
        now = NULL;
        k->source_bytes = (uint64_t)st->st_size;
        k->source_ns = (uint64_t)st->st_mtim.tv_sec * 1000000000u + (uint64_t)st->st_mtim.tv_nsec;
        rc = add_part(c, ref, k, changed);
        if (rc == 0)
            changed = NULL; /* the batch has it */
    }
    cs_table_close(changed);
    cs_table_close(now);
    return rc;
}

static int collect_profile(const struct cs_profile_ref *ref, void *arg)
{
    struct collecting *c = arg;
    struct cs_known k = {0};
    struct stat st;
    if (strcmp(ref->kind, "points") != 0 || c->made->full)
        return 0;
    if (c->waiting_bytes >= c->settings->most_bytes) {
        c->made->full = true;
        return 0;
    }
    /* Its time before its contents: a merge in between is seen next time. */
    if (stat(ref->file, &st) < 0)
        return errno == ENOENT ? 0 : cs_fail(c->err, errno, "%s: %s", ref->file, strerror(errno));
    int rc = cs_known_path(c->spool->path, ref->epoch, ref->image->id, ref->head->event, ref->head->label, &k,
                           c->err);
    if (rc == 0)
        rc = cs_known_read(&k, c->err);
    if (rc == 0 && !is_unchanged(&k, &st))
        rc = collect_changed(c, ref, &k, &st);
    cs_known_fini(&k);
    if (rc == 0 && c->batch.rows >= c->settings->most_rows)
        rc = finish_batch(c);
    return rc;
}

/* Epochs that are gone need no memory. */
static void forget_epochs(const struct cs_spool *spool, struct cs_store *store)
{
    struct cs_path known, path;
    struct cs_listing epochs, files;
    struct cs_error ignored;
    if (cs_path_join(&known, &ignored, "%s/known", spool->path) < 0 ||
        cs_directory_list(known.text, &epochs, &ignored) < 0)
        return;
    for (size_t i = 0; i < epochs.n; i++) {
        if (cs_path_join(&path, &ignored, "%s/%s", cs_store_path(store), epochs.names[i]) < 0 ||
            access(path.text, F_OK) == 0 || errno != ENOENT ||
            cs_path_join(&path, &ignored, "%s/%s", known.text, epochs.names[i]) < 0 ||
            cs_directory_list(path.text, &files, &ignored) < 0)
            continue;
        for (size_t k = 0; k < files.n; k++) {
            struct cs_path file;
            if (cs_path_join(&file, &ignored, "%s/%s", path.text, files.names[k]) == 0)
                unlink(file.text);
        }
        rmdir(path.text);
        cs_listing_fini(&files);
    }
    cs_listing_fini(&epochs);
}

int cs_spool_collect(struct cs_spool *spool, struct cs_store *store, const struct cs_spool_settings *settings,
                     struct cs_spool_made *made, struct cs_error *err)
{
    struct collecting c = {.spool = spool, .store = store, .settings = settings, .made = made, .err = err};
    uint64_t batches;
    *made = (struct cs_spool_made){0};
    int rc = cs_spool_waiting(spool, &batches, &c.waiting_bytes, err);
    if (rc == 0)
        rc = cs_store_each(store, collect_profile, &c, err);
    if (rc == 0)
        rc = finish_batch(&c);
    forget_batch(&c);
    if (c.code)
        cs_code_close(c.code);
    if (rc == 0)
        forget_epochs(spool, store);
    return rc;
}

/* ---- sending ---- */

struct sending {
    int (*send)(const struct cs_batch *batch, void *arg, struct cs_error *err);
    void *arg;
};

static int send_one(const char *path, uint64_t bytes, void *arg, struct cs_error *err)
{
    struct sending *s = arg;
    struct cs_batch batch;
    (void)bytes;
    int rc = load_batch(path, &batch, err);
    if (rc < 0)
        return rc;
    rc = s->send(&batch, s->arg, err);
    cs_batch_fini(&batch);
    if (rc == 0 && unlink(path) < 0)
        rc = cs_fail(err, errno, "%s was sent but can't be removed: %s", path, strerror(errno));
    return rc;
}

int cs_spool_each(struct cs_spool *spool,
                  int (*send)(const struct cs_batch *batch, void *arg, struct cs_error *err), void *arg,
                  struct cs_error *err)
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

int cs_spool_waiting(const struct cs_spool *spool, uint64_t *batches, uint64_t *bytes, struct cs_error *err)
{
    uint64_t sums[2] = {0};
    int rc = each_waiting(spool, add_bytes, sums, err);
    *batches = sums[0];
    *bytes = sums[1];
    return rc;
}
