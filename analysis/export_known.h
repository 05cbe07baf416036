/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a spool's batches held of one profile so far: the file SPOOL/known/<epoch>/<hash of image, event and
 * label> has the last batch's sequence, the profile file's time and size then, and the points. For
 * export_spool.c alone. */
#ifndef CS_ANALYSIS_EXPORT_KNOWN_H
#define CS_ANALYSIS_EXPORT_KNOWN_H

#include "store/file.h"
#include "store/store.h"

struct cs_known {
    struct cs_path path, directory;
    uint64_t sequence, source_ns, source_bytes;
    struct cs_profile_head head;
    struct cs_table *points;
};

int cs_known_path(const char *spool, const char *epoch, const char *image, const char *event,
                  const char *label, struct cs_known *k, struct cs_error *err);
/* A profile of which nothing is known has no points and sequence 0. */
int cs_known_read(struct cs_known *k, struct cs_error *err);
int cs_known_encode(const struct cs_known *k, struct cs_bytes *out, struct cs_error *err);
int cs_known_store(const struct cs_known *k, const struct cs_bytes *bytes, struct cs_error *err);
int cs_known_write(const struct cs_known *k, struct cs_error *err);
void cs_known_fini(struct cs_known *k);

#endif
