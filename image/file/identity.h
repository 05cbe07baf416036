/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which image a file is: its GNU build-id (a note that the linker makes from the contents), else a hash of
 * what it holds. The one reader of build-ids for sampler, importers and reports, so that all of them mean the
 * same image by the same text. Notes are walked by libelf. Pure but for reading; any thread. */
#pragma once

#include "store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Hex of 20 bytes and the end: the kernel tells no longer ones, and fewer than 4 bytes identify nothing. */
#define CS_IMAGE_BUILD_ID_MAX 41

/* Each fills `hex`, "" where there is none. Of bare notes in the machine's byte order, as the kernel shows its own in
 * /sys/kernel/notes. */
void cs_image_build_id_of_notes(const void *notes, size_t n, char hex[CS_IMAGE_BUILD_ID_MAX]);
/* Of an id's bytes. */
void cs_image_build_id_text(const uint8_t *bytes, size_t n, char hex[CS_IMAGE_BUILD_ID_MAX]);

/* Is the file at `path`, of this build-id, the image that was profiled? By build-id, else by what it holds; an image of
 * which neither is known (imported) takes any file of its name. */
bool cs_image_is_file(const struct cs_store_image *image, const char *build_id, const char *path);
/* The store's id of a file without build-id: "c" and a hash of its first 16 MB, 256 pieces of the rest, and its size. */
void cs_image_identity_of_file(int fd, char id[CS_IMAGE_ID_MAX]);
