/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where derived things are kept that can be made again at any time: $CYCLESCOPE_CACHE, else
 * $XDG_CACHE_HOME/cyclescope, else ~/.cache/cyclescope. Needs nothing else of analysis/. */
#ifndef CS_ANALYSIS_CACHE_H
#define CS_ANALYSIS_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

/* Writes the folder's path, which is made if need be. 0; -ENOENT when there is to be none (CYCLESCOPE_CACHE
 * is empty, or nobody has a home), another negative errno when it can't be made. */
int cs_cache_folder(char *path, size_t room);

/* Writes the file of these parts, for all to read where `others` is set: a reader finds the old one or the
 * whole new one. False when it wasn't written, which costs its user time only. Any thread. */
bool cs_cache_put(const char *path, const struct iovec *parts, unsigned n, bool others);

#endif
