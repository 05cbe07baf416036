/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The places of things in a store: FORMAT.md, "Directories and names". Pure. For store/ only. */
#pragma once

#include "store/store.h"

#include <stddef.h>

#define CS_PROFILE_SUFFIX ".prof"
#define CS_IMAGE_META "image.meta"
#define CS_IMAGE_NAMES "image.names"
#define CS_EPOCH_META "epoch.meta"
#define CS_EPOCH_COUNTERS "epoch.counters"
#define CS_PROFILE_NAME_MAX 256

/* "<event>[+<kind>][@<label>].prof": kind is left out for points; bytes other than letters, digits and
 * "_-.:=" are %XX; a name that would pass 200 bytes is cut and ends in "~" and the hash of the whole. */
void cs_store_profile_file_name(const char *event, const char *label, const char *kind,
                                char name[CS_PROFILE_NAME_MAX]);
/* 1 to 47 letters, digits, "_-.", not beginning with a dot. */
bool cs_store_image_id_valid(const char *id);
bool cs_store_name_ends(const char *name, const char *suffix);
