/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Local symbols are numbered per name in ascending order of address, once, when the names are opened. */
#include "exchange/export/bolt_names.h"
#include "exchange/export/export.h"
#include "store/base/bisect.h"

#include "store/base/order.h"
#include "store/base/regular_file.h"

#include <assert.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct local {
    uint64_t address;
    const char *name; /* in the file */
    unsigned number;
};

struct cs_export_bolt_names {
    int fd;
    Elf *elf;
    struct local *list; /* ascending by address, then name */
    size_t n;
};

CS_ORDER(by_name, struct local, strcmp(a->name, b->name), cs_order(a->address, b->address))

CS_ORDER(by_address, struct local, cs_order(a->address, b->address), strcmp(a->name, b->name))

static bool in_memory(Elf *elf, const GElf_Sym *symbol)
{
    unsigned kind = GELF_ST_TYPE(symbol->st_info);
    Elf_Scn *section = elf_getscn(elf, symbol->st_shndx);
    GElf_Shdr header;
    return symbol->st_value && symbol->st_shndx != SHN_UNDEF && symbol->st_shndx < SHN_LORESERVE &&
           kind != STT_FILE && kind != STT_SECTION && kind != STT_TLS && section &&
           gelf_getshdr(section, &header) && (header.sh_flags & SHF_ALLOC);
}

static bool read_locals(struct cs_export_bolt_names *names)
{
    for (Elf_Scn *section = NULL; (section = elf_nextscn(names->elf, section));) {
        GElf_Shdr header;
        Elf_Data *entries = NULL;
        if (!gelf_getshdr(section, &header) || header.sh_type != SHT_SYMTAB || !header.sh_entsize ||
            !(entries = elf_getdata(section, NULL)))
            continue;
        size_t n = entries->d_size / header.sh_entsize;
        names->list = calloc(n + 1, sizeof *names->list);
        if (!names->list)
            return false;
        for (size_t i = 1; i < n && i < INT32_MAX; i++) {
            GElf_Sym s;
            if (!gelf_getsym(entries, (int)i, &s) || GELF_ST_BIND(s.st_info) != STB_LOCAL ||
                !in_memory(names->elf, &s))
                continue;
            const char *name = elf_strptr(names->elf, header.sh_link, s.st_name);
            if (name && *name && cs_export_name_is_word(name))
                names->list[names->n++] = (struct local){.address = s.st_value, .name = name};
        }
        return true;
    }
    return true;
}

struct cs_export_bolt_names *cs_export_bolt_names_open(const struct cs_image_code *code)
{
    struct cs_export_bolt_names *names = calloc(1, sizeof *names);
    if (!names)
        return NULL;
    names->fd = cs_open_regular(NULL, cs_image_path(code), INT64_MAX, NULL);
    if (names->fd >= 0 && elf_version(EV_CURRENT) != EV_NONE)
        names->elf = elf_begin(names->fd, ELF_C_READ, NULL);
    if (names->elf && !read_locals(names)) {
        cs_export_bolt_names_close(names);
        return NULL;
    }
    if (names->n) {
        cs_sort(names->list, names->n, by_name);
        for (size_t i = 0; i < names->n; i++)
            names->list[i].number = i > 0 && strcmp(names->list[i].name, names->list[i - 1].name) == 0
                                        ? names->list[i - 1].number + 1
                                        : 1;
        cs_sort(names->list, names->n, by_address);
    }
    return names;
}

void cs_export_bolt_names_close(struct cs_export_bolt_names *names)
{
    if (!names)
        return;
    if (names->elf)
        elf_end(names->elf);
    if (names->fd >= 0)
        close(names->fd);
    free(names->list);
    free(names);
}

bool cs_export_bolt_names_find(const struct cs_export_bolt_names *names, struct cs_image_code *code,
                               uint64_t address, struct cs_export_bolt_place *place)
{
    assert(names);
    const struct cs_image_procedure *p = cs_image_procedure_at(code, address);
    if (!p || p->source > CS_IMAGE_FROM_DYNSYM || !cs_export_name_is_word(p->name))
        return false;
    unsigned part = 0;
    while (part < p->n_parts && address - p->parts[part].start >= p->parts[part].size)
        part++;
    uint64_t start = part < p->n_parts ? p->parts[part].start : p->start;
    *place = (struct cs_export_bolt_place){p->name, 0, address - start};
    size_t low = cs_bisect(names->n, i, names->list[i].address < start);
    for (size_t i = low; i < names->n && names->list[i].address == start; i++)
        if (start != p->start || strcmp(names->list[i].name, p->name) == 0) {
            place->name = names->list[i].name;
            place->number = names->list[i].number;
            return true;
        }
    return start == p->start; /* a global one */
}
