/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ties file, symbols, imports and lines together; each is read when first asked for. */
#include "image/code.h"
#include "image/elf.h"
#include "image/plt.h"
#include "image/lines.h"
#include "image/procedure_cache.h"
#include "image/procedures.h"
#include "analysis/cfg/noreturn.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

struct code_names {
    struct named_range *list;
    size_t n;
};

struct cs_code {
    struct elf_file *image, *debug, *mini; /* image NULL = names only */
    bool profiled;                         /* a store speaks of it: worth an entry of the cache */
    bool debug_sought, imports_read, procedures_read, lines_sought;
    struct imports imports;
    struct procedures procedures;
    struct lines *lines;
    struct code_names names;
    uint8_t *returns; /* by procedure; see noreturn.c */
    char trouble[512];
};

static int keep_name(uint64_t offset, uint64_t size, const char *name, void *arg)
{
    struct code_names *names = arg;
    if ((names->n & (names->n - 1)) == 0) {
        struct named_range *grown = realloc(names->list, (names->n ? 2 * names->n : 1) * sizeof *grown);
        if (!grown)
            return -ENOMEM;
        names->list = grown;
    }
    char *copy = strdup(name);
    if (!copy)
        return -ENOMEM;
    names->list[names->n++] = (struct named_range){offset, size, copy};
    return 0;
}

/* Our own vDSO is the machine's; build-ids tell whether it is the profile's. */
static struct elf_file *own_vdso(const char *build_id)
{
    struct elf_file *file;
    struct cs_error ignored = {0};
    const char *at = (const char *)getauxval(AT_SYSINFO_EHDR);
    size_t size = 8192; /* the vDSO's mapping is two pages on x86-64 */
    char *copy = at ? malloc(size) : NULL;
    if (!copy)
        return NULL;
    memcpy(copy, at, size);
    if (elf_file_from_memory(copy, size, "[vdso]", &file, &ignored) < 0)
        return NULL;
    if (strcmp(file->build_id, build_id) == 0)
        return file;
    elf_file_close(file);
    return NULL;
}

static void find_image(struct cs_code *code, const struct cs_image *image)
{
    struct cs_error err = {0};
    struct elf_file *file = NULL;
    if (image->kind == CS_IMAGE_VDSO) {
        if ((code->image = own_vdso(image->build_id)) == NULL)
            snprintf(code->trouble, sizeof code->trouble,
                     "the vDSO of this kernel isn't the one that was profiled: its procedures have no names");
        return;
    }
    if (image->kind != CS_IMAGE_ELF)
        return;
    if (elf_file_open(image->path, &file, &err) == 0) {
        if (!image->build_id[0] || strcmp(file->build_id, image->build_id) == 0) {
            code->image = file;
            return;
        }
        snprintf(err.text, sizeof err.text,
                 "%s was replaced since it was profiled (build-id was %.12s, is %.12s)", image->path,
                 image->build_id, file->build_id[0] ? file->build_id : "none");
        elf_file_close(file);
    }
    if ((code->image = elf_file_find_image(image->build_id)) == NULL)
        snprintf(
            code->trouble, sizeof code->trouble,
            "%.400s: its procedures have no names; put the old file under CYCLESCOPE_DEBUG_PATH by build-id",
            err.text);
}

int cs_code_open(const struct cs_image *image, struct cs_store *store, struct cs_code **out,
                 struct cs_error *err)
{
    struct cs_code *code = calloc(1, sizeof *code);
    if (!code)
        return cs_fail(err, ENOMEM, "no memory to open %s", image->path);
    code->profiled = true;
    find_image(code, image);
    struct cs_error names_err = {0};
    if (!code->image && store && cs_store_names(store, image->id, keep_name, &code->names, &names_err) < 0 &&
        !code->trouble[0])
        snprintf(code->trouble, sizeof code->trouble, "%s", names_err.text);
    for (size_t i = 0; i < code->names.n; i++)
        if (image->kind == CS_IMAGE_TAG && code->names.list[i].size == 0)
            code->names.list[i].size = 1;
    *out = code;
    return 0;
}

int cs_code_open_file(const char *path, struct cs_code **out, struct cs_error *err)
{
    struct cs_code *code = calloc(1, sizeof *code);
    if (!code)
        return cs_fail(err, ENOMEM, "no memory to open %s", path);
    int rc = elf_file_open(path, &code->image, err);
    if (rc < 0) {
        free(code);
        return rc;
    }
    *out = code;
    return 0;
}

void cs_code_close(struct cs_code *code)
{
    if (!code)
        return;
    free(code->returns);
    lines_close(code->lines);
    procedures_fini(&code->procedures);
    imports_fini(&code->imports);
    elf_file_close(code->mini);
    elf_file_close(code->debug);
    elf_file_close(code->image);
    for (size_t i = 0; i < code->names.n; i++)
        free(code->names.list[i].name);
    free(code->names.list);
    free(code);
}

const char *cs_code_trouble(const struct cs_code *code)
{
    return code->trouble;
}
const char *cs_code_path(const struct cs_code *code)
{
    return code->image ? code->image->path : "";
}
const char *cs_code_build_id(const struct cs_code *code)
{
    return code->image ? code->image->build_id : "";
}

static void seek_debug(struct cs_code *code)
{
    if (code->debug_sought || !code->image)
        return;
    code->debug_sought = true;
    code->debug = elf_file_find_debug(code->image);
}

static void read_imports(struct cs_code *code)
{
    if (!code->imports_read && code->image)
        imports_init(&code->imports, code->image);
    code->imports_read = true;
}

static void read_procedures(struct cs_code *code)
{
    int rc;
    if (code->procedures_read)
        return;
    code->procedures_read = true;
    if (code->image) {
        bool symbols = elf_file_section_of_type(code->image, SHT_SYMTAB) != NULL;
        if (!symbols)
            seek_debug(code);
        const struct elf_file *debug = symbols ? NULL : code->debug;
        struct procedure_cache *cache = code->profiled ? procedure_cache_open(code->image, debug) : NULL;
        if (cache && procedures_init_cached(&code->procedures, cache) == 0)
            return;
        if (!symbols && !code->debug)
            code->mini = elf_file_open_mini(code->image);
        read_imports(code);
        rc = procedures_init(&code->procedures, code->image, debug, code->mini, &code->imports);
        if (rc == 0 && code->profiled)
            procedure_cache_write(&code->procedures, code->image, debug);
    } else
        rc = procedures_init_names(&code->procedures, code->names.list, code->names.n);
    if (rc < 0 && !code->trouble[0])
        snprintf(code->trouble, sizeof code->trouble, "no memory for the symbols of %s", cs_code_path(code));
}

size_t cs_code_procedures(struct cs_code *code)
{
    read_procedures(code);
    procedures_fill(&code->procedures);
    return code->procedures.n;
}

const struct cs_procedure *cs_code_nth(struct cs_code *code, size_t i)
{
    return i < cs_code_procedures(code) ? &code->procedures.list[i] : NULL;
}

const struct cs_procedure *cs_code_procedure(struct cs_code *code, uint64_t offset)
{
    read_procedures(code);
    return procedures_at(&code->procedures, offset);
}

/* "ns::f" names "ns::f(int)" and "ns::f" alike. */
static bool same_plain(const char *mangled, const char *name)
{
    char plain[4096];
    size_t n = strlen(name);
    if (strncmp(mangled, "_Z", 2) != 0)
        return false;
    cs_code_demangle(mangled, plain, sizeof plain);
    return strncmp(plain, name, n) == 0 && (!plain[n] || plain[n] == '(');
}

const struct cs_procedure *cs_code_named(struct cs_code *code, const char *name, unsigned i,
                                         unsigned *n_found)
{
    unsigned n = 0;
    const struct cs_procedure *found = NULL;
    char *end;
    cs_code_procedures(code);
    uint64_t offset = strncmp(name, "0x", 2) == 0 ? strtoull(name, &end, 16) : 0;
    if (offset && !*end) {
        found = i == 0 ? cs_code_procedure(code, offset) : NULL;
        n = found ? 1 : 0;
    } else
        found = procedures_named(&code->procedures, name, i, &n);
    for (size_t k = 0; n == 0 && !found && k < code->procedures.n; k++) {
        unsigned before = 0;
        for (; k < code->procedures.n; k++)
            if (same_plain(code->procedures.list[k].name, name) && before++ == i)
                found = &code->procedures.list[k];
        n = before;
    }
    if (n_found)
        *n_found = n;
    return found;
}

static struct lines *lines_of(struct cs_code *code)
{
    if (!code->lines_sought && code->image) {
        code->lines = lines_open(code->image->elf);
        if (!code->lines) {
            seek_debug(code);
            code->lines = code->debug ? lines_open(code->debug->elf) : NULL;
        }
    }
    code->lines_sought = true;
    return code->lines;
}

unsigned cs_code_frames(struct cs_code *code, uint64_t offset, struct cs_frame *frames, unsigned room)
{
    struct lines *lines = lines_of(code);
    return lines ? lines_frames(lines, offset, frames, room) : 0;
}

bool cs_code_line(struct cs_code *code, uint64_t offset, struct cs_frame *frame)
{
    struct lines *lines = lines_of(code);
    return lines && lines_line(lines, offset, frame);
}

const uint8_t *cs_code_bytes(const struct cs_code *code, uint64_t offset, size_t *n, bool *executable)
{
    *n = 0;
    return code->image ? elf_file_at(code->image, offset, n, executable) : NULL;
}

enum cs_isa cs_code_isa(const struct cs_code *code)
{
    return code->image ? elf_file_isa(code->image) : CS_ISA_NONE;
}

const char *cs_code_import(struct cs_code *code, uint64_t offset)
{
    read_imports(code);
    return imports_name(&code->imports, offset);
}

bool cs_code_relocated(struct cs_code *code, uint64_t offset, uint64_t *value)
{
    read_imports(code);
    return imports_relative(&code->imports, offset, value);
}

bool cs_code_constant(struct cs_code *code, uint64_t offset, unsigned bytes, uint64_t delta, uint64_t *value)
{
    size_t n = 0;
    bool relocated = false;
    if (!code->image || elf_file_is_writable(code->image, offset, &relocated))
        return false;
    if (relocated) {
        bool pointer = bytes == sizeof *value && cs_code_relocated(code, offset, value);
        *value += pointer ? delta : 0;
        return pointer;
    }
    const uint8_t *at = elf_file_at(code->image, offset, &n, NULL);
    if (!at || n < bytes)
        return false;
    *value = 0;
    memcpy(value, at, bytes);
    return true;
}

uint8_t *cs_code_returns_memo(struct cs_code *code, const struct cs_procedure *procedure)
{
    size_t i = (size_t)(procedure - code->procedures.list);
    if (!code->returns)
        code->returns = calloc(code->procedures.n + 1, 1);
    return code->returns && i < code->procedures.n ? &code->returns[i] : NULL;
}
