/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a program's variable of static storage lies: by the symbol tables of the image, of its debug file, of its dynamic
 * linker. Bounded by the file; any thread. */
#pragma once

#include "store/base/error.h"

#include <stdint.h>

/* ELF virtual address and size of the variable `name` in the file at `path`. 0; -ENOENT: it has none (no sentence); another
 * negative errno with a sentence: the file can't be read. Of several, the first global one, else the first. */
int cs_image_variable(const char *path, const char *name, uint64_t *vaddr, uint64_t *size,
                      struct cs_error *err);
