/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From a frame to its caller.
 *
 * Files of this module:
 *   unwind           this header: the table of an image
 *   build            such a table, row after row
 *   cfi_rows         frame descriptions, run
 *   child            such a table, made by a child without rights
 *   code             the same from code alone
 *   frames           from frame descriptions to such a table
 *   gaps             what is known of code without a description
 *   go               from Go's own table of functions
 *   rows             the table, as the kernel's side reads it
 *   template         code that is many copies of a few instructions
 *   step             a step from a frame to its caller, whole chains
 *
 * The table of rows.h for an image. It comes from .eh_frame, else from .debug_frame (also compressed, also of a debug
 * file). Rules add signal return code and Go's frame pointers. An image without any of these has a table whose rows say
 * CS_UNWIND_NONE. Kept on disk between commands (store/base/cache.h). Any thread.
 *
 *     struct cs_unwind *unwind;
 *     if (cs_unwind_open("/proc/42/root/usr/bin/python3", &unwind, &err) < 0) ...
 *     size_t n;
 *     const struct cs_unwind_header *table = cs_unwind_table(unwind, &n); // n bytes to copy as they are
 *     cs_unwind_close(unwind);
 */
#pragma once

#include "image/unwind/rows.h"
#include "store/base/error.h"

#include <stddef.h>
#include <stdint.h>

struct cs_unwind;

/* Of a file ("/proc/self/fd/N" for one that is open). Fails when it can't be read, is no ELF file or is of another machine than
 * x86-64 and AArch64; a damaged one has fewer rows. */
int cs_unwind_open(const char *path, struct cs_unwind **out, struct cs_error *err);
/* Only from the cache: -ENOENT where it isn't. Reads the file's headers, not its code. */
int cs_unwind_open_cached(const char *path, struct cs_unwind **out);
/* Of an image in memory, as the vDSO. Takes over `bytes` (malloc'ed), also on failure. */
int cs_unwind_open_memory(char *bytes, size_t n, struct cs_unwind **out, struct cs_error *err);
void cs_unwind_close(struct cs_unwind *unwind);

const struct cs_unwind_header *cs_unwind_table(const struct cs_unwind *unwind, size_t *n);
/* Parts of a table. */
const __u32 *cs_unwind_first(const struct cs_unwind_header *table);
const struct cs_unwind_row *cs_unwind_rows(const struct cs_unwind_header *table);
/* The rule at an ELF virtual address; never NULL. */
const struct cs_unwind_rule *cs_unwind_rule_at(const struct cs_unwind_header *table, uint64_t vaddr);
