/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What .eh_frame says about where procedures start and end: enough to find them in a stripped image, where
 * each function still has its frame description. Internal to image/. Linear in the section,
 * bounds-checked. */
#ifndef CS_IMAGE_EH_FRAME_H
#define CS_IMAGE_EH_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Calls `found` for each description; `continues` says that the frame is already made at its start, as in the
 * cold part of a function; `address` is where the section lies in the image, `ident` the start of its ELF
 * header. A damaged record is left out; where its end isn't known, it ends the walk. Returns the first
 * non-zero value of `found`, else 0. */
int cs_image_cfi_each(const unsigned char *ident, const uint8_t *section, size_t n, uint64_t address,
                      int (*found)(uint64_t start, uint64_t size, bool continues, void *arg), void *arg);

#endif
