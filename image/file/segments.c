/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Read by hand and not by libelf, which believes a file's counts. They may be 4,294,967,295 program headers, and
 * sections or notes of as many gigabytes as a file with holes says it has. Here no count, and no size, is more than a
 * constant. */
#include "image/file/segments.h"

#include <assert.h>
#include <elf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#define PAGE 4096ULL
#define SEGMENTS_READ_MAX 256 /* programs have a dozen */
#define SECTIONS_READ_MAX 4096
#define NOTE_BYTES_MAX 4096 /* of one segment or section: a build-id has 36, and comes among the first */
#define NOTES_READ_MAX 32

struct source {
    int fd; /* or -1 and: */
    const char *bytes;
    size_t n;
    bool wide;
};

static ssize_t read_at(const struct source *s, uint64_t offset, void *to, size_t n)
{
    if (offset > INT64_MAX)
        return 0;
    if (s->fd >= 0)
        return pread(s->fd, to, n, (off_t)offset);
    size_t there = offset < s->n ? s->n - offset : 0;
    n = n < there ? n : there;
    memcpy(to, s->bytes + (n ? offset : 0), n);
    return (ssize_t)n;
}

static void read_notes(const struct source *s, uint64_t offset, uint64_t size,
                       char build_id[CS_IMAGE_BUILD_ID_MAX])
{
    _Alignas(8) char notes[NOTE_BYTES_MAX];
    ssize_t got = read_at(s, offset, notes, size < sizeof notes ? (size_t)size : sizeof notes);
    if (got > 0)
        cs_image_build_id_of_notes(notes, (size_t)got, build_id);
}

static bool read_segment(const struct source *s, uint64_t at, Elf64_Phdr *p)
{
    Elf32_Phdr narrow;
    if (s->wide)
        return read_at(s, at, p, sizeof *p) == sizeof *p;
    if (read_at(s, at, &narrow, sizeof narrow) != sizeof narrow)
        return false;
    *p = (Elf64_Phdr){.p_type = narrow.p_type,
                      .p_flags = narrow.p_flags,
                      .p_offset = narrow.p_offset,
                      .p_vaddr = narrow.p_vaddr,
                      .p_filesz = narrow.p_filesz};
    return true;
}

static bool read_section(const struct source *s, uint64_t at, Elf64_Shdr *section)
{
    Elf32_Shdr narrow;
    if (s->wide)
        return read_at(s, at, section, sizeof *section) == sizeof *section;
    if (read_at(s, at, &narrow, sizeof narrow) != sizeof narrow)
        return false;
    *section =
        (Elf64_Shdr){.sh_type = narrow.sh_type, .sh_offset = narrow.sh_offset, .sh_size = narrow.sh_size};
    return true;
}

static bool read_header(const struct source *s, Elf64_Ehdr *head)
{
    Elf32_Ehdr narrow;
    ssize_t got = read_at(s, 0, head, sizeof *head);
    if (got < (ssize_t)sizeof narrow || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 ||
        head->e_ident[EI_DATA] != ELFDATA2LSB)
        return false;
    if (head->e_ident[EI_CLASS] == ELFCLASS64)
        return got == sizeof *head && (!head->e_phnum || head->e_phentsize == sizeof(Elf64_Phdr));
    memcpy(&narrow, head, sizeof narrow);
    head->e_phoff = narrow.e_phoff;
    head->e_phnum = narrow.e_phnum;
    head->e_shoff = narrow.e_shoff;
    head->e_shnum = narrow.e_shnum;
    return head->e_ident[EI_CLASS] == ELFCLASS32 &&
           (!head->e_phnum || narrow.e_phentsize == sizeof(Elf32_Phdr));
}

static void read_all(struct cs_image_segments *out, struct source *s)
{
    Elf64_Ehdr head;
    Elf64_Phdr p;
    Elf64_Shdr section;
    unsigned notes = 0;
    memset(out, 0, sizeof *out);
    if (!read_header(s, &head))
        return;
    out->is_elf = true;
    s->wide = head.e_ident[EI_CLASS] == ELFCLASS64;
    const uint64_t p_bytes = s->wide ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr),
                   section_bytes = s->wide ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
    for (unsigned i = 0; i < head.e_phnum && i < SEGMENTS_READ_MAX; i++) {
        if (!read_segment(s, head.e_phoff + i * p_bytes, &p))
            break;
        if (p.p_type == PT_LOAD && out->n_segments < CS_IMAGE_SEGMENTS_MAX)
            out->segments[out->n_segments++] =
                (struct cs_image_segment){p.p_offset, p.p_filesz, p.p_vaddr, (p.p_flags & PF_X) != 0};
        if (p.p_type == PT_NOTE && !out->build_id[0] && notes++ < NOTES_READ_MAX)
            read_notes(s, p.p_offset, p.p_filesz, out->build_id);
    }
    for (unsigned i = 0; !out->build_id[0] && i < head.e_shnum && i < SECTIONS_READ_MAX; i++) {
        if (!read_section(s, head.e_shoff + i * section_bytes, &section))
            break;
        if (section.sh_type == SHT_NOTE && notes++ < NOTES_READ_MAX)
            read_notes(s, section.sh_offset, section.sh_size, out->build_id);
    }
}

int cs_image_segments_of_file(struct cs_image_segments *out, int fd)
{
    char first;
    if (pread(fd, &first, 1, 0) < 0) {
        memset(out, 0, sizeof *out);
        return -errno;
    }
    read_all(out, &(struct source){.fd = fd});
    return 0;
}

void cs_image_segments_of_memory(struct cs_image_segments *out, const char *bytes, size_t n)
{
    read_all(out, &(struct source){.fd = -1, .bytes = bytes, .n = n});
}

static uint64_t first_page(const struct cs_image_segment *s)
{
    return s->file_offset & ~(PAGE - 1);
}

static uint64_t end_of_pages(const struct cs_image_segment *s)
{
    return (s->file_offset + s->file_size + PAGE - 1) & ~(PAGE - 1);
}

uint64_t cs_image_vaddr(const struct cs_image_segments *layout, uint64_t file_offset)
{
    assert(layout->n_segments <= CS_IMAGE_SEGMENTS_MAX);
    const struct cs_image_segment *best = NULL;
    unsigned best_rank = 0;
    if (!layout->is_elf)
        return file_offset;
    /* Segments are mapped in whole pages, so the edges of two may overlap in the file. */
    for (unsigned i = 0; i < layout->n_segments; i++) {
        const struct cs_image_segment *s = &layout->segments[i];
        const bool own = file_offset >= s->file_offset && file_offset - s->file_offset < s->file_size;
        const unsigned rank = 1U + 2U * s->executable + own;
        if (file_offset >= first_page(s) && file_offset < end_of_pages(s) && rank > best_rank) {
            best = s;
            best_rank = rank;
        }
    }
    return best ? best->vaddr + (file_offset - best->file_offset) : UINT64_MAX;
}

uint64_t cs_image_vaddr_of_mapping(const struct cs_image_segments *layout, uint64_t file_offset,
                                   uint64_t bytes, unsigned before)
{
    const struct cs_image_segment *alike[CS_IMAGE_SEGMENTS_MAX];
    unsigned n = 0;
    for (unsigned i = 0; layout->is_elf && i < layout->n_segments; i++) {
        const struct cs_image_segment *s = &layout->segments[i];
        if (s->executable && first_page(s) == file_offset && end_of_pages(s) == file_offset + bytes)
            alike[n++] = s;
    }
    if (n == 0)
        return cs_image_vaddr(layout, file_offset);
    const struct cs_image_segment *s = alike[before % n]; /* ELF sorts segments by address */
    return s->vaddr + (file_offset - s->file_offset);
}
