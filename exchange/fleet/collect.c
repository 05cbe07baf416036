/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is new in a store becomes batches. A profile whose file has the noted time and size has nothing new. For the
 * others the difference to what is known goes into the batch, and the knowledge is written after the batch. */
#include "exchange/fleet/spool_internal.h"
#include "image/code.h"
#include "store/base/array.h"
#include "store/base/bytes.h"
#include "store/catalog.h"
#include "store/file.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct collecting {
    struct cs_fleet_spool *spool;
    struct cs_store *store;
    const struct cs_fleet_spool_settings *settings;
    struct cs_fleet_spool_made *made;
    struct cs_error *err;
    struct cs_fleet_batch batch; /* being filled */
    struct pending {
        struct cs_fleet_sent k; /* without its points: they are in bytes */
        struct cs_bytes bytes;
    } * pending; /* one a part */
    uint64_t waiting_bytes;
    struct cs_image_code *code; /* of the image looked at last */
    char code_id[CS_IMAGE_ID_MAX];
    unsigned parts_capacity, pending_capacity;
};

static int code_of(struct collecting *c, const struct cs_store_image *image)
{
    if (c->code && strcmp(c->code_id, image->id) == 0)
        return 0;
    if (c->code)
        cs_image_close(c->code);
    c->code = NULL;
    snprintf(c->code_id, sizeof c->code_id, "%s", image->id);
    return cs_image_open(image, c->store, &c->code, c->err);
}

static int add_new(struct collecting *c, struct cs_table *to, uint64_t offset, uint64_t samples)
{
    const struct cs_image_procedure *p = cs_image_procedure_at(c->code, offset);
    int64_t name = cs_table_text(to, p ? p->name : "");
    uint64_t row[] = {offset, p ? p->start : 0, p ? p->size : 0, (uint64_t)name, samples};
    return name < 0 || cs_table_add(to, row) < 0 ? cs_fleet_spool_no_memory(c->err) : 0;
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

static int add_part(struct collecting *c, const struct cs_store_profile_ref *ref, struct cs_fleet_sent *k,
                    struct cs_table *difference_table)
{
    if (cs_array_room(c->batch.parts, c->batch.n_parts, c->parts_capacity) < 0 ||
        cs_array_room(c->pending, c->batch.n_parts, c->pending_capacity) < 0)
        return cs_fleet_spool_no_memory(c->err);
    struct pending *p = &c->pending[c->batch.n_parts];
    *p = (struct pending){0};
    bool first = k->sequence == 0;
    k->sequence = c->spool->next;
    k->head = *ref->head;
    int rc = cs_fleet_sent_encode(k, &p->bytes, c->err);
    if (rc < 0) {
        cs_bytes_fini(&p->bytes);
        return rc;
    }
    p->k.path = k->path;
    p->k.directory = k->directory;
    struct cs_fleet_batch_part *part = &c->batch.parts[c->batch.n_parts++];
    *part = (struct cs_fleet_batch_part){.image = *ref->image, .table = difference_table};
    uint64_t epoch_s = cs_fleet_epoch_time(ref->epoch);
    part->time_s = first && epoch_s ? epoch_s : c->settings->now_s;
    snprintf(part->epoch, sizeof part->epoch, "%s", ref->epoch);
    if (c->settings->host)
        snprintf(part->host, sizeof part->host, "%s", c->settings->host);
    else
        cs_fleet_epoch_host(ref->epoch, part->host, sizeof part->host);
    snprintf(part->path, sizeof part->path, "%s", ref->image->path);
    snprintf(part->build_id, sizeof part->build_id, "%s", ref->image->build_id);
    snprintf(part->event, sizeof part->event, "%s", ref->head->event);
    snprintf(part->label, sizeof part->label, "%s", ref->head->label);
    c->batch.rows += cs_table_rows(difference_table);
    c->batch.samples += cs_table_sum(difference_table, CS_FLEET_BATCH_SAMPLES);
    return 0;
}

static void forget_batch(struct collecting *c)
{
    for (unsigned i = 0; i < c->batch.n_parts; i++)
        cs_bytes_fini(&c->pending[i].bytes);
    cs_fleet_batch_fini(&c->batch);
    c->parts_capacity = c->pending_capacity = 0;
    free(c->pending);
    c->pending = NULL;
}

static int finish_batch(struct collecting *c)
{
    struct cs_fleet_spool *spool = c->spool;
    struct cs_store_pathname path;
    struct cs_bytes bytes = {0};
    if (c->batch.n_parts == 0)
        return 0;
    c->batch.spool = spool->number;
    c->batch.sequence = spool->next++;
    int rc = cs_fleet_spool_write(spool, c->err);
    if (rc == 0)
        rc = cs_store_pathname_join(&path, c->err, "%s/" BATCH_PREFIX "%016" PRIx64, spool->path,
                                    c->batch.sequence);
    if (rc == 0)
        rc = cs_fleet_batch_encode(&c->batch, &bytes) < 0 ? cs_fleet_spool_no_memory(c->err)
                                                          : cs_store_file_replace(path.text, &bytes, c->err);
    for (unsigned i = 0; rc == 0 && i < c->batch.n_parts; i++)
        rc = cs_fleet_sent_store(&c->pending[i].k, &c->pending[i].bytes, c->err);
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
static int is_unchanged(const struct cs_fleet_sent *k, const struct stat *st)
{
    return k->source_bytes == (uint64_t)st->st_size &&
           k->source_ns == (uint64_t)st->st_mtim.tv_sec * 1000000000u + (uint64_t)st->st_mtim.tv_nsec;
}

static int collect_changed(struct collecting *c, const struct cs_store_profile_ref *ref,
                           struct cs_fleet_sent *k, const struct stat *st)
{
    struct cs_table *now = NULL, *changed = cs_table_open(&cs_schema_batch);
    struct cs_store_profile_ref file = *ref;
    file.bytes = NULL; /* what the catalogue holds of it is older than `st` */
    int rc = changed ? cs_store_load(&file, &now, c->err) : cs_fleet_spool_no_memory(c->err);
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

static int collect_profile(struct collecting *c, const struct cs_store_profile_ref *ref)
{
    struct cs_fleet_sent k = {0};
    struct stat st;
    if (c->waiting_bytes >= c->settings->most_bytes) {
        c->made->full = true;
        return 0;
    }
    /* Its time before its contents: a merge in between is seen next time. */
    if (stat(ref->file, &st) < 0)
        return errno == ENOENT ? 0 : cs_fail(c->err, errno, "%s: %s", ref->file, strerror(errno));
    int rc = cs_fleet_sent_path(c->spool->path, ref->epoch, ref->image->id, ref->head->event,
                                ref->head->label, &k, c->err);
    if (rc == 0)
        rc = cs_fleet_sent_read(&k, c->err);
    if (rc == 0 && !is_unchanged(&k, &st))
        rc = collect_changed(c, ref, &k, &st);
    cs_fleet_sent_fini(&k);
    if (rc == 0 && c->batch.rows >= c->settings->most_rows)
        rc = finish_batch(c);
    return rc;
}

/* Epochs that are gone need no memory. */
static void forget_epochs(const struct cs_fleet_spool *spool, struct cs_store *store)
{
    struct cs_store_pathname known, path;
    struct cs_store_listing epochs, files;
    struct cs_error ignored;
    if (cs_store_pathname_join(&known, &ignored, "%s/known", spool->path) < 0 ||
        cs_store_directory_list(known.text, &epochs, &ignored) < 0)
        return;
    for (size_t i = 0; i < epochs.n; i++) {
        if (cs_store_pathname_join(&path, &ignored, "%s/%s", cs_store_path(store), epochs.names[i]) < 0 ||
            access(path.text, F_OK) == 0 || errno != ENOENT ||
            cs_store_pathname_join(&path, &ignored, "%s/%s", known.text, epochs.names[i]) < 0 ||
            cs_store_directory_list(path.text, &files, &ignored) < 0)
            continue;
        for (size_t k = 0; k < files.n; k++) {
            struct cs_store_pathname file;
            if (cs_store_pathname_join(&file, &ignored, "%s/%s", path.text, files.names[k]) == 0)
                unlink(file.text);
        }
        rmdir(path.text);
        cs_store_listing_fini(&files);
    }
    cs_store_listing_fini(&epochs);
}

int cs_fleet_spool_collect(struct cs_fleet_spool *spool, struct cs_store *store,
                           const struct cs_fleet_spool_settings *settings, struct cs_fleet_spool_made *made,
                           struct cs_error *err)
{
    assert(!spool->is_new && spool->lock >= 0);
    struct collecting c = {.spool = spool, .store = store, .settings = settings, .made = made, .err = err};
    const struct cs_query points = {.kind = CS_KIND_POINTS};
    const struct cs_catalog *catalog;
    const struct cs_store_profile_ref *ref;
    uint64_t batches;
    *made = (struct cs_fleet_spool_made){0};
    int rc = cs_fleet_spool_waiting(spool, &batches, &c.waiting_bytes, err);
    cs_store_refresh(store); /* a service collects again and again */
    rc = rc < 0 ? rc : cs_store_catalog(store, &catalog, err);
    for (size_t at = 0; rc == 0 && !made->full && (ref = cs_catalog_next(catalog, &points, &at));)
        rc = collect_profile(&c, ref);
    if (rc == 0)
        rc = finish_batch(&c);
    forget_batch(&c);
    if (c.code)
        cs_image_close(c.code);
    if (rc == 0)
        forget_epochs(spool, store);
    return rc;
}
