/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One table as the bytes of a file, and back: store/FORMAT.md, "The container". Pure, no I/O. Canonical: the
 * bytes are a function of what the table holds, whatever the order it was filled in. For store/ and for those
 * who read a profile without a store. */
#pragma once

#include "store/base/bytes.h"
#include "store/base/error.h"
#include "store/store.h"

/* Bytes from the start of a file within which its head always ends. */
#define CS_PROFILE_HEAD_MAX 2048

/* What a file says before its rows. */
struct cs_store_profile_file {
    struct cs_store_profile_head head;
    struct cs_schema schema;
    uint64_t n_rows, n_texts;
    uint64_t raw_bytes, stored_bytes; /* of the body, as it is and as it is kept */
    size_t body_at;
    uint64_t body_checksum;
    unsigned version;
};

/* Appends the file to `out`. 0 or -ENOMEM; the table is only sorted. */
int cs_store_profile_encode(const struct cs_store_profile_head *head, struct cs_table *table,
                            struct cs_bytes *out);

/* Reads what stands before the rows. `n` bytes at `bytes` are the file's first ones (all of it or at least
 * CS_PROFILE_HEAD_MAX), `file_bytes` is its whole size, `path` is for the sentence. -EBADMSG: damaged;
 * -EPROTONOSUPPORT: written by a newer version. */
int cs_store_profile_decode_head(const uint8_t *bytes, size_t n, uint64_t file_bytes, const char *path,
                                 struct cs_store_profile_file *file, struct cs_error *err);
/* The whole file. The caller closes *table. */
int cs_store_profile_decode(const uint8_t *bytes, size_t n, const char *path,
                            struct cs_store_profile_file *file, struct cs_table **table,
                            struct cs_error *err);

/* into += from: sums saturate. -EINVAL where the events or units differ. */
int cs_store_profile_head_merge(struct cs_store_profile_head *into, const struct cs_store_profile_head *from);
