/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Program headers and build-id note, read by hand: a sampler meets hundreds of images, and their symbols are
 * analysis/'s business. */
#include "image/segments.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PAGE 4096ULL
#define HEADERS_MAX 64
#define NOTES_MAX 4096

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define OWN_BYTE_ORDER ELFDATA2LSB
#else
#define OWN_BYTE_ORDER ELFDATA2MSB
#endif

struct header {
    uint32_t type, flags;
    uint64_t offset, vaddr, file_size;
};

static void find_build_id(struct cs_elf_layout *out, const unsigned char *notes, size_t size)
{
    size_t at = 0;
    while (at + sizeof(Elf64_Nhdr) <= size) { /* the same in both classes */
        Elf64_Nhdr n;
        memcpy(&n, notes + at, sizeof n);
        size_t name = at + sizeof n, desc = name + ((n.n_namesz + 3U) & ~3U);
        size_t next = desc + ((n.n_descsz + 3U) & ~3U);
        if (n.n_namesz > size || n.n_descsz > size || desc + n.n_descsz > size)
            return;
        if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 && memcmp(notes + name, "GNU", 4) == 0 &&
            n.n_descsz >= 4 && n.n_descsz <= 20) {
            for (unsigned i = 0; i < n.n_descsz; i++)
                snprintf(out->build_id + 2UL * i, 3, "%02x", notes[desc + i]);
            return;
        }
        at = next;
    }
}

static int read_headers(struct header *headers, cs_read_at read_at, void *arg, const unsigned char *ident)
{
    unsigned count, size;
    uint64_t at;
    unsigned char raw[HEADERS_MAX * sizeof(Elf64_Phdr)];
    bool wide = ident[EI_CLASS] == ELFCLASS64;
    if (wide) {
        Elf64_Ehdr e;
        if (read_at(arg, &e, sizeof e, 0) != (long)sizeof e)
            return -EIO;
        count = e.e_phnum, size = e.e_phentsize, at = e.e_phoff;
    } else {
        Elf32_Ehdr e;
        if (read_at(arg, &e, sizeof e, 0) != (long)sizeof e)
            return -EIO;
        count = e.e_phnum, size = e.e_phentsize, at = e.e_phoff;
    }
    if (size != (wide ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr)))
        return 0;
    if (count > HEADERS_MAX)
        count = HEADERS_MAX;
    if (read_at(arg, raw, (size_t)count * size, at) != (long)count * (long)size)
        return -EIO;
    for (unsigned i = 0; i < count; i++) {
        if (wide) {
            Elf64_Phdr p;
            memcpy(&p, raw + (size_t)i * size, sizeof p);
            headers[i] = (struct header){p.p_type, p.p_flags, p.p_offset, p.p_vaddr, p.p_filesz};
        } else {
            Elf32_Phdr p;
            memcpy(&p, raw + (size_t)i * size, sizeof p);
            headers[i] = (struct header){p.p_type, p.p_flags, p.p_offset, p.p_vaddr, p.p_filesz};
        }
    }
    return (int)count;
}

int cs_elf_layout_read(struct cs_elf_layout *out, cs_read_at read_at, void *arg)
{
    struct header headers[HEADERS_MAX];
    unsigned char ident[EI_NIDENT];
    memset(out, 0, sizeof *out);
    long got = read_at(arg, ident, sizeof ident, 0);
    if (got < 0)
        return (int)got;
    if (got != (long)sizeof ident || memcmp(ident, ELFMAG, SELFMAG) != 0 || ident[EI_DATA] != OWN_BYTE_ORDER)
        return 0;
    int n = read_headers(headers, read_at, arg, ident);
    if (n < 0)
        return n;
    out->is_elf = true;
    for (int i = 0; i < n; i++) {
        const struct header *p = &headers[i];
        if (p->type == PT_LOAD && out->n_segments < CS_SEGMENTS_MAX)
            out->segments[out->n_segments++] =
                (struct cs_segment){p->offset, p->file_size, p->vaddr, (p->flags & PF_X) != 0};
        if (p->type == PT_NOTE && !out->build_id[0]) {
            unsigned char notes[NOTES_MAX];
            size_t size = p->file_size < NOTES_MAX ? (size_t)p->file_size : NOTES_MAX;
            long have = read_at(arg, notes, size, p->offset);
            if (have > 0)
                find_build_id(out, notes, (size_t)have);
        }
    }
    return 0;
}

static long read_fd(void *arg, void *to, size_t size, uint64_t offset)
{
    ssize_t got = pread(*(int *)arg, to, size, (off_t)offset);
    return got < 0 ? -errno : (long)got;
}

int cs_elf_layout_read_fd(struct cs_elf_layout *out, int fd)
{
    return cs_elf_layout_read(out, read_fd, &fd);
}

uint64_t cs_elf_vaddr(const struct cs_elf_layout *layout, uint64_t file_offset)
{
    const struct cs_segment *best = NULL;
    if (!layout->is_elf)
        return file_offset;
    /* Segments are mapped in whole pages, so the edges of two may overlap in the file: code wins. */
    for (unsigned i = 0; i < layout->n_segments; i++) {
        const struct cs_segment *s = &layout->segments[i];
        uint64_t first = s->file_offset & ~(PAGE - 1);
        uint64_t end = (s->file_offset + s->file_size + PAGE - 1) & ~(PAGE - 1);
        if (file_offset >= first && file_offset < end && (!best || s->executable > best->executable))
            best = s;
    }
    return best ? best->vaddr + (file_offset - best->file_offset) : UINT64_MAX;
}
