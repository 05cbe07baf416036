/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Debug sections that are compressed by zstd, which older libraries of elfutils can't read (0.188): decompressed here. */
#pragma once

#include <gelf.h>

/* An ELF file in memory with the debug sections and nothing else, in plain; the caller ends it, then frees *bytes. NULL: no section
 * is compressed so, or one of them is damaged. */
Elf *inflated_open(Elf *elf, char **bytes);
