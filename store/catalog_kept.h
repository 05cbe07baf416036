/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The beginnings of all files of an epoch, in one piece: small files whole, of others the head. Made by a walk; that of
 * an epoch whose writer has closed it is kept in EPOCH/.catalog, so that 500 files are one read. A folder's time of
 * change shows whether it is as it was. The kept piece is used folder by folder, and may be deleted. The code that takes
 * an epoch's lock removes it first, so that no change within one tick of the clock is missed. For store/ only.
 *
 * In EPOCH/.catalog: "CSCT", u8 1, u64 XXH64 of what follows, then for each image, ascending by id:
 *     u32 bytes of what follows | text id | u64 time of change, ns | u8 has image.names | file image.meta
 *     | varint number of profiles | for each: text name | file
 * A file: varint its bytes, varint how many of them follow, the bytes. 0 of 1: there is no such file. */
#pragma once

#include "store/file.h"

#include <stdbool.h>

struct cs_catalog_file {
    const uint8_t *bytes; /* the first n_held; NULL: there is no such file */
    uint64_t n_held, n_bytes;
};

struct cs_catalog_folder {
    char id[256]; /* of the image, unchecked */
    uint64_t changed_ns, n_profiles;
    bool has_names;
    struct cs_catalog_file meta;
    struct cs_bytes_cursor profiles; /* for cs_catalog_take_profile, n_profiles times */
};

/* Appends the folders of the epoch at `path` to `out`, from what is kept or from the files. */
int cs_catalog_gather(const char *path, struct cs_bytes *out, struct cs_error *err);
/* The next folder of such bytes; false at the end or where they make no sense (cursor->bad). */
bool cs_catalog_take_folder(struct cs_bytes_cursor *cursor, struct cs_catalog_folder *folder);
bool cs_catalog_take_profile(struct cs_bytes_cursor *cursor, char name[256], struct cs_catalog_file *file);

/* Keeps that of an epoch which its writer has done with. Failures cost readers time only. */
void cs_catalog_keep(const char *path);
/* For whoever holds the epoch's lock, before the first change. */
void cs_catalog_drop(const char *path);
