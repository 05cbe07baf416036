/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What .eh_frame says about where procedures start and end: enough to find them in a stripped image, where
 * each function still has its frame description. Internal to analysis/. Linear in the section,
 * bounds-checked. */
#ifndef CS_ANALYSIS_CFI_H
#define CS_ANALYSIS_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Calls `found` for each description; `continues` says that the frame is already made at its start, as in the
 * cold part of a function; `address` is where the section lies in the image. A damaged record ends the walk.
 * Returns the first non-zero value of `found`, else 0. */
int cs_cfi_each(const uint8_t *section, size_t n, uint64_t address,
                int (*found)(uint64_t start, uint64_t size, bool continues, void *arg), void *arg);

#endif
