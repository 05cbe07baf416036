/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A unit's scopes (functions and inlined calls) become nested ranges, so that the chain at an address is a
 * walk up the parents. The function dwarf_getscopes of libdw walks the unit's tree for each question. */
#include "image/debug/lines.h"
#include "image/debug/inflated.h"
#include "image/debug/line_program.h"
#include "image/file/ranges.h"
#include "store/base/array.h"

#include <assert.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define DEPTH_MAX 200 /* of the tree of DIEs */
#define RANGES_A_SCOPE_MAX 4096
#define SCOPES_MAX 4000000
#define FEW_QUESTIONS 8 /* for more in one unit its whole table pays */

#ifndef DW_AT_GNU_discriminator /* absent from older dwarf.h */
#define DW_AT_GNU_discriminator 0x2136
#endif

struct scope {
    const char *name;
    const char *call_file, *first_file;
    unsigned call_line, call_column, call_discriminator, first_line;
    uint8_t inlined;
};

/* A file name of the tables, made absolute by the unit's DW_AT_comp_dir. */
struct joined {
    const char *raw;
    char *full;
};

struct unit {
    Dwarf_Off die;
    const char *folder; /* DW_AT_comp_dir, NULL unknown */
    struct joined *joined;
    size_t n_joined;
    struct cs_image_ranges ranges; /* id = index in scopes */
    struct scope *scopes;
    size_t n, capacity;
    unsigned questions; /* for a line alone */
    bool walked;
};

struct lines {
    Elf *plain; /* of compressed debug sections; NULL: none */
    char *plain_bytes;
    size_t n_plain;
    Dwarf *dwarf;
    struct unit *units;
    size_t n;
    struct cs_image_ranges ranges; /* id = index in units */
    struct line_sections sections;
    const char *absent; /* the first file of split debug information that was looked for in vain */
};

static int add_die_ranges(struct cs_image_ranges *ranges, Dwarf_Die *die, uint32_t id)
{
    Dwarf_Addr base, low, high;
    ptrdiff_t at = 0;
    for (int i = 0; i < RANGES_A_SCOPE_MAX && (at = dwarf_ranges(die, at, &base, &low, &high)) > 0; i++)
        if (low != 0 && cs_image_ranges_add(ranges, low, high, id) < 0) /* 0: the linker dropped the code */
            return -1;
    return 0;
}

/* Empty when it is compressed: then libdw answers. */
static struct bytes_of section_named(Elf *elf, size_t names, const char *wanted)
{
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section)) != NULL;) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS ||
            (header.sh_flags & SHF_COMPRESSED))
            continue;
        const char *name = elf_strptr(elf, names, header.sh_name);
        Elf_Data *data = name && strcmp(name, wanted) == 0 ? elf_rawdata(section, NULL) : NULL;
        if (data && data->d_buf)
            return (struct bytes_of){data->d_buf, data->d_size};
    }
    return (struct bytes_of){NULL, 0};
}

static struct line_sections find_sections(Elf *elf)
{
    size_t names;
    GElf_Ehdr header;
    if (elf_getshdrstrndx(elf, &names) != 0 || !gelf_getehdr(elf, &header) ||
        header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_type == ET_REL)
        return (struct line_sections){.line = {NULL, 0}};
    return (struct line_sections){.line = section_named(elf, names, ".debug_line"),
                                  .line_str = section_named(elf, names, ".debug_line_str"),
                                  .str = section_named(elf, names, ".debug_str")};
}

struct lines *lines_open(Elf *elf)
{
    struct lines *lines = calloc(1, sizeof *lines);
    if (!lines)
        return NULL;
    if ((lines->plain = inflated_open(elf, &lines->plain_bytes)) != NULL) {
        elf = lines->plain;
        (void)elf_rawfile(elf, &lines->n_plain);
    }
    lines->dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
    lines->sections = find_sections(elf);
    Dwarf_CU *cu = NULL, *before = NULL;
    Dwarf_Die die;
    uint8_t type;
    size_t capacity = 0;
    while (lines->dwarf && dwarf_get_units(lines->dwarf, cu, &cu, NULL, &type, &die, NULL) == 0) {
        if (cu == before)
            break;
        before = cu;
        if (type != DW_UT_compile && type != DW_UT_skeleton)
            continue;
        if (cs_array_room(lines->units, lines->n, capacity) < 0)
            break;
        lines->units[lines->n] = (struct unit){.die = dwarf_dieoffset(&die)};
        if (add_die_ranges(&lines->ranges, &die, (uint32_t)lines->n) < 0)
            break;
        lines->n++;
    }
    cs_image_ranges_nest(&lines->ranges);
    if (!lines->n) {
        lines_close(lines);
        return NULL;
    }
    return lines;
}

void lines_close(struct lines *lines)
{
    if (!lines)
        return;
    for (size_t i = 0; i < lines->n; i++) {
        cs_image_ranges_fini(&lines->units[i].ranges);
        free(lines->units[i].scopes);
        for (size_t k = 0; k < lines->units[i].n_joined; k++)
            free(lines->units[i].joined[k].full);
        free(lines->units[i].joined);
    }
    free(lines->units);
    cs_image_ranges_fini(&lines->ranges);
    dwarf_end(lines->dwarf);
    elf_end(lines->plain);
    free(lines->plain_bytes);
    free(lines);
}

uint64_t lines_bytes(const struct lines *lines)
{
    return lines->n_plain;
}

static const char *text_attribute(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    const char *text = dwarf_formstring(dwarf_attr_integrate(die, name, &attribute));
    return text;
}

static unsigned number_attribute(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    Dwarf_Word value = 0;
    return dwarf_formudata(dwarf_attr(die, name, &attribute), &value) == 0 && value <= UINT32_MAX
               ? (unsigned)value
               : 0;
}

static const char *scope_name(Dwarf_Die *die)
{
    const char *name = text_attribute(die, DW_AT_linkage_name);
    if (!name)
        name = text_attribute(die, DW_AT_MIPS_linkage_name);
    if (!name)
        name = text_attribute(die, DW_AT_name);
    return name ? name : "";
}

/* dwarf_decl_file asserts what a file can make untrue. */
static const char *declared_in(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    Dwarf_Word number;
    Dwarf_Die cu;
    Dwarf_Files *files;
    size_t n;
    if (!dwarf_attr_integrate(die, DW_AT_decl_file, &attribute) ||
        dwarf_formudata(&attribute, &number) != 0 ||
        !dwarf_cu_die(attribute.cu, &cu, NULL, NULL, NULL, NULL, NULL, NULL) ||
        dwarf_getsrcfiles(&cu, &files, &n) != 0 || number >= n)
        return NULL;
    return dwarf_filesrc(files, number, NULL, NULL);
}

static int add_scope(struct unit *unit, Dwarf_Die *cu, Dwarf_Die *die, bool inlined)
{
    if (unit->n >= SCOPES_MAX || cs_array_room(unit->scopes, unit->n, unit->capacity) < 0)
        return -1;
    uint32_t before = unit->ranges.n;
    if (add_die_ranges(&unit->ranges, die, (uint32_t)unit->n) < 0)
        return -1;
    if (unit->ranges.n == before)
        return 0;
    struct scope *s = &unit->scopes[unit->n++];
    int declared = 0;
    dwarf_decl_line(die, &declared);
    *s = (struct scope){.name = scope_name(die),
                        .inlined = inlined,
                        .first_line = declared > 0 ? (unsigned)declared : 0,
                        .first_file = declared_in(die)};
    if (inlined) {
        Dwarf_Files *files;
        size_t n_files;
        unsigned file = number_attribute(die, DW_AT_call_file);
        s->call_line = number_attribute(die, DW_AT_call_line);
        s->call_column = number_attribute(die, DW_AT_call_column);
        s->call_discriminator = number_attribute(die, DW_AT_GNU_discriminator);
        if (dwarf_getsrcfiles(cu, &files, &n_files) == 0 && file < n_files)
            s->call_file = dwarf_filesrc(files, file, NULL, NULL);
    }
    return 0;
}

static void walk(struct unit *unit, Dwarf_Die *cu)
{
    Dwarf_Die path[DEPTH_MAX];
    int depth = 0;
    path[0] = *cu;
    if (dwarf_child(cu, &path[++depth]) != 0)
        return;
    for (size_t steps = 0; depth > 0 && steps < 20 * (size_t)SCOPES_MAX; steps++) {
        Dwarf_Die *die = &path[depth];
        int tag = dwarf_tag(die);
        bool deeper = tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine ||
                      tag == DW_TAG_lexical_block || tag == DW_TAG_namespace || tag == DW_TAG_class_type ||
                      tag == DW_TAG_structure_type || tag == DW_TAG_module;
        if ((tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine) &&
            add_scope(unit, cu, die, tag == DW_TAG_inlined_subroutine) < 0)
            return;
        if (deeper && depth + 1 < DEPTH_MAX && dwarf_child(die, &path[depth + 1]) == 0) {
            depth++;
            continue;
        }
        while (depth > 0) {
            Dwarf_Die next;
            if (dwarf_siblingof(&path[depth], &next) == 0) {
                path[depth] = next;
                break;
            }
            depth--;
        }
    }
}

/* Split DWARF: where a unit is a skeleton, its functions are in a file beside the object file. libdw opens what the image says:
 * only if that is a regular file, or it could wait there for ever. False: it isn't there, and `absent` is its name if that is
 * why. */
static bool split_unit(const struct unit *unit, Dwarf_Die *cu, Dwarf_Die *split, const char **absent)
{
    char path[4200];
    struct stat st;
    uint8_t type = 0;
    Dwarf_Attribute attribute;
    if (dwarf_cu_info(cu->cu, NULL, &type, NULL, NULL, NULL, NULL, NULL) != 0 || type != DW_UT_skeleton)
        return false;
    const char *name = dwarf_formstring(dwarf_attr(cu, DW_AT_dwo_name, &attribute));
    if (!name)
        name = dwarf_formstring(dwarf_attr(cu, DW_AT_GNU_dwo_name, &attribute));
    if (!name)
        return false;
    if (!*absent)
        *absent = name;
    if (*name != '/' && !unit->folder)
        return false;
    const int n = snprintf(path, sizeof path, "%s%s%s", *name == '/' ? "" : unit->folder,
                           *name == '/' ? "" : "/", name);
    const bool there =
        n > 0 && (size_t)n < sizeof path && stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 &&
        dwarf_cu_info(cu->cu, NULL, NULL, NULL, split, NULL, NULL, NULL) == 0 && split->addr != NULL;
    if (there && *absent == name)
        *absent = NULL;
    return there;
}

/* unit's folder / folder / raw, as far as they are relative. libdw hands out the same pointer for the same
 * file, and so does the line program: a look by pointer finds it. */
static const char *join(struct unit *unit, const char *folder, const char *raw)
{
    bool rooted = *raw == '/' || *folder == '/' || !unit->folder;
    if (rooted && (*raw == '/' || !*folder))
        return raw;
    folder += strcmp(folder, ".") == 0 ? 1 : strncmp(folder, "./", 2) == 0 ? 2 : 0;
    for (size_t i = unit->n_joined; i-- > 0;)
        if (unit->joined[i].raw == raw)
            return unit->joined[i].full;
    if (cs_array_resize(unit->joined, unit->n_joined + 1) < 0)
        return raw;
    size_t room = (unit->folder ? strlen(unit->folder) : 0) + strlen(folder) + strlen(raw) + 3;
    char *full = malloc(room);
    if (!full)
        return raw;
    snprintf(full, room, "%s%s%s%s%s", rooted ? "" : unit->folder, rooted ? "" : "/", folder,
             *folder ? "/" : "", strncmp(raw, "./", 2) == 0 ? raw + 2 : raw);
    unit->joined[unit->n_joined++] = (struct joined){raw, full};
    return full;
}

static const char *absolute(struct unit *unit, const char *raw)
{
    return raw ? join(unit, "", raw) : "";
}

static struct unit *unit_at(struct lines *lines, uint64_t offset, Dwarf_Die *cu)
{
    uint32_t r = cs_image_ranges_find(&lines->ranges, offset);
    if (r == CS_IMAGE_RANGE_NONE)
        return NULL;
    struct unit *unit = &lines->units[lines->ranges.range[r].id];
    if (!dwarf_offdie(lines->dwarf, unit->die, cu))
        return NULL;
    if (!unit->folder) {
        Dwarf_Attribute folder;
        unit->folder = dwarf_formstring(dwarf_attr(cu, DW_AT_comp_dir, &folder));
    }
    return unit;
}

/* The row of the line table, as the innermost frame without a function. */
static struct cs_image_frame row_at(struct unit *unit, Dwarf_Die *cu, uint64_t offset)
{
    int line = 0, column = 0;
    unsigned discriminator = 0;
    const char *file = NULL;
    Dwarf_Line *row = dwarf_getsrc_die(cu, offset);
    if (row) {
        dwarf_lineno(row, &line);
        dwarf_linecol(row, &column);
        dwarf_linediscriminator(row, &discriminator);
        file = dwarf_linesrc(row, NULL, NULL);
    }
    return (struct cs_image_frame){"",
                                   absolute(unit, file),
                                   line > 0 ? (unsigned)line : 0,
                                   column > 0 ? (unsigned)column : 0,
                                   discriminator,
                                   0,
                                   NULL};
}

const char *lines_absent(const struct lines *lines)
{
    return lines ? lines->absent : NULL;
}

bool lines_line(struct lines *lines, uint64_t offset, struct cs_image_frame *frame)
{
    Dwarf_Die cu;
    struct unit *unit = unit_at(lines, offset, &cu);
    if (!unit)
        return false;
    Dwarf_Attribute attribute;
    Dwarf_Word at;
    struct line_row row;
    if (unit->questions++ < FEW_QUESTIONS && !unit->walked &&
        dwarf_formudata(dwarf_attr(&cu, DW_AT_stmt_list, &attribute), &at) == 0 &&
        line_program_find(&lines->sections, at, offset, &row))
        *frame = (struct cs_image_frame){
            "", join(unit, row.folder, row.file), row.line, row.column, row.discriminator, 0, NULL};
    else
        *frame = row_at(unit, &cu, offset);
    return frame->line != 0;
}

unsigned lines_frames(struct lines *lines, uint64_t offset, struct cs_image_frame *frames, unsigned room)
{
    Dwarf_Die cu;
    struct unit *unit = room ? unit_at(lines, offset, &cu) : NULL;
    if (!unit)
        return 0;
    if (!unit->walked) {
        unit->walked = true;
        Dwarf_Die split;
        walk(unit, split_unit(unit, &cu, &split, &lines->absent) ? &split : &cu);
        cs_image_ranges_nest(&unit->ranges);
    }
    unsigned n = 0;
    struct cs_image_frame frame = row_at(unit, &cu, offset);
    uint32_t last = CS_IMAGE_RANGE_NONE;
    for (uint32_t i = cs_image_ranges_find(&unit->ranges, offset); i != CS_IMAGE_RANGE_NONE && n < room;
         i = unit->ranges.range[i].parent) {
        const struct scope *s = &unit->scopes[unit->ranges.range[i].id];
        if (unit->ranges.range[i].id == last)
            continue;
        last = unit->ranges.range[i].id;
        frame.function = s->name;
        frame.first_line = s->first_line;
        frame.first_file = s->first_file;
        frames[n++] = frame;
        if (!s->inlined)
            return n;
        frame = (struct cs_image_frame){
            "", absolute(unit, s->call_file), s->call_line, s->call_column, s->call_discriminator, 0, NULL};
    }
    if (n == 0 && (*frame.file || frame.line))
        frames[n++] = frame;
    assert(n <= room);
    return n;
}
