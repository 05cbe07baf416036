/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzz target: any bytes as an .eh_frame section.
 * Sources: image/file/eh_frame.c */
#include "image/file/eh_frame.h"

#include <assert.h>
#include <elf.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static int found(uint64_t start, uint64_t size, bool continues, void *arg)
{
    (void)continues, (void)arg;
    assert(size > 0 && start + size >= start);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const unsigned char ident[EI_NIDENT] = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT};
    assert(cs_image_cfi_each(ident, bytes, size, 0x1000, found, NULL) == 0);
    return 0;
}
