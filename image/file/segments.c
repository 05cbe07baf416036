/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/file/segments.h"

#include <errno.h>
#include <gelf.h>
#include <string.h>
#include <unistd.h>

#define PAGE 4096ULL

/* Takes over `elf`. */
static void read_headers(struct cs_image_segments *out, Elf *elf)
{
    size_t n = 0;
    memset(out, 0, sizeof *out);
    if (elf && elf_kind(elf) == ELF_K_ELF && elf_getphdrnum(elf, &n) == 0) {
        out->is_elf = true;
        cs_image_build_id_of_elf(elf, out->build_id);
    }
    for (size_t i = 0; i < n && out->n_segments < CS_IMAGE_SEGMENTS_MAX; i++) {
        GElf_Phdr p;
        if (gelf_getphdr(elf, (int)i, &p) && p.p_type == PT_LOAD)
            out->segments[out->n_segments++] =
                (struct cs_image_segment){p.p_offset, p.p_filesz, p.p_vaddr, (p.p_flags & PF_X) != 0};
    }
    elf_end(elf);
}

int cs_image_segments_of_file(struct cs_image_segments *out, int fd)
{
    char first;
    if (pread(fd, &first, 1, 0) < 0) {
        memset(out, 0, sizeof *out);
        return -errno;
    }
    elf_version(EV_CURRENT);
    read_headers(out, elf_begin(fd, ELF_C_READ, NULL));
    return 0;
}

void cs_image_segments_of_memory(struct cs_image_segments *out, char *bytes, size_t n)
{
    elf_version(EV_CURRENT);
    read_headers(out, elf_memory(bytes, n));
}

uint64_t cs_image_vaddr(const struct cs_image_segments *layout, uint64_t file_offset)
{
    const struct cs_image_segment *best = NULL;
    if (!layout->is_elf)
        return file_offset;
    /* Segments are mapped in whole pages, so the edges of two may overlap in the file: code wins. */
    for (unsigned i = 0; i < layout->n_segments; i++) {
        const struct cs_image_segment *s = &layout->segments[i];
        uint64_t first = s->file_offset & ~(PAGE - 1);
        uint64_t end = (s->file_offset + s->file_size + PAGE - 1) & ~(PAGE - 1);
        if (file_offset >= first && file_offset < end && (!best || s->executable > best->executable))
            best = s;
    }
    return best ? best->vaddr + (file_offset - best->file_offset) : UINT64_MAX;
}
