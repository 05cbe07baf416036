/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What of an ELF file is needed to place a sample: its build-id and where its segments belong. 32 and 64 bit,
 * own byte order only. Reads the program headers and notes, nothing else. */
#ifndef CS_SAMPLER_ELF_LAYOUT_H
#define CS_SAMPLER_ELF_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CS_SEGMENTS_MAX 16

struct cs_segment {
    uint64_t file_offset, file_size, vaddr;
    bool executable;
};

struct cs_elf_layout {
    bool is_elf; /* false: vaddr = file offset */
    unsigned n_segments;
    struct cs_segment segments[CS_SEGMENTS_MAX];
    char build_id[41]; /* hex, "" = none */
};

/* Reads through `read_at` (returns bytes read or <0), so that files and memory of a process both do. 0 or
 * -errno of a failed read; a file that isn't ELF is no error. */
typedef long (*cs_read_at)(void *arg, void *to, size_t size, uint64_t offset);
int cs_elf_layout_read(struct cs_elf_layout *out, cs_read_at read_at, void *arg);
int cs_elf_layout_read_fd(struct cs_elf_layout *out, int fd);

/* File offset to ELF virtual address; UINT64_MAX where no segment holds it. */
uint64_t cs_elf_vaddr(const struct cs_elf_layout *layout, uint64_t file_offset);

#endif
