/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/interpreter/interpreter.h"
#include "image/file/elf.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CPU_MS 200
#define STATE_BYTES 1024 /* of the file at its root: what tells offsets has 616 */
#define SYMBOLS_MAX 2000000

static const struct cs_interpreter_kind *const kinds[] = {&cs_interpreter_python, &cs_interpreter_lua};
#define N_KINDS (sizeof kinds / sizeof *kinds)

struct symbol {
    const char *name;
    GElf_Sym found;
    bool some;
};

/* Those of `wanted` that a table of symbols defines. */
static void find_symbols(const struct elf_file *file, uint32_t type, struct symbol *wanted, size_t n_wanted)
{
    const struct elf_section *section = elf_file_section_of_type(file, type);
    Elf_Data *data = section ? elf_getdata(section->section, NULL) : NULL;
    size_t n = data && section->header.sh_entsize ? data->d_size / section->header.sh_entsize : 0;
    for (size_t i = 0; i < n && i < SYMBOLS_MAX; i++) {
        GElf_Sym symbol;
        if (!gelf_getsym(data, (int)i, &symbol) || symbol.st_shndx == SHN_UNDEF)
            continue;
        const char *name = elf_strptr(file->elf, section->header.sh_link, symbol.st_name);
        for (size_t k = 0; name && k < n_wanted; k++)
            if (!wanted[k].some && strcmp(name, wanted[k].name) == 0) {
                wanted[k].found = symbol;
                wanted[k].some = true;
            }
    }
}

/* major << 24 | minor << 16 | patch << 8; 0 unknown. */
static uint64_t version_of(const struct cs_interpreter_kind *kind, const struct elf_file *file,
                           const struct symbol *constant)
{
    size_t n = 0;
    uint64_t version = 0;
    if (kind->version_text) {
        const char *found = memmem(file->map, file->size, kind->version_text, strlen(kind->version_text));
        const char *end = file->map + file->size;
        uint64_t part[3] = {0};
        found = found ? found + strlen(kind->version_text) : end;
        for (int i = 0; i < 3; i++, found += found < end)
            for (; found < end && *found >= '0' && *found <= '9' && part[i] < 100; found++)
                part[i] = 10 * part[i] + (uint64_t)(*found - '0');
        return part[0] << 24 | part[1] << 16 | part[2] << 8;
    }
    const uint8_t *bytes = constant->some ? elf_file_at(file, constant->found.st_value, &n, NULL) : NULL;
    if (bytes && n >= sizeof version)
        memcpy(&version, bytes, sizeof version);
    return version;
}

/* What the child tells of a file: none of it is believed but as numbers of that file. */
struct told {
    uint64_t version, root, loop, loop_bytes;
    uint32_t kind, n_state;
    uint8_t state[STATE_BYTES];
};

static bool find_kind(const struct cs_interpreter_kind *kind, const struct elf_file *file, struct told *told)
{
    struct symbol symbols[] = {
        {.name = kind->root}, {.name = kind->loop}, {.name = kind->version ? kind->version : ""}};
    find_symbols(file, SHT_DYNSYM, symbols, 3);
    if (!symbols[0].some || !symbols[1].some)
        find_symbols(file, SHT_SYMTAB, symbols, 3);
    if (symbols[0].some && !symbols[1].some && kind->find_loop)
        symbols[1].some = kind->find_loop(file, symbols[0].found.st_value, &symbols[1].found.st_value,
                                          &symbols[1].found.st_size);
    if (!symbols[0].some || !symbols[1].some)
        return false;
    size_t n = 0;
    const uint8_t *state = elf_file_at(file, symbols[0].found.st_value, &n, NULL);
    told->version = version_of(kind, file, &symbols[2]);
    told->root = symbols[0].found.st_value;
    told->loop = symbols[1].found.st_value;
    told->loop_bytes = symbols[1].found.st_size;
    told->n_state = state ? (uint32_t)(n < STATE_BYTES ? n : STATE_BYTES) : 0;
    if (state)
        memcpy(told->state, state, told->n_state);
    return true;
}

enum { FOUND, NONE, FAILED = CS_APART_WELL_MAX + 1 };

static int find(const struct elf_file *file, int memory)
{
    struct told told = {.kind = 0};
    while (told.kind < N_KINDS && !find_kind(kinds[told.kind], file, &told))
        told.kind++;
    if (told.kind == N_KINDS)
        return NONE;
    return cs_apart_write(memory, &told, sizeof told) ? FOUND : FAILED;
}

int cs_interpreter_ask(struct cs_apart *child, int fd)
{
    assert(fd >= 0);
    return cs_apart_start(child, fd, &(struct cs_apart_bounds){sizeof(struct told), CPU_MS}, find);
}

static int take_told(struct cs_apart *child, struct told *told)
{
    int code = 0, rc = cs_apart_done(child, &code);
    if (rc > 0 && code == NONE)
        rc = -ENOENT;
    else if (rc > 0 && (code != FOUND || pread(child->memory, told, sizeof *told, 0) != sizeof *told))
        rc = -ENOEXEC;
    if (rc != 0)
        cs_apart_end(child);
    return rc;
}

int cs_interpreter_answer(struct cs_apart *child, const char *path, struct cs_interpreter_place *place,
                          struct cs_error *err)
{
    struct told told;
    int rc = take_told(child, &told);
    if (rc == 0 || rc == -ENOENT)
        return rc;
    if (rc < 0)
        return cs_fail(err, -rc, "%s could not be read: %s", path, strerror(-rc));
    if (told.kind >= N_KINDS || told.n_state > STATE_BYTES)
        return cs_fail(err, ENOEXEC, "%s could not be read", path);
    const struct cs_interpreter_kind *kind = kinds[told.kind];
    *place = (struct cs_interpreter_place){
        .kind = kind, .root = told.root, .loop = told.loop, .loop_bytes = told.loop_bytes};
    if (!kind->open(told.version, told.n_state ? told.state : NULL, told.n_state, place->version,
                    &place->offsets))
        return cs_fail(err, ENOTSUP, "%s: frames of %s aren't known here", path, place->version);
    return 1;
}

bool cs_interpreter_may_be(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    for (size_t i = 0; i < N_KINDS; i++)
        for (const char *const *begins = kinds[i]->names; *begins; begins++)
            if (strncmp(name, *begins, strlen(*begins)) == 0)
                return true;
    return false;
}
