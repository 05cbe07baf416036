/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One file a profile, replaced as a whole: a crash leaves the old one or the new one. */
#include "exchange/fleet/sent.h"
#include "store/profile.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#define KNOWN_HEAD_BYTES 24

static int out_of_memory(struct cs_error *err)
{
    return cs_fail(err, ENOMEM, "out of memory while reading what a server has already");
}

int cs_fleet_sent_path(const char *spool, const char *epoch, const char *image, const char *event,
                       const char *label, struct cs_fleet_sent *k, struct cs_error *err)
{
    char key[CS_IMAGE_ID_MAX + 130];
    if (!*epoch || *epoch == '.' || strchr(epoch, '/')) /* it names a folder of ours */
        return cs_fail(err, EBADMSG, "\"%.80s\" is no epoch's name", epoch);
    int n = snprintf(key, sizeof key, "%s\n%s\n%s", image, event, label);
    int rc = cs_store_pathname_join(&k->directory, err, "%s/known/%s", spool, epoch);
    return rc < 0 ? rc
                  : cs_store_pathname_join(&k->path, err, "%s/%016" PRIx64, k->directory.text,
                                           XXH64(key, (size_t)n, 0));
}

/* A profile of which nothing is known has no points. */
int cs_fleet_sent_read(struct cs_fleet_sent *k, struct cs_error *err)
{
    struct cs_bytes bytes = {0};
    struct cs_store_profile_file file;
    uint64_t size = 0;
    k->sequence = k->source_ns = k->source_bytes = 0;
    k->points = NULL;
    int rc = cs_store_file_read(k->path.text, UINT64_MAX, &bytes, &size, err);
    if (rc == -ENOENT) {
        k->points = cs_table_open(&cs_schema_points);
        rc = k->points ? 0 : out_of_memory(err);
    } else if (rc == 0 && bytes.used < KNOWN_HEAD_BYTES) {
        rc = cs_fail(err, EBADMSG, "%s is damaged: remove the spool, the server knows what it has",
                     k->path.text);
    } else if (rc == 0) {
        struct cs_bytes_cursor from = {bytes.start, bytes.start + bytes.used, false};
        k->sequence = cs_bytes_take_u64(&from);
        k->source_ns = cs_bytes_take_u64(&from);
        k->source_bytes = cs_bytes_take_u64(&from);
        rc = cs_store_profile_decode(from.at, (size_t)(from.end - from.at), k->path.text, &file, &k->points,
                                     err);
        k->head = file.head;
    }
    cs_bytes_fini(&bytes);
    return rc;
}

int cs_fleet_sent_encode(const struct cs_fleet_sent *k, struct cs_bytes *out, struct cs_error *err)
{
    assert(k->points);
    cs_bytes_put_u64(out, k->sequence);
    cs_bytes_put_u64(out, k->source_ns);
    cs_bytes_put_u64(out, k->source_bytes);
    return cs_store_profile_encode(&k->head, k->points, out) < 0 ? out_of_memory(err) : 0;
}

int cs_fleet_sent_store(const struct cs_fleet_sent *k, const struct cs_bytes *bytes, struct cs_error *err)
{
    int rc = cs_store_directory_make(k->directory.text, NULL, err);
    return rc < 0 ? rc : cs_store_file_replace(k->path.text, bytes, err);
}

int cs_fleet_sent_write(const struct cs_fleet_sent *k, struct cs_error *err)
{
    struct cs_bytes bytes = {0};
    int rc = cs_fleet_sent_encode(k, &bytes, err);
    if (rc == 0)
        rc = cs_fleet_sent_store(k, &bytes, err);
    cs_bytes_fini(&bytes);
    return rc;
}

void cs_fleet_sent_fini(struct cs_fleet_sent *k)
{
    cs_table_close(k->points);
    k->points = NULL;
}
