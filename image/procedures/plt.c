/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A PLT stub is recognised by how it reads its slot, `jmp *slot(%rip)` or `adrp x16; ldr x17`. The linker
 * and the flavour of PLT (.plt, .plt.sec, .plt.got) don't matter. The slot's relocation has the name. */
#include "image/procedures/plt.h"
#include "store/base/array.h"
#include "store/base/order.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STUB_BYTES 16

CS_ORDER(by_offset, struct import, cs_order(a->offset, b->offset))

CS_ORDER(by_relative, struct relative, cs_order(a->offset, b->offset))

static int add_slot(struct imports *im, uint64_t offset, const char *name)
{
    if (cs_array_room(im->slots, im->n_slots, im->capacity_slots) < 0)
        return -ENOMEM;
    im->slots[im->n_slots++] = (struct import){offset, name};
    return 0;
}

static int add_relative(struct imports *im, uint64_t offset, uint64_t value)
{
    if (cs_array_room(im->relatives, im->n_relatives, im->capacity_relatives) < 0)
        return -ENOMEM;
    im->relatives[im->n_relatives++] = (struct relative){offset, value};
    return 0;
}

static const char *symbol_name(const struct elf_file *file, const struct elf_section *symbols, uint64_t index)
{
    size_t n, n_strings;
    const uint8_t *bytes = elf_file_contents(file, symbols, &n);
    if (!bytes || symbols->header.sh_link == 0 || index >= n / sizeof(Elf64_Sym))
        return NULL;
    Elf64_Sym symbol;
    memcpy(&symbol, bytes + index * sizeof symbol, sizeof symbol);
    for (size_t i = 0; i < file->n_sections; i++)
        if (elf_ndxscn(file->sections[i].section) == symbols->header.sh_link) {
            const char *strings = (const char *)elf_file_contents(file, &file->sections[i], &n_strings);
            if (!strings || symbol.st_name >= n_strings ||
                !memchr(strings + symbol.st_name, 0, n_strings - symbol.st_name))
                return NULL;
            return strings + symbol.st_name;
        }
    return NULL;
}

enum kind { KIND_OTHER, KIND_RELATIVE, KIND_SLOT, KIND_IFUNC };

static enum kind kind_of(enum cs_isa isa, uint64_t type)
{
    static const struct {
        enum cs_isa isa;
        uint32_t type;
        enum kind kind;
    } kinds[] = {
        {CS_ISA_X86_64, R_X86_64_RELATIVE, KIND_RELATIVE},
        {CS_ISA_X86_64, R_X86_64_JUMP_SLOT, KIND_SLOT},
        {CS_ISA_X86_64, R_X86_64_GLOB_DAT, KIND_SLOT},
        {CS_ISA_X86_64, R_X86_64_IRELATIVE, KIND_IFUNC},
        {CS_ISA_AARCH64, R_AARCH64_RELATIVE, KIND_RELATIVE},
        {CS_ISA_AARCH64, R_AARCH64_JUMP_SLOT, KIND_SLOT},
        {CS_ISA_AARCH64, R_AARCH64_GLOB_DAT, KIND_SLOT},
        {CS_ISA_AARCH64, R_AARCH64_IRELATIVE, KIND_IFUNC},
        {CS_ISA_RISCV64, R_RISCV_RELATIVE, KIND_RELATIVE},
        {CS_ISA_RISCV64, R_RISCV_JUMP_SLOT, KIND_SLOT},
        {CS_ISA_RISCV64, R_RISCV_64, KIND_SLOT}, /* what others' GLOB_DAT is */
        {CS_ISA_RISCV64, R_RISCV_IRELATIVE, KIND_IFUNC},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].isa == isa && kinds[i].type == type)
            return kinds[i].kind;
    return KIND_OTHER;
}

static int read_rela(struct imports *im, const struct elf_file *file, const struct elf_section *section,
                     const struct elf_section *symbols)
{
    size_t n;
    const uint8_t *bytes = elf_file_contents(file, section, &n);
    for (size_t i = 0; bytes && i < n / sizeof(Elf64_Rela); i++) {
        Elf64_Rela r;
        memcpy(&r, bytes + i * sizeof r, sizeof r);
        int rc = 0;
        switch (kind_of(elf_file_isa(file), ELF64_R_TYPE(r.r_info))) {
        case KIND_RELATIVE:
            rc = add_relative(im, r.r_offset, (uint64_t)r.r_addend);
            break;
        case KIND_SLOT: {
            const char *name = symbols ? symbol_name(file, symbols, ELF64_R_SYM(r.r_info)) : NULL;
            if (name && *name)
                rc = add_slot(im, r.r_offset, name);
            break;
        }
        case KIND_IFUNC:
            rc = add_slot(im, r.r_offset, "ifunc");
            break;
        case KIND_OTHER:
            break;
        }
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* The compact form: an even word is an address, an odd one a bitmap of the 63 words that follow the last
 * address. The value stands in the slot itself. */
static int read_relr(struct imports *im, const struct elf_file *file, const struct elf_section *section)
{
    size_t n, capacity;
    uint64_t where = 0;
    const uint8_t *bytes = elf_file_contents(file, section, &n);
    for (size_t i = 0; bytes && i < n / 8; i++) {
        uint64_t word, value;
        memcpy(&word, bytes + 8 * i, 8);
        uint64_t first = word & 1 ? where : word, bits = word & 1 ? word >> 1 : 1;
        where = word & 1 ? where + 63 * 8 : word + 8;
        for (uint64_t at = first; bits; bits >>= 1, at += 8) {
            const uint8_t *slot = bits & 1 ? elf_file_at(file, at, &capacity, NULL) : NULL;
            if (!slot || capacity < 8)
                continue;
            memcpy(&value, slot, 8);
            if (add_relative(im, at, value) < 0)
                return -ENOMEM;
        }
    }
    return 0;
}

static const struct import *find(const struct import *list, size_t n, uint64_t offset)
{
    struct import key = {offset, NULL};
    return cs_find(&key, list, n, by_offset);
}

static int add_stub(struct imports *im, uint64_t offset, uint64_t slot)
{
    const struct import *to = find(im->slots, im->n_slots, slot);
    if (!to)
        return 0;
    if (cs_array_room(im->stubs, im->n_stubs, im->capacity_stubs) < 0)
        return -ENOMEM;
    im->stubs[im->n_stubs++] = (struct import){offset, to->name};
    return 1;
}

/* [bti c;] adrp x16, page; ldr x17, [x16, #slot]; add x16, …; br x17 */
static int read_stubs_aarch64(struct imports *im, const struct elf_file *file,
                              const struct elf_section *section)
{
    size_t n;
    uint32_t word[3] = {0}; /* this one and the two before */
    const uint8_t *bytes = elf_file_contents(file, section, &n);
    for (size_t at = 0; bytes && at + 4 <= n; at += 4) {
        word[2] = word[1];
        word[1] = word[0];
        memcpy(&word[0], bytes + at, 4);
        if ((word[1] & 0x9f00001f) != 0x90000010 || (word[0] & 0xffc003ff) != 0xf9400211)
            continue;
        uint64_t adrp = section->header.sh_addr + at - 4;
        int64_t pages = (int64_t)(int32_t)((word[1] >> 5 & 0x7ffff) << 13) >> 13;
        uint64_t slot = (adrp & ~UINT64_C(4095)) + (uint64_t)((pages * 4 + (word[1] >> 29 & 3)) * 4096) +
                        (uint64_t)(word[0] >> 10 & 4095) * 8;
        if (add_stub(im, adrp - (word[2] == 0xd503245f ? 4 : 0), slot) < 0)
            return -ENOMEM;
    }
    return 0;
}

/* auipc t3, page; ld t3, slot(t3); jalr t1, t3; nop */
static int read_stubs_riscv64(struct imports *im, const struct elf_file *file,
                              const struct elf_section *section)
{
    size_t n;
    const uint8_t *bytes = elf_file_contents(file, section, &n);
    for (size_t at = 0; bytes && at + 8 <= n; at += 4) {
        uint32_t auipc, load;
        memcpy(&auipc, bytes + at, sizeof auipc);
        memcpy(&load, bytes + at + 4, sizeof load);
        if ((auipc & 0xfff) != 0xe17 || (load & 0xfffff) != 0xe3e03)
            continue;
        uint64_t offset = section->header.sh_addr + at;
        int64_t page = (int32_t)(auipc & 0xfffff000), within = (int32_t)load >> 20;
        if (add_stub(im, offset, offset + (uint64_t)(page + within)) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int read_stubs(struct imports *im, const struct elf_file *file, const struct elf_section *section)
{
    if (elf_file_isa(file) == CS_ISA_AARCH64)
        return read_stubs_aarch64(im, file, section);
    if (elf_file_isa(file) == CS_ISA_RISCV64)
        return read_stubs_riscv64(im, file, section);
    size_t n, step = section->header.sh_entsize == 8 ? 8 : STUB_BYTES;
    const uint8_t *bytes = elf_file_contents(file, section, &n);
    for (size_t at = 0; bytes && at + step <= n; at += step)
        for (size_t k = 0; k + 6 <= step; k++) {
            int32_t displacement;
            if (bytes[at + k] != 0xff || bytes[at + k + 1] != 0x25)
                continue;
            memcpy(&displacement, bytes + at + k + 2, 4);
            uint64_t slot = section->header.sh_addr + at + k + 6 + (uint64_t)(int64_t)displacement;
            int added = add_stub(im, section->header.sh_addr + at, slot);
            if (added < 0)
                return added;
            if (added)
                break;
        }
    return 0;
}

/* Linkers sort them, mostly. */
static bool relatives_sorted(const struct imports *im)
{
    for (size_t i = 1; i < im->n_relatives; i++)
        if (im->relatives[i - 1].offset > im->relatives[i].offset)
            return false;
    return true;
}

int imports_init(struct imports *im, const struct elf_file *file)
{
    *im = (struct imports){0};
    if (elf_file_isa(file) == CS_ISA_NONE)
        return 0;
    const struct elf_section *symbols = elf_file_section_of_type(file, SHT_DYNSYM);
    int rc = 0;
    for (size_t i = 0; i < file->n_sections && rc == 0; i++) {
        const struct elf_section *s = &file->sections[i];
        if (s->header.sh_type == SHT_RELA && (s->header.sh_flags & SHF_ALLOC))
            rc = read_rela(im, file, s, symbols);
        else if (s->header.sh_type == 19 /* SHT_RELR */)
            rc = read_relr(im, file, s);
    }
    cs_sort(im->slots, im->n_slots, by_offset);
    if (im->n_relatives && !relatives_sorted(im))
        cs_sort(im->relatives, im->n_relatives, by_relative);
    for (size_t i = 0; i < file->n_sections && rc == 0; i++)
        if (strncmp(file->sections[i].name, ".plt", 4) == 0 || strcmp(file->sections[i].name, ".iplt") == 0)
            rc = read_stubs(im, file, &file->sections[i]);
    cs_sort(im->stubs, im->n_stubs, by_offset);
    if (rc < 0)
        imports_fini(im);
    return rc;
}

void imports_fini(struct imports *im)
{
    free(im->slots);
    free(im->stubs);
    free(im->relatives);
    *im = (struct imports){0};
}

const char *imports_name(const struct imports *im, uint64_t offset)
{
    const struct import *to = find(im->stubs, im->n_stubs, offset);
    if (!to)
        to = find(im->slots, im->n_slots, offset);
    return to ? to->name : NULL;
}

bool imports_relative(const struct imports *im, uint64_t offset, uint64_t *value)
{
    struct relative key = {offset, 0};
    const struct relative *r = cs_find(&key, im->relatives, im->n_relatives, by_relative);
    if (r)
        *value = r->value;
    return r != NULL;
}

uint64_t imports_stub_size(const struct imports *im, size_t i)
{
    assert(i < im->n_stubs);
    return i + 1 < im->n_stubs && im->stubs[i + 1].offset - im->stubs[i].offset < STUB_BYTES
               ? im->stubs[i + 1].offset - im->stubs[i].offset
               : STUB_BYTES;
}
