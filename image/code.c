/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ties file, symbols, imports and lines together; each is read when first asked for. */
#include "image/code.h"
#include "image/debug/lines.h"
#include "image/debug/made_lines.h"
#include "image/file/elf.h"
#include "image/procedures/plt.h"
#include "image/procedures/procedure_cache.h"
#include "image/procedures/procedures.h"
#include "store/base/array.h"
#include "store/kept_code.h"

#include <assert.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

struct code_names {
    struct named_range *list;
    size_t n, capacity;
};

/* What another room keeps beside the code: see cs_image_attach. */
struct attachment {
    const void *key;
    void *pointer;
    void (*destroy)(void *pointer);
    struct attachment *next;
};

struct cs_image_code {
    unsigned shares;                       /* that are open beside the first */
    struct elf_file *image, *debug, *mini; /* image NULL = names only */
    struct elf_file *made;                 /* JIT code that was kept: bytes of some of the names */
    bool gone;                             /* an ELF file that isn't there any more */
    bool profiled;                         /* a store speaks of it: worth an entry of the cache */
    bool debug_sought, imports_read, procedures_read, lines_sought;
    struct imports imports;
    struct procedures procedures;
    struct lines *lines;
    struct code_names names;
    struct attachment *attached;
    char trouble[512];
};

static int keep_name(uint64_t offset, uint64_t size, const char *name, void *arg)
{
    struct code_names *names = arg;
    char *copy = strdup(name);
    if (!copy || cs_array_room(names->list, names->n, names->capacity) < 0) {
        free(copy);
        return -ENOMEM;
    }
    names->list[names->n++] = (struct named_range){offset, size, copy};
    return 0;
}

/* Bytes from the ELF header to the end of what it speaks of: the kernel maps the whole file. */
static size_t extent_of(const char *at)
{
    const ElfW(Ehdr) *header = (const void *)at;
    const ElfW(Phdr) *segment = (const void *)(at + header->e_phoff);
    size_t end = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
    for (unsigned i = 0; i < header->e_phnum; i++)
        if (segment[i].p_type == PT_LOAD && segment[i].p_offset + segment[i].p_filesz > end)
            end = segment[i].p_offset + segment[i].p_filesz;
    return end;
}

/* Our own vDSO is the machine's; build-ids tell whether it is the profile's. */
static struct elf_file *own_vdso(const char *build_id)
{
    struct elf_file *file;
    struct cs_error ignored = {0};
    const char *at = (const char *)getauxval(AT_SYSINFO_EHDR);
    size_t size = at ? extent_of(at) : 0;
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

/* The copy that was kept with the recording. An id without a build-id is trusted: the store is ours. */
static struct elf_file *kept_copy(struct cs_store *store, const struct cs_store_image *image)
{
    struct cs_error ignored = {0};
    struct elf_file *file;
    char *bytes;
    size_t n;
    if (!store || cs_kept_code_load(cs_store_path(store), image->id, &bytes, &n, &ignored) < 0 ||
        elf_file_from_memory(bytes, n, image->path, &file, &ignored) < 0)
        return NULL;
    if (strcmp(file->build_id, image->build_id) == 0)
        return file;
    elf_file_close(file);
    return NULL;
}

static void find_image(struct cs_image_code *code, const struct cs_store_image *image, struct cs_store *store)
{
    struct cs_error err = {0};
    struct elf_file *file = NULL;
    if (image->kind == CS_IMAGE_VDSO) {
        if ((code->image = own_vdso(image->build_id)) == NULL)
            snprintf(code->trouble, sizeof code->trouble,
                     "the vDSO of this kernel isn't the one that was profiled: its functions have no names");
        return;
    }
    if (image->kind != CS_IMAGE_ELF)
        return;
    if (elf_file_open(image->path, &file, &err) == 0) {
        if (cs_image_is_file(image, file->build_id, image->path)) {
            code->image = file;
            return;
        }
        if (!image->build_id[0])
            snprintf(err.text, sizeof err.text,
                     "%s holds something else than what was profiled, and has no build-id", image->path);
        else
            snprintf(err.text, sizeof err.text,
                     "%s was replaced since it was profiled (build-id was %.12s, is %.12s)", image->path,
                     image->build_id, file->build_id[0] ? file->build_id : "none");
        elf_file_close(file);
    }
    if ((code->image = kept_copy(store, image)) == NULL &&
        (code->image = elf_file_of_id(image->build_id, "")) == NULL) {
        code->gone = true;
        snprintf(code->trouble, sizeof code->trouble,
                 "%.380s: its functions have no names; put the old file %s", err.text,
                 image->build_id[0] ? "under CYCLESCOPE_DEBUG_PATH by build-id, or set DEBUGINFOD_URLS"
                                    : "back");
    }
}

int cs_image_open(const struct cs_store_image *image, struct cs_store *store, struct cs_image_code **out,
                  struct cs_error *err)
{
    struct cs_image_code *code = calloc(1, sizeof *code);
    if (!code)
        return cs_fail(err, ENOMEM, "no memory to open %s", image->path);
    code->profiled = true;
    find_image(code, image, store);
    struct cs_error names_err = {0};
    if (!code->image && store && cs_store_names(store, image->id, keep_name, &code->names, &names_err) < 0 &&
        !code->trouble[0])
        snprintf(code->trouble, sizeof code->trouble, "%s", names_err.text);
    for (size_t i = 0; i < code->names.n; i++)
        if (image->kind == CS_IMAGE_TAG && code->names.list[i].size == 0)
            code->names.list[i].size = 1;
    if (image->kind == CS_IMAGE_JIT && (code->made = kept_copy(store, image)) != NULL)
        for (size_t i = 0; i < code->names.n; i++) {
            size_t n;
            if (elf_file_at(code->made, code->names.list[i].start, &n, NULL))
                code->names.list[i].size = n;
        }
    *out = code;
    return 0;
}

uint64_t cs_image_bytes_to_copy(const char *path)
{
    return elf_file_bytes_to_copy(path);
}

int cs_image_open_file(const char *path, struct cs_image_code **out, struct cs_error *err)
{
    struct cs_image_code *code = calloc(1, sizeof *code);
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

uint64_t cs_image_bytes_held(const struct cs_image_code *code)
{
    const struct elf_file *files[] = {code->image, code->debug, code->mini, code->made};
    uint64_t bytes = code->lines ? lines_bytes(code->lines) : 0;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        bytes += files[i] && !files[i]->lent ? files[i]->size : 0;
    return bytes;
}

struct cs_image_code *cs_image_share(struct cs_image_code *code)
{
    code->shares++;
    return code;
}

void cs_image_close(struct cs_image_code *code)
{
    if (!code || code->shares-- > 0)
        return;
    for (struct attachment *next, *a = code->attached; a; a = next) {
        next = a->next;
        a->destroy(a->pointer);
        free(a);
    }
    lines_close(code->lines);
    procedures_fini(&code->procedures);
    imports_fini(&code->imports);
    elf_file_close(code->mini);
    elf_file_close(code->debug);
    elf_file_close(code->image);
    elf_file_close(code->made);
    for (size_t i = 0; i < code->names.n; i++)
        free(code->names.list[i].name);
    free(code->names.list);
    free(code);
}

const char *cs_image_trouble(const struct cs_image_code *code)
{
    return code->trouble;
}
const char *cs_image_path(const struct cs_image_code *code)
{
    return code->image ? code->image->path : "";
}

const uint8_t *cs_image_section(const struct cs_image_code *code, const char *name, size_t *n)
{
    const struct elf_section *section = code->image ? elf_file_section(code->image, name) : NULL;
    return section ? elf_file_contents(code->image, section, n) : NULL;
}

static void seek_debug(struct cs_image_code *code)
{
    if (code->debug_sought || !code->image)
        return;
    code->debug_sought = true;
    code->debug = elf_file_find_debug(code->image);
}

enum cs_image_lack cs_image_lacks(struct cs_image_code *code)
{
    if (!code->image)
        return code->gone ? CS_IMAGE_LACKS_FILE : CS_IMAGE_LACKS_NOTHING;
    if (elf_file_section_of_type(code->image, SHT_SYMTAB))
        return CS_IMAGE_LACKS_NOTHING;
    seek_debug(code);
    return code->debug ? CS_IMAGE_LACKS_NOTHING : CS_IMAGE_LACKS_NAMES;
}

static void read_imports(struct cs_image_code *code)
{
    if (!code->imports_read && code->image)
        imports_init(&code->imports, code->image);
    code->imports_read = true;
}

static void read_procedures(struct cs_image_code *code)
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
        snprintf(code->trouble, sizeof code->trouble, "no memory for the symbols of %s", cs_image_path(code));
}

size_t cs_image_procedures(struct cs_image_code *code)
{
    read_procedures(code);
    procedures_fill(&code->procedures);
    return code->procedures.n;
}

const struct cs_image_procedure *cs_image_procedure_nth(struct cs_image_code *code, size_t i)
{
    return i < cs_image_procedures(code) ? &code->procedures.list[i] : NULL;
}

const struct cs_image_procedure *cs_image_procedure_at(struct cs_image_code *code, uint64_t offset)
{
    read_procedures(code);
    return procedures_at(&code->procedures, offset);
}

/* "ns::f" names "ns::f(int)" and "ns::f" alike. */
static bool same_plain(const char *mangled, const char *name)
{
    char plain[4096];
    size_t n = strlen(name);
    if (cs_image_script_name_is(mangled, name))
        return true;
    if (mangled[0] != '_')
        return false;
    cs_image_demangle(mangled, plain, sizeof plain);
    return strncmp(plain, name, n) == 0 && (!plain[n] || plain[n] == '(');
}

const struct cs_image_procedure *cs_image_procedure_named(struct cs_image_code *code, const char *name,
                                                          unsigned i, unsigned *n_found)
{
    unsigned n = 0;
    const struct cs_image_procedure *found = NULL;
    char *end;
    cs_image_procedures(code);
    uint64_t offset = strncmp(name, "0x", 2) == 0 ? strtoull(name, &end, 16) : 0;
    if (offset && !*end) {
        found = i == 0 ? cs_image_procedure_at(code, offset) : NULL;
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

static struct lines *lines_of(struct cs_image_code *code)
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

/* Of JIT code: the format has no names of what was inlined, and no line of the call. */
static unsigned made_frames(struct cs_image_code *code, uint64_t offset, struct cs_image_frame *frames,
                            unsigned room)
{
    struct cs_image_frame at;
    const char *own = made_line_at(code->made, offset, &at);
    if (!own || room == 0)
        return 0;
    const struct cs_image_procedure *method = cs_image_procedure_at(code, offset);
    const char *name = method ? method->name : "";
    frames[0] = at;
    if (strcmp(own, at.file) == 0) {
        frames[0].function = name;
        return 1;
    }
    if (room > 1)
        frames[1] = (struct cs_image_frame){.function = name, .file = own};
    return room > 1 ? 2 : 1;
}

bool cs_image_has_lines(struct cs_image_code *code)
{
    return code->made || lines_of(code);
}

bool cs_image_lacks_inlines(const struct cs_image_code *code, char *sentence, size_t capacity)
{
    const char *absent = lines_absent(code->lines), *path = cs_image_path(code);
    char package[4200];
    if (!absent)
        return false;
    snprintf(package, sizeof package, "%s.dwp", path);
    if (access(package, F_OK) == 0)
        snprintf(sentence, capacity,
                 "Inlined functions of %.200s are missing: packages of split debug information (.dwp) aren't "
                 "read. Keep its .dwo files, or build without -gsplit-dwarf.",
                 path);
    else
        snprintf(sentence, capacity,
                 "Inlined functions of %.200s are missing: its split debug information %.100s isn't where it "
                 "was built.",
                 path, absent);
    return true;
}

unsigned cs_image_frames_at(struct cs_image_code *code, uint64_t offset, struct cs_image_frame *frames,
                            unsigned room)
{
    assert(frames || room == 0);
    if (code->made)
        return made_frames(code, offset, frames, room);
    struct lines *lines = lines_of(code);
    return lines ? lines_frames(lines, offset, frames, room) : 0;
}

bool cs_image_line_at(struct cs_image_code *code, uint64_t offset, struct cs_image_frame *frame)
{
    if (code->made)
        return made_line_at(code->made, offset, frame) != NULL;
    struct lines *lines = lines_of(code);
    return lines && lines_line(lines, offset, frame);
}

const uint8_t *cs_image_bytes_at(const struct cs_image_code *code, uint64_t offset, size_t *n,
                                 bool *executable)
{
    const struct elf_file *file = code->image ? code->image : code->made;
    *n = 0;
    return file ? elf_file_at(file, offset, n, executable) : NULL;
}

enum cs_isa cs_image_isa(const struct cs_image_code *code)
{
    const struct elf_file *file = code->image ? code->image : code->made;
    return file ? elf_file_isa(file) : CS_ISA_NONE;
}

const char *cs_image_import_at(struct cs_image_code *code, uint64_t offset)
{
    read_imports(code);
    return imports_name(&code->imports, offset);
}

bool cs_image_relocated_at(struct cs_image_code *code, uint64_t offset, uint64_t *value)
{
    read_imports(code);
    return imports_relative(&code->imports, offset, value);
}

bool cs_image_constant_at(struct cs_image_code *code, uint64_t offset, unsigned bytes, uint64_t delta,
                          uint64_t *value)
{
    assert(bytes > 0 && bytes <= 8);
    size_t n = 0;
    bool relocated = false;
    if (!code->image || elf_file_is_writable(code->image, offset, &relocated))
        return false;
    if (relocated) {
        bool pointer = bytes == sizeof *value && cs_image_relocated_at(code, offset, value);
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

size_t cs_image_procedure_index(const struct cs_image_code *code, const struct cs_image_procedure *procedure)
{
    assert(procedure >= code->procedures.list && procedure < code->procedures.list + code->procedures.n);
    return (size_t)(procedure - code->procedures.list);
}

int cs_image_attach(struct cs_image_code *code, const void *key, void *pointer,
                    void (*destroy)(void *pointer))
{
    struct attachment *a = malloc(sizeof *a);
    if (!a) {
        destroy(pointer);
        return -ENOMEM;
    }
    *a = (struct attachment){key, pointer, destroy, code->attached};
    code->attached = a;
    return 0;
}

void *cs_image_attached(const struct cs_image_code *code, const void *key)
{
    for (const struct attachment *a = code->attached; a; a = a->next)
        if (a->key == key)
            return a->pointer;
    return NULL;
}
