/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where functions begin that nothing names: what calls, tail calls and pointers reach. Read where a symbol without a size
 * would take all code behind it (assembly of musl, of codecs). A sweep over the code, 0.2 µs an instruction. */
#pragma once

#include "image/file/elf.h"
#include "image/procedures/plt.h"

/* Decodes [start, end), which begins with an instruction, and hands on where it calls, jumps out of itself, or takes an address. */
int entries_of_code(const struct elf_file *image, uint64_t start, uint64_t end,
                    int (*each)(uint64_t target, void *arg), void *arg);
