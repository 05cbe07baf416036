/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Code of a file that was moved to memory of its own, at its old place. Large pages for text do it: node
 * --use-largepages, BOLT's -hugify, iodlr. What is mapped there says nothing of a file, so its neighbours say which,
 * and the bytes whether it is so. */
#pragma once

#include "sampler/images/images.h"

#include <stdbool.h>

/* Whether `pid` has from `start` to `end` what the image has from `pgoff` of its file on; `beside` is a mapping of that file. */
bool cs_text_was_moved(const struct cs_images *images, const struct cs_mapped_image *image,
                       const struct cs_mapped_file *beside, uint64_t start, uint64_t end, uint64_t pgoff);
