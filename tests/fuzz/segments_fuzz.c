/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzz target: any bytes as a mapped file, its segments and its build-id. They are the same from a file as from memory,
 * and the same as libelf finds in what every other reader opens (elf.c).
 * Sources: image/file/segments.c image/file/elf.c image/file/parts.c image/file/made_sections.c image/file/identity.c store/base/regular_file.c store/base/foreign.c store/base/foreign_worker.c store/base/kernel_files.c store/base/error.c */
#include "image/file/elf.h"
#include "image/file/segments.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static int fd = -1;
    struct cs_image_segments layout, of_file;
    struct elf_file *file;
    struct cs_error ignored;
    if (fd < 0)
        fd = memfd_create("fuzz", 0);
    if (size) {
        ssize_t written = ftruncate(fd, 0) == 0 ? pwrite(fd, bytes, size, 0) : -1;
        assert(written == (ssize_t)size && cs_image_segments_of_file(&of_file, fd) == 0);
    }
    char *copy = malloc(size ? size : 1); /* of exactly that size: a look beyond is seen */
    if (!copy)
        return 0;
    memcpy(copy, bytes, size);
    cs_image_segments_of_memory(&layout, copy, size);
    assert(!size || memcmp(&layout, &of_file, sizeof layout) == 0);
    if (elf_file_from_memory(copy, size, "fuzz", &file, &ignored) == 0) { /* frees it */
        unsigned n = 0;
        for (size_t i = 0; layout.is_elf && i < file->n_segments; i++)
            n += file->segments[i].p_type == PT_LOAD;
        /* elf.c drops counts of the header, and with them what of the table lies in there */
        const bool overlap = file->header.e_phoff < sizeof(Elf64_Ehdr);
        assert(!layout.is_elf || overlap || file->n_segments > 256 ||
               file->n_segments != file->header.e_phnum ||
               layout.n_segments == (n < CS_IMAGE_SEGMENTS_MAX ? n : CS_IMAGE_SEGMENTS_MAX));
        elf_file_close(file);
    }
    assert(layout.n_segments <= CS_IMAGE_SEGMENTS_MAX && (layout.is_elf || layout.n_segments == 0));
    size_t n = strnlen(layout.build_id, sizeof layout.build_id);
    assert(n <= 40 && n % 2 == 0);
    for (size_t i = 0; i < n; i++)
        assert(isxdigit((unsigned char)layout.build_id[i]));
    for (unsigned i = 0; i < layout.n_segments; i++) {
        (void)cs_image_vaddr(&layout, layout.segments[i].file_offset);
        (void)cs_image_vaddr(&layout, layout.segments[i].file_offset + layout.segments[i].file_size - 1);
    }
    return 0;
}
