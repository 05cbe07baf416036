/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a spool's batches held of one profile so far. The file is SPOOL/known/<epoch>/<hash of image, event
 * and label>. It has the last batch's sequence, the profile file's time and size then, and the points. Only
 * for spool.c. */
#pragma once

#include "store/file.h"
#include "store/store.h"

struct cs_fleet_sent {
    struct cs_store_pathname path, directory;
    uint64_t sequence, source_ns, source_bytes;
    struct cs_store_profile_head head;
    struct cs_table *points;
};

int cs_fleet_sent_path(const char *spool, const char *epoch, const char *image, const char *event,
                       const char *label, struct cs_fleet_sent *k, struct cs_error *err);
/* A profile of which nothing is known has no points and sequence 0. */
int cs_fleet_sent_read(struct cs_fleet_sent *k, struct cs_error *err);
int cs_fleet_sent_encode(const struct cs_fleet_sent *k, struct cs_bytes *out, struct cs_error *err);
int cs_fleet_sent_store(const struct cs_fleet_sent *k, const struct cs_bytes *bytes, struct cs_error *err);
int cs_fleet_sent_write(const struct cs_fleet_sent *k, struct cs_error *err);
void cs_fleet_sent_fini(struct cs_fleet_sent *k);
