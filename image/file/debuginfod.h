/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Executables and debug files that only a debuginfod server still has: asked for by build-id, and kept.
 *
 * Nobody is asked unless DEBUGINFOD_URLS names a server, and only by cs_debuginfod_ask. Opening an image looks only at
 * what is kept. The program debuginfod-find asks, as a child with bounds of bytes, memory and time, in a folder that
 * goes with it. What it brings is a stranger's word. It is kept only where it is an ELF file of that build-id, and read
 * as every image is.
 *
 * Kept in the user's cache (store/base/cache.h), of which the longest unused go beyond CS_DEBUGINFOD_KEPT_MAX. What
 * nobody had isn't asked for again for ten minutes. One thread. */
#pragma once

#include <stdbool.h>

#define CS_DEBUGINFOD_FILE_MAX (512ull << 20)
#define CS_DEBUGINFOD_KEPT_MAX (2ull << 30)

/* Of an image: what another file could tell. */
enum cs_image_lack { CS_IMAGE_LACKS_NOTHING, CS_IMAGE_LACKS_FILE, CS_IMAGE_LACKS_NAMES };

/* Is there anybody to ask? */
bool cs_debuginfod_possible(void);
/* 1: it is kept now. 0: nobody has it, or what came was something else. -ETIMEDOUT: no answer within `seconds`. Other negative
 * errno: it couldn't be asked for. */
int cs_debuginfod_ask(const char *build_id, enum cs_image_lack lack, double seconds);
