/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/variable.h"

#include "image/file/elf.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

static bool look(const struct elf_file *file, uint32_t type, const char *name, GElf_Sym *found)
{
    const struct elf_section *section = file ? elf_file_section_of_type(file, type) : NULL;
    Elf_Data *data = section ? elf_getdata(section->section, NULL) : NULL;
    bool any = false;
    GElf_Sym symbol;
    for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
        if (GELF_ST_TYPE(symbol.st_info) != STT_OBJECT || symbol.st_shndx == SHN_UNDEF)
            continue;
        const char *text = elf_strptr(file->elf, section->header.sh_link, symbol.st_name);
        if (!text || strcmp(text, name) != 0)
            continue;
        bool global = GELF_ST_BIND(symbol.st_info) != STB_LOCAL;
        if (!any || global)
            *found = symbol;
        any = true;
        if (global)
            break;
    }
    return any;
}

int cs_image_variable(const char *path, const char *name, uint64_t *vaddr, uint64_t *size,
                      struct cs_error *err)
{
    assert(name && vaddr && size);
    struct elf_file *file, *debug = NULL;
    GElf_Sym symbol;
    int rc = elf_file_open(path, &file, err);
    if (rc < 0)
        return rc;
    bool found = look(file, SHT_SYMTAB, name, &symbol) || look(file, SHT_DYNSYM, name, &symbol);
    if (!found) {
        debug = elf_file_find_debug(file);
        found = look(debug, SHT_SYMTAB, name, &symbol);
    }
    if (found) {
        *vaddr = symbol.st_value;
        *size = symbol.st_size;
    }
    if (debug)
        elf_file_close(debug);
    elf_file_close(file);
    return found ? 0 : -ENOENT;
}
