/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copies of the files behind images: STORE/.images/<image id>.zst, so that a binary that is rebuilt or removed
 * keeps its names and lines. Bounded: where all together pass the bound the ones that were written first go.
 * Writers and readers may run at the same time: a copy appears whole. */
#pragma once

#include "store/base/error.h"

#include <stddef.h>
#include <stdint.h>

#define CS_KEPT_CODE_FILE_MAX (256ull << 20)  /* larger files aren't kept */
#define CS_KEPT_CODE_STORE_MAX (512ull << 20) /* all copies of a store, compressed */

/* Keeps what `fd` holds, unless it is kept already. 1 kept now, 0 there already or too large, or negative errno. */
int cs_kept_code_save(const char *store, const char *image_id, int fd, uint64_t store_max,
                      struct cs_error *err);
/* Keeps these bytes, in place of what is kept already. 1, 0 too large, or negative errno. */
int cs_kept_code_put(const char *store, const char *image_id, const void *bytes, size_t n, uint64_t store_max,
                     struct cs_error *err);
/* The bytes (malloc'ed; the caller frees them). -ENOENT: not kept; -EBADMSG: damaged. */
int cs_kept_code_load(const char *store, const char *image_id, char **bytes, size_t *n, struct cs_error *err);
/* Copies what another store keeps and this one doesn't. 0, or what couldn't be written; what can't be read there is
 * left out. */
int cs_kept_code_combine(const char *to_store, const char *from_store, uint64_t store_max,
                         struct cs_error *err);
/* Removes the copies of images of which no epoch has a profile. */
void cs_kept_code_sweep(const char *store);
