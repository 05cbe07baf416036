/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every offset is checked against the file; a table that lies outside it is left out. */
#include "image/file/made_sections.h"

#include <assert.h>
#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX (256UL << 20)
#define SEGMENTS_MAX 64u
#define SECTIONS_MAX 24u
#define DYNAMIC_MAX 4096u
#define SYMBOLS_MAX 10000000u

static const char names[] = "\0.dynsym\0.dynstr\0.eh_frame_hdr\0.eh_frame\0.text\0.shstrtab";
enum { DYNSYM = 1, DYNSTR = 9, EH_FRAME_HDR = 17, EH_FRAME = 31, TEXT = 41, SHSTRTAB = 47 };

struct source {
    const char *bytes;
    size_t n;
    Elf64_Phdr segments[SEGMENTS_MAX];
    unsigned n_segments;
};

/* Where a virtual address lies in the file, and how many bytes follow in its segment; false: nowhere. */
static bool in_file(const struct source *s, uint64_t addr, uint64_t *offset, uint64_t *left)
{
    for (unsigned i = 0; i < s->n_segments; i++) {
        const Elf64_Phdr *p = &s->segments[i];
        if (p->p_type != PT_LOAD || addr < p->p_vaddr || addr - p->p_vaddr >= p->p_filesz ||
            p->p_offset > s->n || p->p_filesz > s->n - p->p_offset)
            continue;
        *offset = p->p_offset + (addr - p->p_vaddr);
        *left = p->p_filesz - (addr - p->p_vaddr);
        return true;
    }
    return false;
}

static bool load(const struct source *s, uint64_t addr, void *to, size_t n)
{
    uint64_t offset, left;
    if (!in_file(s, addr, &offset, &left) || left < n)
        return false;
    memcpy(to, s->bytes + offset, n);
    return true;
}

/* The last symbol of the last bucket's chain ends the table. */
static uint64_t symbols_of_gnu_hash(const struct source *s, uint64_t addr)
{
    uint32_t head[4], last = 0, word; /* buckets, first symbol, words of the filter, shift */
    if (!load(s, addr, head, sizeof head) || head[0] > SYMBOLS_MAX || head[2] > SYMBOLS_MAX)
        return 0;
    const uint64_t buckets = addr + sizeof head + 8ULL * head[2], chains = buckets + 4ULL * head[0];
    for (uint32_t i = 0; i < head[0]; i++)
        if (load(s, buckets + 4ULL * i, &word, sizeof word) && word > last)
            last = word;
    if (last < head[1])
        return head[1];
    while (last < SYMBOLS_MAX && load(s, chains + 4ULL * (last - head[1]), &word, sizeof word)) {
        last++;
        if (word & 1)
            return last;
    }
    return 0;
}

struct dynamic {
    uint64_t symbols, strings, strings_bytes, hash, gnu_hash;
};

static void read_dynamic(const struct source *s, const Elf64_Phdr *p, struct dynamic *d)
{
    Elf64_Dyn entry;
    for (unsigned i = 0; i < DYNAMIC_MAX && (i + 1) * sizeof entry <= p->p_filesz; i++) {
        if (!load(s, p->p_vaddr + i * sizeof entry, &entry, sizeof entry) || entry.d_tag == DT_NULL)
            return;
        uint64_t *to = entry.d_tag == DT_SYMTAB     ? &d->symbols
                       : entry.d_tag == DT_STRTAB   ? &d->strings
                       : entry.d_tag == DT_STRSZ    ? &d->strings_bytes
                       : entry.d_tag == DT_HASH     ? &d->hash
                       : entry.d_tag == DT_GNU_HASH ? &d->gnu_hash
                                                    : NULL;
        if (to)
            *to = entry.d_un.d_val;
    }
}

static uint64_t symbols_in(const struct source *s, const struct dynamic *d)
{
    uint32_t head[2];
    uint64_t n = d->gnu_hash ? symbols_of_gnu_hash(s, d->gnu_hash) : 0;
    if (!n && d->hash && load(s, d->hash, head, sizeof head))
        n = head[1];
    if (!n && d->strings > d->symbols) /* as linkers lay them out */
        n = (d->strings - d->symbols) / sizeof(Elf64_Sym);
    return n <= SYMBOLS_MAX ? n : 0;
}

static void add(const struct source *s, Elf64_Shdr *sections, unsigned *n, Elf64_Shdr add)
{
    uint64_t left;
    if (*n + 1 < SECTIONS_MAX && in_file(s, add.sh_addr, &add.sh_offset, &left)) {
        if (add.sh_size > left)
            add.sh_size = left;
        sections[(*n)++] = add;
    }
}

static void add_frames(const struct source *s, const Elf64_Phdr *p, Elf64_Shdr *sections, unsigned *n)
{
    uint8_t head[8];
    int32_t distance;
    add(s, sections, n,
        (Elf64_Shdr){.sh_name = EH_FRAME_HDR,
                     .sh_type = SHT_PROGBITS,
                     .sh_flags = SHF_ALLOC,
                     .sh_addr = p->p_vaddr,
                     .sh_size = p->p_filesz,
                     .sh_addralign = 4});
    if (!load(s, p->p_vaddr, head, sizeof head) || head[0] != 1 ||
        head[1] != 0x1b) /* relative to itself, 4 bytes */
        return;
    memcpy(&distance, head + 4, sizeof distance);
    add(s, sections, n,
        (Elf64_Shdr){.sh_name = EH_FRAME,
                     .sh_type = SHT_PROGBITS,
                     .sh_flags = SHF_ALLOC,
                     .sh_addr = p->p_vaddr + 4 + (uint64_t)(int64_t)distance,
                     .sh_size = UINT64_MAX,
                     .sh_addralign = 8});
}

static unsigned make_sections(const struct source *s, Elf64_Shdr sections[SECTIONS_MAX])
{
    unsigned n = 1;
    struct dynamic d = {0};
    for (unsigned i = 0; i < s->n_segments; i++)
        if (s->segments[i].p_type == PT_DYNAMIC)
            read_dynamic(s, &s->segments[i], &d);
    const uint64_t n_symbols = symbols_in(s, &d);
    if (n_symbols && d.strings) {
        add(s, sections, &n,
            (Elf64_Shdr){.sh_name = DYNSYM,
                         .sh_type = SHT_DYNSYM,
                         .sh_flags = SHF_ALLOC,
                         .sh_addr = d.symbols,
                         .sh_size = n_symbols * sizeof(Elf64_Sym),
                         .sh_link = n + 1,
                         .sh_info = 1,
                         .sh_entsize = sizeof(Elf64_Sym),
                         .sh_addralign = 8});
        add(s, sections, &n,
            (Elf64_Shdr){.sh_name = DYNSTR,
                         .sh_type = SHT_STRTAB,
                         .sh_flags = SHF_ALLOC,
                         .sh_addr = d.strings,
                         .sh_size = d.strings_bytes,
                         .sh_addralign = 1});
        if (n != 3) /* one of them lies nowhere */
            n = 1;
    }
    for (unsigned i = 0; i < s->n_segments; i++) {
        const Elf64_Phdr *p = &s->segments[i];
        if (p->p_type == PT_GNU_EH_FRAME)
            add_frames(s, p, sections, &n);
        if (p->p_type == PT_LOAD && p->p_flags & PF_X)
            add(s, sections, &n,
                (Elf64_Shdr){.sh_name = TEXT,
                             .sh_type = SHT_PROGBITS,
                             .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
                             .sh_addr = p->p_vaddr,
                             .sh_size = p->p_filesz,
                             .sh_addralign = 16});
    }
    return n;
}

char *cs_elf_with_sections(const char *bytes, size_t n, size_t *n_made)
{
    assert(bytes || n == 0);
    Elf64_Ehdr head;
    struct source s = {.bytes = bytes, .n = n};
    Elf64_Shdr sections[SECTIONS_MAX] = {{0}};
    if (n < sizeof head || n > FILE_MAX)
        return NULL;
    memcpy(&head, bytes, sizeof head);
    if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_ident[EI_DATA] != ELFDATA2LSB ||
        (head.e_shoff && head.e_shnum) || head.e_phentsize != sizeof(Elf64_Phdr) ||
        head.e_phnum > SEGMENTS_MAX || head.e_phoff > n ||
        head.e_phnum * sizeof(Elf64_Phdr) > n - head.e_phoff)
        return NULL;
    s.n_segments = head.e_phnum;
    memcpy(s.segments, bytes + head.e_phoff, s.n_segments * sizeof *s.segments);
    unsigned count = make_sections(&s, sections);
    if (count == 1)
        return NULL;
    const size_t names_at = (n + 15) & ~(size_t)15, table_at = (names_at + sizeof names + 15) & ~(size_t)15;
    sections[count++] = (Elf64_Shdr){.sh_name = SHSTRTAB,
                                     .sh_type = SHT_STRTAB,
                                     .sh_offset = names_at,
                                     .sh_size = sizeof names,
                                     .sh_addralign = 1};
    *n_made = table_at + count * sizeof *sections;
    char *made = calloc(1, *n_made);
    if (!made)
        return NULL;
    memcpy(made, bytes, n);
    memcpy(made + names_at, names, sizeof names);
    memcpy(made + table_at, sections, count * sizeof *sections);
    head.e_shoff = table_at;
    head.e_shentsize = sizeof *sections;
    head.e_shnum = (Elf64_Half)count;
    head.e_shstrndx = (Elf64_Half)(count - 1);
    memcpy(made, &head, sizeof head);
    return made;
}
