/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzz target: any bytes as an .eh_frame section.
 * Sources: image/eh_frame.c */
#include "image/eh_frame.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static int found(uint64_t start, uint64_t size, bool continues, void *arg)
{
    (void)continues, (void)arg;
    assert(size > 0 && start + size >= start);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    assert(cs_cfi_each(bytes, size, 0x1000, found, NULL) == 0);
    return 0;
}
