/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzz target: any bytes as a mapped file: its segments and its build-id.
 * Sources: image/file/segments.c image/file/identity.c store/base/regular_file.c store/base/error.c */
#include "image/file/segments.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct cs_image_segments layout;
    char *copy = malloc(size ? size : 1); /* of exactly that size: a look beyond is seen */
    if (!copy)
        return 0;
    memcpy(copy, bytes, size);
    cs_image_segments_of_memory(&layout, copy, size);
    free(copy);
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
