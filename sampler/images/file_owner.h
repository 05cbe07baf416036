/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whose word a file is. Anybody can write root's build-id into a file of their own and run it first. A build-id alone
 * is therefore believed only of files that nobody but root or we may write. The id of any other image names its owner:
 *
 *     BUILD-ID               root's, ours
 *     BUILD-ID-u1000         user 1000's
 *     BUILD-ID-g27, -o       root's, but group 27, or everybody, may write it
 *
 * Pure but for the caller's own user; any thread. */
#pragma once

#include "store/store.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* A file as it was when it was looked at. */
struct cs_file_version {
    uint64_t device, inode;
    int64_t changed_ns;
    bool others; /* somebody else may write it */
};

struct cs_file_version cs_file_version_of(const struct stat *st);
bool cs_file_version_is(const struct cs_file_version *version, const struct stat *st);
/* Adds the owner to an image's id, where the file isn't root's or ours alone. */
void cs_file_owner_mark(const struct stat *st, char id[CS_IMAGE_ID_MAX]);
