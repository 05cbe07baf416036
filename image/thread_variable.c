/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Program headers, dynamic section, hash table, symbol, relocations: each read where the one before says. */
#include "image/thread_variable.h"

#include <assert.h>
#include <elf.h>
#include <errno.h>
#include <string.h>

#define SEGMENTS_MAX 64
#define DYNAMIC_MAX 256
#define CHAIN_MAX 4096
#define RELOCATIONS_MAX (1U << 20)
#define RELOCATIONS_AT_ONCE 170 /* 4 KB */

struct module {
    const struct cs_process_memory *memory;
    uint64_t bias;
    uint64_t tls_at, tls_bytes, tls_align;
    uint64_t symbols, strings, hash;
    struct {
        uint64_t at, bytes;
    } relocations[2];
};

static bool get(const struct module *m, uint64_t addr, void *to, size_t n)
{
    return m->memory->read(m->memory->arg, addr, to, n);
}

/* glibc has put addresses in place of what the file says; others haven't. */
static uint64_t addr_of(const struct module *m, uint64_t value)
{
    return value < m->bias ? value + m->bias : value;
}

static bool read_dynamic(struct module *m, uint64_t at)
{
    for (unsigned i = 0; i < DYNAMIC_MAX; i++, at += sizeof(Elf64_Dyn)) {
        Elf64_Dyn d;
        if (!get(m, at, &d, sizeof d))
            return false;
        switch (d.d_tag) {
        case DT_NULL:
            return m->symbols && m->strings && m->hash;
        case DT_SYMTAB:
            m->symbols = addr_of(m, d.d_un.d_ptr);
            break;
        case DT_STRTAB:
            m->strings = addr_of(m, d.d_un.d_ptr);
            break;
        case DT_GNU_HASH:
            m->hash = addr_of(m, d.d_un.d_ptr);
            break;
        case DT_RELA:
            m->relocations[0].at = addr_of(m, d.d_un.d_ptr);
            break;
        case DT_RELASZ:
            m->relocations[0].bytes = d.d_un.d_val;
            break;
        case DT_JMPREL:
            m->relocations[1].at = addr_of(m, d.d_un.d_ptr);
            break;
        case DT_PLTRELSZ:
            m->relocations[1].bytes = d.d_un.d_val;
            break;
        }
    }
    return false;
}

static bool read_module(struct module *m, uint64_t base)
{
    Elf64_Ehdr header;
    Elf64_Phdr segment;
    uint64_t dynamic = 0;
    bool placed = false;
    if (!get(m, base, &header, sizeof header) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != EM_X86_64 ||
        header.e_phentsize != sizeof segment || header.e_phnum > SEGMENTS_MAX)
        return false;
    for (unsigned i = 0; i < header.e_phnum; i++) {
        if (!get(m, base + header.e_phoff + i * sizeof segment, &segment, sizeof segment))
            return false;
        if (segment.p_type == PT_LOAD && !placed) {
            m->bias = base - (segment.p_vaddr - segment.p_offset);
            placed = true;
        } else if (segment.p_type == PT_DYNAMIC) {
            dynamic = segment.p_vaddr;
        } else if (segment.p_type == PT_TLS) {
            m->tls_at = segment.p_vaddr;
            m->tls_bytes = segment.p_memsz;
            m->tls_align = segment.p_align ? segment.p_align : 1;
        }
    }
    return placed && dynamic && m->tls_bytes && read_dynamic(m, m->bias + dynamic);
}

static uint32_t hash_of(const char *name)
{
    uint32_t h = 5381;
    for (; *name; name++)
        h = h * 33 + (unsigned char)*name;
    return h;
}

/* The number of the symbol, 0: there is none. */
static uint32_t find_symbol(const struct module *m, const char *name, Elf64_Sym *symbol)
{
    struct {
        uint32_t n_buckets, first, n_bloom, shift;
    } table;
    char found[64];
    const size_t n = strlen(name) + 1;
    const uint32_t hash = hash_of(name);
    uint32_t number, chained;
    if (n > sizeof found || !get(m, m->hash, &table, sizeof table) || !table.n_buckets)
        return 0;
    const uint64_t buckets = m->hash + sizeof table + 8ULL * table.n_bloom,
                   chains = buckets + 4ULL * table.n_buckets;
    if (!get(m, buckets + 4ULL * (hash % table.n_buckets), &number, sizeof number) || number < table.first)
        return 0;
    for (unsigned i = 0; i < CHAIN_MAX; i++, number++) {
        if (!get(m, chains + 4ULL * (number - table.first), &chained, sizeof chained))
            return 0;
        if ((chained | 1) == (hash | 1) &&
            get(m, m->symbols + (uint64_t)number * sizeof *symbol, symbol, sizeof *symbol) &&
            get(m, m->strings + symbol->st_name, found, n) && memcmp(found, name, n) == 0 &&
            symbol->st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol->st_info) == STT_TLS)
            return number;
        if (chained & 1)
            return 0;
    }
    return 0;
}

/* What the linker wrote at a word of this kind. */
static bool place_by(const struct module *m, const Elf64_Rela *r, struct cs_thread_variable *out)
{
    uint64_t words[2];
    const bool pair = ELF64_R_TYPE(r->r_info) != R_X86_64_TPOFF64;
    if (!get(m, m->bias + r->r_offset, words, pair ? sizeof words : 8))
        return false;
    switch (ELF64_R_TYPE(r->r_info)) {
    case R_X86_64_TPOFF64:
        *out = (struct cs_thread_variable){0, (int64_t)words[0]};
        return true;
    case R_X86_64_TLSDESC: /* a function and its argument: an offset, below zero, or where module and offset stand */
        if ((int64_t)words[1] < 0) {
            *out = (struct cs_thread_variable){0, (int64_t)words[1]};
            return true;
        }
        if (!words[1] || !get(m, words[1], words, sizeof words))
            return false;
        break;
    case R_X86_64_DTPMOD64:
        break;
    default:
        return false;
    }
    *out = (struct cs_thread_variable){words[0], (int64_t)words[1]};
    return words[0] > 0;
}

static bool find_word(const struct module *m, uint32_t symbol, struct cs_thread_variable *out)
{
    Elf64_Rela some[RELOCATIONS_AT_ONCE];
    for (unsigned k = 0; k < 2; k++) {
        uint64_t left = m->relocations[k].bytes / sizeof *some, at = m->relocations[k].at;
        left = left < RELOCATIONS_MAX ? left : RELOCATIONS_MAX;
        while (left) {
            const uint64_t n = left < RELOCATIONS_AT_ONCE ? left : RELOCATIONS_AT_ONCE;
            if (!get(m, at, some, n * sizeof *some))
                break;
            for (uint64_t i = 0; i < n; i++)
                if (ELF64_R_SYM(some[i].r_info) == symbol && place_by(m, &some[i], out))
                    return true;
            at += n * sizeof *some;
            left -= n;
        }
    }
    return false;
}

int cs_thread_variable_find(const struct cs_process_memory *memory, uint64_t base, bool program,
                            const char *name, struct cs_thread_variable *out)
{
    assert(name && out);
    struct module m = {.memory = memory};
    Elf64_Sym symbol;
    if (!read_module(&m, base))
        return -EINVAL;
    const uint32_t number = find_symbol(&m, name, &symbol);
    if (!number)
        return -ENOENT;
    if (!program)
        return find_word(&m, number, out) ? 0 : -ENOTSUP;
    /* The program's block ends at the thread pointer, aligned as the file's addresses are. */
    const uint64_t block = m.tls_bytes + (0 - m.tls_at - m.tls_bytes) % m.tls_align;
    *out = (struct cs_thread_variable){0, (int64_t)(symbol.st_value - block)};
    return 0;
}
