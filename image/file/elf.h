/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file behind an image: found, opened, identified, read within its bounds. Here: an ELF file, copied or mapped;
 * what the rest of image/ needs of libelf. Internal to image/, but for debuginfod, identity and segments.
 *
 * Files of this module:
 *   apart            work on a file in a child without rights
 *   debug_file       where else an image or its debug information lies
 *   debuginfod       files that only a server still has
 *   dwarf_reader     numbers of DWARF sections, within their bounds
 *   eh_frame         the records of frame descriptions
 *   elf              an ELF file, mapped
 *   forker           children of a large process, forked by a small one
 *   give_up_rights   for a child that reads what strangers wrote
 *   identity         which image a file is: build-id, else a hash
 *   made_sections    sections of files that have segments only
 *   parts            what fits of a file that is too large to be copied
 *   ranges           nested address ranges
 *   segments         file offsets to addresses, for a sampler */
#pragma once

#include "image/file/identity.h"
#include "image/isa/decode.h"
#include "store/base/error.h"

#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_section {
    const char *name;
    GElf_Shdr header;
    Elf_Scn *section;
};

struct elf_file {
    Elf *elf;
    char *path;
    char *map; /* a copy of the file, or of memory */
    size_t size;
    int64_t changed_ns; /* when the file's contents last changed; 0 = memory */
    bool mapped;        /* by mmap, else malloc */
    bool lent;          /* the file's own pages, which take no memory of ours */
    GElf_Ehdr header;
    GElf_Phdr *segments;
    size_t n_segments;
    struct elf_section *sections;
    size_t n_sections;
    char build_id[CS_IMAGE_BUILD_ID_MAX]; /* hex, "" = none */
};

int elf_file_open(const char *path, struct elf_file **out, struct cs_error *err);
/* Of an open file, mapped: for a process that may die when somebody cuts it short. */
int elf_file_from_descriptor(int fd, struct elf_file **out, struct cs_error *err);
/* How many bytes that would copy; 0: none, it is mapped, or can't be opened. */
uint64_t elf_file_bytes_to_copy(const char *path);
/* Takes over `bytes` (malloc'ed), also on failure. */
int elf_file_from_memory(char *bytes, size_t size, const char *name, struct elf_file **out,
                         struct cs_error *err);
void elf_file_close(struct elf_file *file);
enum cs_isa elf_file_isa(const struct elf_file *file);

/* First section of that name with contents in the file, NULL when there is none. */
const struct elf_section *elf_file_section(const struct elf_file *file, const char *name);
const struct elf_section *elf_file_section_of_type(const struct elf_file *file, uint32_t type);
/* Its bytes as they lie in the file (not decompressed); NULL when it has none or they lie outside the file.
 */
const uint8_t *elf_file_contents(const struct elf_file *file, const struct elf_section *section, size_t *n);
/* Bytes at a virtual address, up to the end of the segment's file contents; NULL outside. */
const uint8_t *elf_file_at(const struct elf_file *file, uint64_t offset, size_t *n, bool *executable);
/* May the program write there? `relocated`: the loader may, and then nobody any more. */
bool elf_file_is_writable(const struct elf_file *file, uint64_t offset, bool *relocated);

/* Looks for separate debug information by build-id, then by .gnu_debuglink. NULL when there is none. */
struct elf_file *elf_file_find_debug(const struct elf_file *file);
/* Looks in the usual folders for an image of that build-id, by `suffix` "", or its debug file, by ".debug". NULL when there
 * is none. */
struct elf_file *elf_file_of_id(const char *build_id, const char *suffix);
/* debuginfod.c: the image of that build-id, or its debug file, as a server had it; NULL when none is kept. */
struct elf_file *elf_file_from_debuginfod(const char *build_id, bool image);
/* The mini symbol table in .gnu_debugdata. NULL when there is none. */
struct elf_file *elf_file_open_mini(const struct elf_file *file);
