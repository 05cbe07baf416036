/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Each image's methods in a table by offset, their bytes behind one another. */
#include "sampler/images/jit_code.h"

#include "sampler/images/jit_methods.h"
#include "store/base/bytes.h"
#include "store/kept_code.h"

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

struct method {
    uint64_t offset;
    size_t at, n; /* in `bytes` */
};

struct image_code {
    struct image_code *next;
    char id[CS_IMAGE_ID_MAX];
    struct method methods[CS_JIT_CODE_METHODS];
    uint16_t slots[SLOTS]; /* 1 + index of a method; 0: free */
    unsigned n;
    struct cs_bytes bytes;
    bool changed;
};

struct cs_jit_code {
    char *store;
    struct image_code *images;
    unsigned n_images;
    size_t bytes; /* of all images */
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
    image->methods[image->n++] = (struct method){offset, at, n};
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

/* What an earlier recording kept. */
static void load(struct cs_jit_code *code, struct image_code *image)
{
    struct cs_error ignored = {0};
    char *bytes;
    size_t n;
    Elf64_Ehdr head;
    if (cs_kept_code_load(code->store, image->id, &bytes, &n, &ignored) < 0)
        return;
    if (n >= sizeof head) {
        memcpy(&head, bytes, sizeof head);
        for (size_t i = 0; i < head.e_phnum && sizeof head + (i + 1) * sizeof(Elf64_Phdr) <= n; i++) {
            Elf64_Phdr segment;
            memcpy(&segment, bytes + sizeof head + i * sizeof segment, sizeof segment);
            if (segment.p_offset <= n && segment.p_filesz <= n - segment.p_offset &&
                !*slot_of(image, segment.p_vaddr))
                (void)keep(code, image, segment.p_vaddr, (const uint8_t *)bytes + segment.p_offset,
                           (size_t)segment.p_filesz);
        }
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
    load(code, image);
    return image;
}

uint64_t cs_jit_code_offset(struct cs_jit_code *code, const struct cs_store_image *of, const char *name,
                            const uint8_t *bytes, size_t n, char versioned[CS_JIT_CODE_NAME_MAX])
{
    struct image_code *image = image_of(code, of->id);
    uint64_t offset = 0;
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
            break;
        }
        if (is_like(image, &image->methods[index - 1], bytes, n))
            break;
    }
    return offset;
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
                       .e_phnum = (uint16_t)image->n};
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
        cs_bytes_fini(&image->bytes);
        free(image);
    }
    free(code->store);
    free(code);
}
