/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/shared_code.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define KEPT_MAX 512
#define KEPT_BYTES                                                                                           \
    ((uint64_t)256 << 20) /* of those that were used last; unpacked debug information is large */

struct kept {
    char *path;
    char id[CS_IMAGE_ID_MAX];
    struct cs_image_code *code;
};

struct shared {
    unsigned n;
    struct kept at[KEPT_MAX]; /* the last one used first */
};

/* What has been unpacked since counts, too. The one used last stays, however large. */
static unsigned that_fit(const struct shared *shared)
{
    uint64_t bytes = 0;
    unsigned n = 0;
    while (n < shared->n && n + 1 < KEPT_MAX && (n == 0 || bytes <= KEPT_BYTES))
        bytes += cs_image_bytes_held(shared->at[n++].code);
    return bytes > KEPT_BYTES && n > 1 ? n - 1 : n;
}

static void drop(struct kept *kept)
{
    cs_image_close(kept->code);
    free(kept->path);
}

static void close_all(void *arg)
{
    struct shared *shared = arg;
    for (unsigned i = 0; i < shared->n; i++)
        drop(&shared->at[i]);
    free(shared);
}

static struct shared *shared_of(struct cs_store *store)
{
    struct shared *shared = cs_store_attached(store);
    if (!shared && (shared = calloc(1, sizeof *shared)) != NULL)
        cs_store_attach(store, shared, close_all);
    return shared;
}

static void to_front(struct shared *shared, unsigned i, const struct kept *kept)
{
    memmove(&shared->at[1], &shared->at[0], i * sizeof *kept);
    shared->at[0] = *kept;
}

int cs_image_open_shared(const struct cs_store_image *image, struct cs_store *store,
                         struct cs_image_code **out, struct cs_error *err)
{
    assert(image->id[0]);
    struct shared *shared = store ? shared_of(store) : NULL;
    const char *path = image->path ? image->path : "";
    for (unsigned i = 0; shared && i < shared->n; i++) {
        struct kept kept = shared->at[i];
        if (strcmp(kept.id, image->id) != 0 || strcmp(kept.path, path) != 0)
            continue;
        to_front(shared, i, &kept);
        *out = cs_image_share(kept.code);
        return 0;
    }
    int rc = cs_image_open(image, store, out, err);
    struct kept fresh = {.path = rc == 0 && shared ? strdup(path) : NULL};
    if (!fresh.path)
        return rc;
    memcpy(fresh.id, image->id, sizeof fresh.id);
    fresh.code = cs_image_share(*out);
    for (unsigned fit = that_fit(shared); shared->n > fit;)
        drop(&shared->at[--shared->n]);
    to_front(shared, shared->n++, &fresh);
    return 0;
}
