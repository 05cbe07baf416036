/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file's bytes, copied from a descriptor: all of them, or what fits of a file that is too large for that. Internal to
 * image/file/. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes `at` to `end` to the same place of `map`. Holes and what can't be read stay zero. */
void cs_elf_copy_range(int fd, char *map, size_t at, size_t end);
/* Headers and sections of an ELF file of `size` bytes: the smallest sections first, while all of them take at most `most` bytes.
 * Sections that don't fit are without contents (SHT_NOBITS) in `map`, which is zero before. False: the file has no section
 * headers that say what its parts are, or is of another class than 64 bits, little-endian. */
bool cs_elf_copy_parts(int fd, char *map, size_t size, uint64_t most);
