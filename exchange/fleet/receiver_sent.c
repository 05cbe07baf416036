/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exchange/fleet/receiver_sent.h"
#include "store/file.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define FILE_BYTES (16u << 20) /* some hundred thousand names */

struct cs_receiver_sent {
    struct cs_store_pathname path;
    struct cs_bytes names; /* a line each */
    int lock;
};

int cs_receiver_sent_open(const char *store, const char *receiver, struct cs_receiver_sent **out,
                          struct cs_error *err)
{
    struct cs_store_pathname directory;
    struct cs_receiver_sent *sent = calloc(1, sizeof *sent);
    uint64_t size;
    *out = NULL;
    if (!sent)
        return cs_fail(err, ENOMEM, "no memory for what was sent");
    sent->lock = -1;
    int rc = cs_store_pathname_join(&directory, err, "%s/.fleet", store);
    if (rc == 0)
        rc = cs_store_pathname_join(&sent->path, err, "%s/otlp-%016" PRIx64, directory.text,
                                    (uint64_t)XXH64(receiver, strlen(receiver), 0));
    if (rc == 0)
        rc = cs_store_directory_make(directory.text, NULL, err);
    if (rc == 0)
        rc = sent->lock = cs_store_lock(directory.text, err);
    if (rc >= 0)
        rc = cs_store_file_read(sent->path.text, FILE_BYTES, &sent->names, &size, err);
    if (rc == -ENOENT && sent->lock >= 0)
        rc = 0;
    else if (rc == 0 && size > FILE_BYTES)
        rc = cs_fail(err, EFBIG, "%s is too long to be a list of epochs: remove it, and all are sent again",
                     sent->path.text);
    if (rc < 0) {
        cs_receiver_sent_close(sent);
        return rc;
    }
    *out = sent;
    return 0;
}

void cs_receiver_sent_close(struct cs_receiver_sent *sent)
{
    if (!sent)
        return;
    if (sent->lock >= 0)
        cs_store_unlock(sent->lock);
    cs_bytes_fini(&sent->names);
    free(sent);
}

bool cs_receiver_sent_has(const struct cs_receiver_sent *sent, const char *epoch)
{
    const char *at = (const char *)sent->names.start, *end = at + sent->names.used;
    const size_t n = strlen(epoch);
    while (at < end) {
        const char *line = memchr(at, '\n', (size_t)(end - at));
        const size_t length = (size_t)((line ? line : end) - at);
        if (length == n && memcmp(at, epoch, n) == 0)
            return true;
        at += length + 1;
    }
    return false;
}

int cs_receiver_sent_add(struct cs_receiver_sent *sent, const char *epoch, struct cs_error *err)
{
    assert(epoch[0]);
    cs_bytes_put_raw(&sent->names, epoch, strlen(epoch));
    cs_bytes_put_u8(&sent->names, '\n');
    return sent->names.failed ? cs_fail(err, ENOMEM, "no memory for what was sent")
                              : cs_store_file_replace(sent->path.text, &sent->names, err);
}
