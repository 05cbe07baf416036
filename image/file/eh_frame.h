/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The records of .eh_frame and .debug_frame: for each piece of code its description. Internal to image/. Linear in the section,
 * bounds-checked. */
#pragma once

#include "image/file/dwarf_reader.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What many descriptions have in common (a CIE). */
struct cfi_common {
    uint64_t place; /* where it lies in the section, tells two apart */
    uint64_t code_factor, return_register;
    int64_t data_factor;
    struct reader initial; /* instructions */
    uint8_t encoding;      /* of addresses */
    bool is_signal;
};

struct cfi_description {
    const struct cfi_common *common; /* during the call */
    uint64_t start, size;
    struct reader instructions;
};

struct cfi_section {
    const unsigned char *ident; /* the start of the ELF header */
    const uint8_t *bytes;
    size_t n;
    uint64_t address; /* where it lies in the image */
    bool is_debug_frame;
};

/* Calls `found` for each. A damaged record is left out; where its end isn't known, it ends the walk. Returns the first non-zero
 * value of `found`, else 0. */
int cs_image_cfi_descriptions(const struct cfi_section *section,
                              int (*found)(const struct cfi_description *description, void *arg), void *arg);
/* An address of such an encoding; `here` is where the reader stands. */
uint64_t cs_image_cfi_address(struct reader *r, uint8_t encoding, uint64_t here);

/* The same of an .eh_frame for who asks only where procedures start and end: enough to find them in a stripped image, where each
 * function still has its frame description. `continues` says that the frame is already made at its start, as in the cold part of a
 * function. */
int cs_image_cfi_each(const unsigned char *ident, const uint8_t *section, size_t n, uint64_t address,
                      int (*found)(uint64_t start, uint64_t size, bool continues, void *arg), void *arg);
