/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Most of an executable of gigabytes is debug information or data. Code, symbols and frame descriptions are small. */
#include "image/file/parts.h"
#include "store/base/order.h"

#include <assert.h>
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#define PART ((size_t)16 << 20)

void cs_elf_copy_range(int fd, char *map, size_t at, size_t end)
{
    while (at < end) {
        off_t begin = lseek(fd, (off_t)at, SEEK_DATA), hole = begin < 0 ? -1 : lseek(fd, begin, SEEK_HOLE);
        if (begin < 0 && errno == ENXIO) /* holes take no memory here either */
            break;
        size_t until = hole < 0 || (size_t)hole > end ? end : (size_t)hole;
        at = begin < 0 ? at : (size_t)begin;
        ssize_t got = 1;
        for (; at < until && got > 0; at += got > 0 ? (size_t)got : 0)
            got = pread(fd, map + at, until - at < PART ? until - at : PART, (off_t)at);
        if (got <= 0)
            break;
    }
}

static bool fits(uint64_t at, uint64_t n, size_t size)
{
    return at <= size && n <= size - at;
}

CS_ORDER(by_size, const Elf64_Shdr *, cs_order((*a)->sh_size, (*b)->sh_size))

/* Sections may lie over the headers in a damaged file: `headers` is a copy of their own, put back behind the last one. */
static void copy_sections(int fd, char *map, size_t size, uint64_t most, Elf64_Shdr *headers,
                          Elf64_Shdr **order, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        order[i] = &headers[i];
    cs_sort(order, n, by_size);
    for (unsigned i = 0; i < n; i++) {
        Elf64_Shdr *s = order[i];
        if (s->sh_type == SHT_NOBITS || s->sh_type == SHT_NULL)
            continue;
        if (fits(s->sh_offset, s->sh_size, size) && s->sh_size <= most) {
            most -= s->sh_size;
            cs_elf_copy_range(fd, map, s->sh_offset, s->sh_offset + s->sh_size);
        } else {
            s->sh_type = SHT_NOBITS;
        }
    }
}

bool cs_elf_copy_parts(int fd, char *map, size_t size, uint64_t most)
{
    assert(map);
    Elf64_Ehdr head;
    if (size < sizeof head || pread(fd, &head, sizeof head, 0) != sizeof head)
        return false;
    const uint64_t segments = (uint64_t)head.e_phnum * sizeof(Elf64_Phdr);
    const size_t sections = head.e_shnum * sizeof(Elf64_Shdr);
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
        head.e_ident[EI_DATA] != ELFDATA2LSB || !head.e_shnum || head.e_shentsize != sizeof(Elf64_Shdr) ||
        !fits(head.e_phoff, segments, size) || !fits(head.e_shoff, sections, size))
        return false;
    Elf64_Shdr *headers = malloc(sections), **order = calloc(head.e_shnum, sizeof *order);
    bool read = headers && order && pread(fd, headers, sections, (off_t)head.e_shoff) == (ssize_t)sections;
    if (read) {
        copy_sections(fd, map, size, most, headers, order, head.e_shnum);
        cs_elf_copy_range(fd, map, head.e_phoff, head.e_phoff + segments);
        memcpy(map + head.e_shoff, headers, sections);
        memcpy(map, &head, sizeof head);
    }
    free(headers);
    free(order);
    return read;
}
