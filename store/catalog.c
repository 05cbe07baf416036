/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An image of many epochs is most often the same bytes in each: its image.meta is decoded once. */
#include "store/catalog.h"

#include "store/base/array.h"
#include "store/base/map.h"
#include "store/catalog_kept.h"
#include "store/layout.h"
#include "store/merge_file.h"
#include "store/store_open.h"
#include "store/table/dictionary.h"
#include "store/table/schema.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct known_image {
    struct cs_store_image image;
    const uint8_t *meta;
    size_t n_meta;
};

struct cs_store_catalog {
    struct cs_catalog shown;
    CS_ARRAY(struct cs_bytes) pieces; /* what profiles and images are read from */
    CS_ARRAY(struct known_image *) known;
    struct cs_map by_id;
    CS_ARRAY(struct cs_store_profile_ref) profiles;
    CS_ARRAY(struct cs_catalog_image) images;
    CS_ARRAY(struct cs_store_profile_head *) heads; /* of these profiles */
    struct cs_dictionary texts;
};

struct making {
    struct cs_store_catalog *c;
    struct cs_store *store;
    const char *path, *epoch; /* of the epoch at hand */
    struct cs_error *err;
};

static int no_memory(struct cs_error *err)
{
    return cs_fail(err, ENOMEM, "not enough memory for what the store holds");
}

/* A copy for as long as the catalogue lives; NULL when memory is short. */
static const char *text(struct cs_store_catalog *c, const char *of)
{
    int64_t i = cs_dictionary_add(&c->texts, of, strlen(of));
    return i < 0 ? NULL : c->texts.strings[i];
}

static int fill_image(struct making *m, const struct cs_catalog_folder *folder, struct cs_store_image *image)
{
    struct cs_store_pathname path;
    struct cs_store_profile_file file;
    struct cs_table *facts = NULL;
    int rc = cs_store_pathname_join(&path, m->err, "%s/%s/" CS_IMAGE_META, m->path, folder->id);
    if (rc == 0 && folder->meta.n_held == folder->meta.n_bytes && folder->meta.bytes)
        rc = cs_store_profile_decode(folder->meta.bytes, folder->meta.n_held, path.text, &file, &facts,
                                     m->err);
    else if (rc == 0)
        rc = cs_store_file_load(path.text, &file, &facts, m->err);
    if (rc < 0)
        return rc;
    if (!cs_schema_equal(cs_table_schema(facts), &cs_schema_facts)) {
        rc = cs_fail(m->err, EBADMSG, "%s is damaged (it holds no facts about an image)", path.text);
    } else {
        *image = (struct cs_store_image){
            .kind = (enum cs_store_image_kind)strtoul(cs_store_fact(facts, "kind"), NULL, 10),
            .path = text(m->c, cs_store_fact(facts, "path")),
            .build_id = text(m->c, cs_store_fact(facts, "build-id"))};
        memcpy(image->id, folder->id, strnlen(folder->id, sizeof image->id - 1));
        rc = image->path && image->build_id ? 0 : no_memory(m->err);
    }
    cs_table_close(facts);
    return rc;
}

const struct cs_store_image *cs_catalog_image(const struct cs_catalog *catalog, const char *id)
{
    /* `shown` is the first member. */
    const struct cs_store_catalog *c = (const struct cs_store_catalog *)catalog;
    uint32_t i;
    for (size_t step = 0; (i = cs_map_next(&c->by_id, cs_map_text(id), &step)) != CS_MAP_NONE;)
        if (strcmp(c->known.at[i]->image.id, id) == 0)
            return &c->known.at[i]->image;
    return NULL;
}

static int image_of(struct making *m, const struct cs_catalog_folder *folder,
                    const struct cs_store_image **out)
{
    struct cs_store_catalog *c = m->c;
    uint64_t hash = cs_map_text(folder->id);
    uint32_t i;
    for (size_t step = 0; (i = cs_map_next(&c->by_id, hash, &step)) != CS_MAP_NONE;) {
        const struct known_image *k = c->known.at[i];
        if (folder->meta.bytes && k->n_meta == folder->meta.n_held && k->n_meta == folder->meta.n_bytes &&
            strcmp(k->image.id, folder->id) == 0 && memcmp(k->meta, folder->meta.bytes, k->n_meta) == 0) {
            *out = &k->image;
            return 0;
        }
    }
    if (cs_array_reserve(&c->known, c->known.n + 1) < 0)
        return no_memory(m->err);
    struct known_image *k = calloc(1, sizeof *k);
    int rc = k ? fill_image(m, folder, &k->image) : no_memory(m->err);
    if (rc < 0) {
        free(k);
        return rc;
    }
    k->meta = folder->meta.bytes;
    k->n_meta = folder->meta.n_held;
    *out = &k->image;
    c->known.at[c->known.n++] = k;
    return cs_map_add(&c->by_id, hash, (uint32_t)c->known.n - 1) < 0 ? no_memory(m->err) : 0;
}

static int add_profile(struct making *m, const struct cs_store_image *image, const char *path,
                       const struct cs_catalog_file *held)
{
    struct cs_store_catalog *c = m->c;
    struct cs_store_profile_file file;
    int rc = cs_store_profile_decode_head(held->bytes, held->n_held, held->n_bytes, path, &file, m->err);
    if (rc < 0)
        return rc;
    struct cs_store_profile_head *head = malloc(sizeof *head), **kept = cs_array_add(&c->heads);
    struct cs_store_profile_ref *ref = cs_array_add(&c->profiles);
    if (!head || !kept || !ref) {
        free(head);
        c->heads.n -= kept != NULL;
        return no_memory(m->err);
    }
    *kept = head;
    *head = file.head;
    *ref = (struct cs_store_profile_ref){.epoch = m->epoch,
                                         .image = image,
                                         .head = head,
                                         .kind = cs_kind_of(&file.schema),
                                         .file = text(c, path),
                                         .checksum = file.body_checksum};
    if (held->n_held == held->n_bytes) {
        ref->bytes = held->bytes;
        ref->n_bytes = held->n_held;
    }
    ref->kind_name = ref->kind ? cs_kind_schema(ref->kind)->kind : text(c, file.schema.kind);
    return ref->file && ref->kind_name ? 0 : no_memory(m->err);
}

static int senseless(const struct making *m)
{
    return cs_fail(m->err, EBADMSG, "%s/.catalog makes no sense: remove it", m->path);
}

static int add_folder(struct making *m, struct cs_catalog_folder *folder)
{
    const struct cs_store_image *image = NULL;
    struct cs_store_pathname path;
    char name[256];
    struct cs_catalog_file file;
    int rc = 0;
    bool has_profile = false, is_first = !cs_catalog_image(&m->c->shown, folder->id);
    for (uint64_t i = 0; rc == 0 && i < folder->n_profiles; i++) {
        if (!cs_catalog_take_profile(&folder->profiles, name, &file))
            return senseless(m);
        if (!file.bytes) /* removed between listing and reading */
            continue;
        has_profile = true;
        if (!cs_store_image_id_valid(folder->id))
            return cs_fail(m->err, EBADMSG, "%s/%s is no image's directory: its name can't be an image's id",
                           m->path, folder->id);
        rc = cs_store_pathname_join(&path, m->err, "%s/%s/%s", m->path, folder->id, name);
        if (rc == 0 && !image)
            rc = image_of(m, folder, &image);
        rc = rc < 0 ? rc : add_profile(m, image, path.text, &file);
    }
    if (rc < 0 || (!has_profile && (!folder->meta.bytes || !cs_store_image_id_valid(folder->id))))
        return rc;
    rc = image ? 0 : image_of(m, folder, &image);
    struct cs_catalog_image *added = rc == 0 ? cs_array_add(&m->c->images) : NULL;
    if (added)
        *added = (struct cs_catalog_image){m->epoch, image, folder->has_names, is_first};
    return rc == 0 && !added ? no_memory(m->err) : rc;
}

/* The profile is from now on what is in `bytes`. */
static int put_cut(struct making *m, size_t i, struct cs_bytes *bytes)
{
    struct cs_store_profile_ref *ref = &m->c->profiles.at[i];
    struct cs_store_profile_file file;
    struct cs_bytes *piece = cs_array_add(&m->c->pieces);
    if (!piece) {
        cs_bytes_fini(bytes);
        return no_memory(m->err);
    }
    *piece = *bytes;
    ref->bytes = bytes->start;
    ref->n_bytes = bytes->used;
    int rc = cs_store_profile_decode_head(ref->bytes, ref->n_bytes, ref->n_bytes, ref->file, &file, m->err);
    ref->checksum = file.body_checksum;
    *m->c->heads.at[i] = file.head;
    return rc;
}

/* Of the profiles from `first` on, those of an epoch: what is seen of them. */
static int see_times(struct making *m, size_t first)
{
    struct cs_store_catalog *c = m->c;
    struct cs_times_cut cut = {m->store, {0, 0}, c->profiles.at + first, c->profiles.n - first};
    size_t kept = first;
    int rc = 0;
    if (!cs_times_cuts(&cut, m->epoch))
        return 0;
    for (size_t i = first; rc >= 0 && i < c->profiles.n; i++) {
        struct cs_bytes bytes = {0};
        rc = cs_times_cut_profile(&cut, &c->profiles.at[i], &bytes, m->err);
        if (rc == 0)
            c->profiles.at[i].kind_name = NULL; /* it goes, once all have been looked at */
        else if (bytes.used)
            rc = put_cut(m, i, &bytes);
    }
    for (size_t i = first; rc >= 0 && i < c->profiles.n; i++) {
        if (!c->profiles.at[i].kind_name) {
            free(c->heads.at[i]);
            continue;
        }
        c->heads.at[kept] = c->heads.at[i];
        c->profiles.at[kept++] = c->profiles.at[i];
    }
    if (rc >= 0)
        c->heads.n = c->profiles.n = kept;
    return rc < 0 ? rc : 0;
}

static int add_epoch(struct making *m, const char *name)
{
    const size_t first = m->c->profiles.n;
    struct cs_bytes *bytes = cs_array_add(&m->c->pieces);
    m->epoch = bytes ? text(m->c, name) : NULL;
    if (!m->epoch)
        return no_memory(m->err);
    int rc = cs_catalog_gather(m->path, bytes, m->err);
    struct cs_bytes_cursor cursor = {bytes->start, bytes->start + bytes->used, false};
    struct cs_catalog_folder folder;
    while (rc == 0 && cs_catalog_take_folder(&cursor, &folder))
        rc = add_folder(m, &folder);
    if (rc == 0 && cursor.bad)
        rc = senseless(m);
    return rc < 0 ? rc : see_times(m, first);
}

static void close_catalog(struct cs_store_catalog *c)
{
    for (size_t i = 0; i < c->pieces.n; i++)
        cs_bytes_fini(&c->pieces.at[i]);
    for (size_t i = 0; i < c->known.n; i++)
        free(c->known.at[i]);
    for (size_t i = 0; i < c->heads.n; i++)
        free(c->heads.at[i]);
    cs_array_free(&c->pieces);
    cs_array_free(&c->known);
    cs_array_free(&c->heads);
    cs_array_free(&c->profiles);
    cs_array_free(&c->images);
    cs_map_fini(&c->by_id);
    cs_dictionary_fini(&c->texts);
    free(c);
}

void cs_store_refresh(struct cs_store *store)
{
    if (store->catalog)
        close_catalog(store->catalog);
    store->catalog = NULL;
}

int cs_store_catalog(struct cs_store *store, const struct cs_catalog **out, struct cs_error *err)
{
    struct cs_store_listing listing;
    *out = NULL;
    if (store->catalog) {
        *out = &store->catalog->shown;
        return 0;
    }
    int rc = access(store->path, F_OK) < 0 && errno == ENOENT
                 ? cs_fail(err, ENOENT, "there is no store at %s", store->path)
                 : cs_store_directory_list(store->path, &listing, err);
    if (rc < 0)
        return rc;
    struct cs_store_catalog *c = calloc(1, sizeof *c);
    rc = c ? 0 : no_memory(err);
    for (size_t i = 0; rc == 0 && i < listing.n; i++) {
        struct cs_store_pathname path;
        struct making m = {c, store, path.text, NULL, err};
        if (!cs_store_sees(store, listing.names[i]))
            continue;
        rc = cs_store_pathname_join(&path, err, "%s/%s", store->path, listing.names[i]);
        rc = rc < 0 ? rc : add_epoch(&m, listing.names[i]);
    }
    cs_store_listing_fini(&listing);
    if (rc < 0) {
        if (c)
            close_catalog(c);
        return rc;
    }
    c->shown = (struct cs_catalog){c->profiles.at, c->images.at, c->profiles.n, c->images.n};
    store->catalog = c;
    *out = &c->shown;
    return 0;
}
