/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Regions of the target that are mapped here as a whole, but empty. Bringing a page, or dropping it, then
 * doesn't change the mappings. */
#pragma once

#include "sampler/burst/replayer/translator/regions.h"

#define WINDOW_BRING_MAX (8 * PAGE)
void windows_open(int *faults, int *self); /* the descriptors that it needs from now on; -1: none */
void window_make(const struct region *region, uint64_t addr); /* over all of the region, if it can be */
bool window_at(uint64_t addr, uint64_t *from, uint64_t *to);
/* Copies of pages that are not there yet, at most WINDOW_BRING_MAX within one window. How many bytes, whole
 * pages, could be read; -1: none brought. */
long window_bring(uint64_t from, uint64_t to);
void window_drop(uint64_t addr); /* at the latest by the next window_drop_done() */
void window_drop_done(void);
void windows_forget_changed(void); /* those of regions that are gone, with the pages that they hold */
