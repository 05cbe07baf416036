/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Each image's methods in a table by offset, their bytes behind one another. */
#include "sampler/dynamic/jit_code.h"

#include "sampler/dynamic/jit_lines.h"
#include "sampler/dynamic/jit_methods.h"
#include "store/base/bytes.h"
#include "store/base/order.h"
#include "store/kept_code.h"

#include <assert.h>
#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#define SLOTS 8192u /* power of two, above twice the methods */
#define ALIGNMENT 16u
#define SECTIONS 4u /* nothing, lines, files, names of sections */

struct method {
    uint64_t offset;
    size_t at, n; /* in `bytes` */
    struct cs_jit_lines lines;
};

struct image_code {
    struct image_code *next;
    char id[CS_IMAGE_ID_MAX];
    struct method methods[CS_JIT_CODE_METHODS];
    uint16_t slots[SLOTS]; /* 1 + index of a method; 0: free */
    unsigned n;
    struct cs_bytes bytes;
    struct cs_bytes files; /* texts, that rows of lines speak of */
    size_t n_lines;
    bool changed;
};

struct cs_jit_code {
    char *store;
    struct image_code *images;
    unsigned n_images;
    size_t bytes, n_lines; /* of all images */
};

uint32_t cs_jit_code_machine(void)
{
#if defined(__x86_64__)
    return EM_X86_64;
#elif defined(__aarch64__)
    return EM_AARCH64;
#elif defined(__riscv)
    return EM_RISCV;
#else
    return EM_NONE;
#endif
}

uint64_t cs_jit_name_offset(const char *name)
{
    return 1ULL << 63 | XXH3_64bits(name, strlen(name)) >> (1 + CS_JIT_METHOD_BITS) << CS_JIT_METHOD_BITS;
}

static uint16_t *slot_of(struct image_code *image, uint64_t offset)
{
    size_t i = (size_t)(offset >> CS_JIT_METHOD_BITS) & (SLOTS - 1);
    while (image->slots[i] && image->methods[image->slots[i] - 1].offset != offset)
        i = (i + 1) & (SLOTS - 1);
    return &image->slots[i];
}

/* False: no room. */
static bool keep(struct cs_jit_code *code, struct image_code *image, uint64_t offset, const uint8_t *bytes,
                 size_t n)
{
    if (image->n == CS_JIT_CODE_METHODS || n == 0 || n > CS_JIT_CODE_METHOD_MAX ||
        image->bytes.used + n > CS_JIT_CODE_BYTES || code->bytes + n > CS_JIT_CODE_BYTES_ALL)
        return false;
    const size_t at = image->bytes.used;
    cs_bytes_put_raw(&image->bytes, bytes, n);
    if (image->bytes.failed) {
        image->bytes.failed = false;
        image->bytes.used = at;
        return false;
    }
    image->methods[image->n++] = (struct method){.offset = offset, .at = at, .n = n};
    *slot_of(image, offset) = (uint16_t)image->n;
    code->bytes += n;
    return true;
}

static bool is_like(const struct image_code *image, const struct method *method, const uint8_t *bytes,
                    size_t n)
{
    size_t same = 0;
    if (method->n != n)
        return false;
    for (size_t i = 0; i < n; i++)
        same += image->bytes.start[method->at + i] == bytes[i];
    return same >= n - n / 4;
}

static void count_lines(struct cs_jit_code *code, struct image_code *image, size_t was, size_t is)
{
    image->n_lines += is - was;
    code->n_lines += is - was;
}

/* Rows that a method may have in place of its `now`. */
static size_t room_for_lines(const struct cs_jit_code *code, const struct image_code *image, size_t now)
{
    const size_t here = CS_JIT_CODE_LINES - image->n_lines, all = CS_JIT_CODE_LINES_ALL - code->n_lines;
    return now + (here < all ? here : all);
}

static void set_lines(struct cs_jit_code *code, struct image_code *image, struct method *method,
                      const struct cs_jitdump_lines *lines)
{
    const size_t was = method->lines.n;
    image->changed |=
        cs_jit_lines_set(&method->lines, method->offset, lines, room_for_lines(code, image, was),
                         &image->files, CS_JIT_CODE_FILES_BYTES);
    count_lines(code, image, was, method->lines.n);
}

/* The lines in what was kept, sections 1 and 2 of it, of methods from `first` on. */
static void load_lines(struct cs_jit_code *code, struct image_code *image, unsigned first, const char *bytes,
                       size_t n, const Elf64_Ehdr *head)
{
    Elf64_Shdr section[3];
    if (head->e_shnum != SECTIONS || head->e_shoff > n || n - head->e_shoff < sizeof section)
        return;
    memcpy(section, bytes + head->e_shoff, sizeof section);
    for (unsigned i = 1; i < 3; i++)
        if (section[i].sh_offset > n || section[i].sh_size > n - section[i].sh_offset)
            return;
    const size_t n_rows = section[1].sh_size / sizeof(struct cs_kept_line), n_texts = section[2].sh_size;
    const char *texts = bytes + section[2].sh_offset;
    struct cs_kept_line *rows = n_rows && n_rows <= CS_JIT_CODE_LINES ? malloc(n_rows * sizeof *rows) : NULL;
    const uint32_t base = (uint32_t)image->files.used; /* behind the texts of another store */
    if (rows && n_texts && base + n_texts <= CS_JIT_CODE_FILES_BYTES && !texts[0] && !texts[n_texts - 1]) {
        memcpy(rows, bytes + section[1].sh_offset, n_rows * sizeof *rows);
        cs_bytes_put_raw(&image->files, texts, n_texts);
        for (size_t i = 0, of; i < n_rows; i += of) {
            const uint64_t offset = rows[i].offset >> CS_JIT_METHOD_BITS << CS_JIT_METHOD_BITS;
            for (of = 0; i + of < n_rows && rows[i + of].offset - offset < CS_JIT_METHOD_MAX; of++)
                rows[i + of].file =
                    rows[i + of].file && rows[i + of].file < n_texts ? base + rows[i + of].file : 0;
            const uint16_t index = *slot_of(image, offset);
            struct cs_jit_lines *lines = index > first ? &image->methods[index - 1].lines : NULL;
            const size_t was = lines ? lines->n : 0;
            if (lines && of <= CS_JITDUMP_LINES_MAX && of <= room_for_lines(code, image, was))
                (void)cs_jit_lines_take(lines, rows + i, of);
            if (lines)
                count_lines(code, image, was, lines->n);
        }
    }
    free(rows);
}

/* What a store keeps, but for methods that are there already. */
static void load(struct cs_jit_code *code, struct image_code *image, const char *store)
{
    const unsigned first = image->n;
    struct cs_error ignored = {0};
    char *bytes;
    size_t n;
    Elf64_Ehdr head;
    if (cs_kept_code_load(store, image->id, &bytes, &n, &ignored) < 0)
        return;
    if (n >= sizeof head) {
        memcpy(&head, bytes, sizeof head);
        const unsigned n_methods = head.e_machine == cs_jit_code_machine() ? head.e_phnum : 0;
        for (size_t i = 0; i < n_methods && sizeof head + (i + 1) * sizeof(Elf64_Phdr) <= n; i++) {
            Elf64_Phdr segment;
            memcpy(&segment, bytes + sizeof head + i * sizeof segment, sizeof segment);
            if (segment.p_offset <= n && segment.p_filesz <= n - segment.p_offset &&
                !*slot_of(image, segment.p_vaddr))
                (void)keep(code, image, segment.p_vaddr, (const uint8_t *)bytes + segment.p_offset,
                           (size_t)segment.p_filesz);
        }
        load_lines(code, image, first, bytes, n, &head);
    }
    free(bytes);
}

static struct image_code *image_of(struct cs_jit_code *code, const char *id)
{
    struct image_code *image = code->images;
    while (image && strcmp(image->id, id) != 0)
        image = image->next;
    if (image || code->n_images == CS_JIT_CODE_IMAGES || !(image = calloc(1, sizeof *image)))
        return image;
    code->n_images++;
    snprintf(image->id, sizeof image->id, "%s", id);
    image->next = code->images;
    code->images = image;
    load(code, image, code->store);
    return image;
}

uint64_t cs_jit_code_offset(struct cs_jit_code *code, const struct cs_store_image *of, const char *name,
                            const uint8_t *bytes, size_t n, const struct cs_jitdump_lines *lines,
                            char versioned[CS_JIT_CODE_NAME_MAX])
{
    struct image_code *image = image_of(code, of->id);
    uint64_t offset = 0;
    uint16_t kept = 0;
    for (unsigned version = 1; version <= CS_JIT_CODE_VERSIONS; version++) {
        if (version == 1)
            snprintf(versioned, CS_JIT_CODE_NAME_MAX, "%s", name);
        else
            snprintf(versioned, CS_JIT_CODE_NAME_MAX, "%.512s (%u)", name, version);
        offset = cs_jit_name_offset(versioned);
        const uint16_t index = image ? *slot_of(image, offset) : 0;
        if (!index) {
            if (image && version < CS_JIT_CODE_VERSIONS)
                image->changed |= keep(code, image, offset, bytes, n);
            kept = image ? *slot_of(image, offset) : 0;
            break;
        }
        if (is_like(image, &image->methods[index - 1], bytes, n)) {
            kept = index;
            break;
        }
    }
    if (kept && lines)
        set_lines(code, image, &image->methods[kept - 1], lines);
    return offset;
}

CS_ORDER(by_offset, struct cs_kept_line, cs_order(a->offset, b->offset))

/* Sections of lines, and their heads behind them. */
static void put_lines(struct cs_bytes *out, const struct image_code *image)
{
    static const char names[] = "\0" CS_KEPT_LINES "\0" CS_KEPT_FILES "\0.shstrtab";
    Elf64_Shdr sections[SECTIONS] = {
        {.sh_type = SHT_NULL},
        {.sh_name = 1, .sh_type = SHT_PROGBITS, .sh_size = image->n_lines * sizeof(struct cs_kept_line)},
        {.sh_name = 1 + sizeof CS_KEPT_LINES, .sh_type = SHT_PROGBITS, .sh_size = image->files.used},
        {.sh_name = 1 + sizeof CS_KEPT_LINES + sizeof CS_KEPT_FILES,
         .sh_type = SHT_STRTAB,
         .sh_size = sizeof names}};
    while (out->used % ALIGNMENT)
        cs_bytes_put_u8(out, 0);
    sections[1].sh_offset = out->used;
    for (unsigned i = 0; i < image->n; i++)
        cs_bytes_put_raw(out, image->methods[i].lines.rows,
                         image->methods[i].lines.n * sizeof(struct cs_kept_line));
    if (!out->failed)
        qsort(out->start + sections[1].sh_offset, image->n_lines, sizeof(struct cs_kept_line), by_offset);
    sections[2].sh_offset = out->used;
    cs_bytes_put_raw(out, image->files.start, image->files.used);
    sections[3].sh_offset = out->used;
    cs_bytes_put_raw(out, names, sizeof names);
    for (unsigned i = 1; i < SECTIONS; i++)
        sections[i].sh_addralign = 1;
    while (out->used % ALIGNMENT)
        cs_bytes_put_u8(out, 0);
    if (out->failed)
        return;
    const uint64_t at = out->used;
    memcpy(out->start + offsetof(Elf64_Ehdr, e_shoff), &at, sizeof at);
    cs_bytes_put_raw(out, sections, sizeof sections);
}

static int save(const struct cs_jit_code *code, const struct image_code *image, uint64_t store_max,
                struct cs_error *err)
{
    struct cs_bytes out = {0};
    const size_t heads = sizeof(Elf64_Ehdr) + image->n * sizeof(Elf64_Phdr);
    Elf64_Ehdr head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                       .e_type = ET_DYN,
                       .e_machine = (uint16_t)cs_jit_code_machine(),
                       .e_version = EV_CURRENT,
                       .e_phoff = sizeof head,
                       .e_ehsize = sizeof head,
                       .e_phentsize = sizeof(Elf64_Phdr),
                       .e_phnum = (uint16_t)image->n,
                       .e_shentsize = sizeof(Elf64_Shdr),
                       .e_shnum = image->n_lines ? SECTIONS : 0,
                       .e_shstrndx = image->n_lines ? SECTIONS - 1 : SHN_UNDEF};
    cs_bytes_put_raw(&out, &head, sizeof head);
    for (unsigned i = 0; i < image->n; i++) {
        const struct method *m = &image->methods[i];
        const Elf64_Phdr segment = {.p_type = PT_LOAD,
                                    .p_flags = PF_R | PF_X,
                                    .p_offset = heads + m->at,
                                    .p_vaddr = m->offset,
                                    .p_paddr = m->offset,
                                    .p_filesz = m->n,
                                    .p_memsz = m->n,
                                    .p_align = ALIGNMENT};
        cs_bytes_put_raw(&out, &segment, sizeof segment);
    }
    cs_bytes_put_raw(&out, image->bytes.start, image->bytes.used);
    if (image->n_lines)
        put_lines(&out, image);
    int rc = out.failed ? cs_fail(err, ENOMEM, "no memory for the code of %s", image->id)
                        : cs_kept_code_put(code->store, image->id, out.start, out.used, store_max, err);
    cs_bytes_fini(&out);
    return rc;
}

int cs_jit_code_save(struct cs_jit_code *code, uint64_t store_max, struct cs_error *err)
{
    int rc = 0;
    for (struct image_code *image = code->images; image && rc >= 0; image = image->next) {
        if (!image->changed)
            continue;
        rc = save(code, image, store_max, err);
        image->changed = false; /* or it is said at each merge */
    }
    return rc;
}

struct cs_jit_code *cs_jit_code_open(const char *store)
{
    assert(store);
    struct cs_jit_code *code = calloc(1, sizeof *code);
    if (code && !(code->store = strdup(store))) {
        free(code);
        return NULL;
    }
    return code;
}

void cs_jit_code_close(struct cs_jit_code *code)
{
    if (!code)
        return;
    for (struct image_code *image = code->images, *next; image; image = next) {
        next = image->next;
        for (unsigned i = 0; i < image->n; i++)
            cs_jit_lines_fini(&image->methods[i].lines);
        cs_bytes_fini(&image->files);
        cs_bytes_fini(&image->bytes);
        free(image);
    }
    free(code->store);
    free(code);
}

int cs_jit_code_combine(const char *to_store, const char *from_store, const char *image_id,
                        uint64_t store_max, struct cs_error *err)
{
    struct cs_jit_code *code = cs_jit_code_open(to_store);
    struct image_code *image = code ? image_of(code, image_id) : NULL;
    int rc = 0;
    if (!image) {
        rc = cs_fail(err, ENOMEM, "no memory for the code of %.60s", image_id);
    } else {
        const unsigned had = image->n;
        if (had) /* else it is another machine's code */
            load(code, image, from_store);
        image->changed = image->n > had;
        rc = cs_jit_code_save(code, store_max, err);
    }
    cs_jit_code_close(code);
    return rc < 0 ? rc : 0;
}
