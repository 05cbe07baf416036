/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Layout: Go's runtime/symtab.go and cmd/link/internal/ld/pcln.go.
 *
 *   table      magic, 2 zeros, quantum, 8, n_functions, n_files, text, names, units, files, steps, functions (8 bytes each)
 *   functions  n_functions + 1 pairs (entry, place of the function's head), 4 bytes each
 *   head       entry, name, args, deferreturn, place of its SP steps, ... , flags
 *   steps      pairs (change of SP's distance, zigzag; bytes of code / quantum), variable length; starts at -1, 0 ends it
 */
#include "image/procedures/go_table.h"

#include <assert.h>
#include <string.h>

#define NAME_MAX_READ 4096u /* bytes of a name, its end included */
#define MAGIC_1_18 0xfffffff0U
#define MAGIC_1_20 0xfffffff1U

uint64_t go_table_word(const struct go_table *go, uint64_t at, unsigned bytes)
{
    uint64_t value = 0;
    if (at <= go->n && bytes <= go->n - at)
        memcpy(&value, go->table + at, bytes);
    return value;
}

bool go_table_init(struct go_table *go, const struct elf_file *file)
{
    const struct elf_section *section = elf_file_section(file, ".gopclntab");
    const struct elf_section *text = elf_file_section(file, ".text");
    *go = (struct go_table){.machine = file->header.e_machine};
    if (!section)
        section = elf_file_section(file, ".data.rel.ro.gopclntab");
    go->table = section ? elf_file_contents(file, section, &go->n) : NULL;
    if (!go->table || go->n < 72)
        return false;
    uint64_t magic = go_table_word(go, 0, 4);
    go->quantum = go->table[6];
    go->n_functions = go_table_word(go, 8, 8);
    go->text = go_table_word(go, 24, 8);
    go->steps = go_table_word(go, 56, 8);
    go->functions = go_table_word(go, 64, 8);
    go->flag_at = magic == MAGIC_1_18 ? 37 : 41;
    if (go->text == 0 && text &&
        !elf_file_section(file, ".eh_frame")) /* the loader would fill it in; no C code comes before */
        go->text = text->header.sh_addr;
    return (magic == MAGIC_1_18 || magic == MAGIC_1_20) && go->table[7] == 8 && go->quantum && go->text &&
           go->steps < go->n && go->functions < go->n && go->n_functions &&
           go->n_functions < (go->n - go->functions) / 8;
}

uint64_t go_table_entry(const struct go_table *go, uint64_t i)
{
    assert(i <= go->n_functions);
    return go->text + go_table_word(go, go->functions + 8 * i, 4);
}

bool go_table_function(const struct go_table *go, uint64_t i, uint64_t *start, uint64_t *end,
                       const char **name)
{
    uint64_t head = go->functions + go_table_word(go, go->functions + 8 * i + 4, 4);
    uint64_t at = go_table_word(go, 32, 8) + go_table_word(go, head + 4, 4);
    *start = go_table_entry(go, i);
    *end = go_table_entry(go, i + 1);
    if (i >= go->n_functions || head >= go->n || go->n - head < GO_TABLE_HEAD_BYTES || at >= go->n ||
        *end <= *start || !go->table[at] ||
        !memchr(go->table + at, 0, go->n - at < NAME_MAX_READ ? go->n - at : NAME_MAX_READ))
        return false;
    *name = (const char *)go->table + at;
    return true;
}
