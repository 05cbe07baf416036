/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sections keep their numbers and names; those of no use have no contents (SHT_NOBITS). Bounded: what a section says that it will
 * be is checked against what zstd says, and against a sum. */
#include "image/debug/inflated.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define PLAIN_MAX (4ULL << 30) /* bytes of all sections: debug information of a browser */
#define RATIO_MAX 100          /* debug information shrinks to a fifth */
#define SECTIONS_MAX 65000u

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

static bool is_zstd(const GElf_Shdr *header, const Elf_Data *raw, Elf64_Chdr *head)
{
    if (!(header->sh_flags & SHF_COMPRESSED) || !raw || !raw->d_buf || raw->d_size < sizeof *head)
        return false;
    memcpy(head, raw->d_buf, sizeof *head);
    return head->ch_type == ELFCOMPRESS_ZSTD;
}

static bool is_wanted(Elf *elf, size_t names, const GElf_Shdr *header)
{
    const char *name = elf_strptr(elf, names, header->sh_name);
    return name && header->sh_type != SHT_NOBITS &&
           (strncmp(name, ".debug_", 7) == 0 || strcmp(name, ".shstrtab") == 0);
}

/* One pass to know the size (`out` NULL), one to write. False: damaged, or too large. */
static bool lay_out(Elf *elf, size_t names, size_t n, char *out, size_t *size, bool *any)
{
    uint64_t at = sizeof(Elf64_Ehdr) + n * sizeof(Elf64_Shdr);
    Elf64_Shdr *table = out ? (void *)(out + sizeof(Elf64_Ehdr)) : NULL;
    size_t i = 1;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section)) != NULL && i < n; i++) {
        GElf_Shdr header;
        Elf64_Chdr head;
        if (!gelf_getshdr(section, &header))
            return false;
        Elf_Data *raw = is_wanted(elf, names, &header) ? elf_rawdata(section, NULL) : NULL;
        const bool zstd = raw && is_zstd(&header, raw, &head), kept = raw && raw->d_buf && raw->d_size;
        const uint64_t bytes = zstd ? head.ch_size : kept ? raw->d_size : 0;
        if (zstd && (bytes > RATIO_MAX * raw->d_size ||
                     ZSTD_getFrameContentSize((const char *)raw->d_buf + sizeof head,
                                              raw->d_size - sizeof head) != bytes))
            return false;
        *any |= zstd;
        at = (at + 15) & ~15ULL;
        if (bytes > PLAIN_MAX || at + bytes > PLAIN_MAX)
            return false;
        if (out) {
            header.sh_offset = at;
            if (zstd) {
                header.sh_size = bytes;
                header.sh_flags &= ~(GElf_Xword)SHF_COMPRESSED;
                header.sh_addralign = head.ch_addralign;
                if (ZSTD_decompress(out + at, bytes, (const char *)raw->d_buf + sizeof head,
                                    raw->d_size - sizeof head) != bytes)
                    return false;
            } else if (kept) {
                memcpy(out + at, raw->d_buf, bytes);
            } else {
                header.sh_type = SHT_NOBITS;
            }
            table[i] = header;
        }
        at += bytes;
    }
    *size = at;
    return true;
}

Elf *inflated_open(Elf *elf, char **bytes)
{
    size_t names, n, size;
    GElf_Ehdr header;
    bool any = false;
    *bytes = NULL;
    if (!gelf_getehdr(elf, &header) || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_ident[EI_DATA] != ELFDATA2LSB || elf_getshdrstrndx(elf, &names) != 0 ||
        elf_getshdrnum(elf, &n) != 0 || n > SECTIONS_MAX || !lay_out(elf, names, n, NULL, &size, &any) ||
        !any)
        return NULL;
    char *out = calloc(1, size);
    if (!out)
        return NULL;
    Elf64_Ehdr *head = (void *)out;
    *head = header;
    head->e_phoff = 0;
    head->e_phnum = 0;
    head->e_shoff = sizeof *head;
    head->e_shentsize = sizeof(Elf64_Shdr);
    head->e_shnum = (uint16_t)n;
    head->e_shstrndx = (uint16_t)names;
    Elf *made = lay_out(elf, names, n, out, &size, &any) ? elf_memory(out, size) : NULL;
    if (!made) {
        free(out);
        return NULL;
    }
    *bytes = out;
    return made;
}
