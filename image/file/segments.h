/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What of an ELF file is needed to place a sample: its build-id and where its segments belong, of little-endian machines. By
 * reads and not by a mapping: a file that gets shorter meanwhile is an error then, no signal. At most 4,500 reads, whatever the
 * file says. */
#pragma once

#include "image/file/identity.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CS_IMAGE_SEGMENTS_MAX 16

struct cs_image_segment {
    uint64_t file_offset, file_size, vaddr;
    bool executable;
};

struct cs_image_segments {
    bool is_elf; /* false: vaddr = file offset */
    unsigned n_segments;
    struct cs_image_segment segments[CS_IMAGE_SEGMENTS_MAX];
    char build_id[CS_IMAGE_BUILD_ID_MAX]; /* hex, "" = none */
};

/* 0 or -errno of a failed read; a file that isn't ELF is no error. */
int cs_image_segments_of_file(struct cs_image_segments *out, int fd);
/* The same of an image in memory. */
void cs_image_segments_of_memory(struct cs_image_segments *out, const char *bytes, size_t n);

/* File offset to ELF virtual address; UINT64_MAX where no segment holds it. Two segments may share a page of the file: code comes
 * before data, bytes of a segment before its padding. */
uint64_t cs_image_vaddr(const struct cs_image_segments *layout, uint64_t file_offset);
/* The same of where a mapping of code begins, which is the beginning of a page and may be padding: `bytes` long, from
 * `file_offset` on. `before`: so many mappings of the same part of the file lie below it in the process, and segments are mapped
 * in the order of their addresses. */
uint64_t cs_image_vaddr_of_mapping(const struct cs_image_segments *layout, uint64_t file_offset,
                                   uint64_t bytes, unsigned before);
