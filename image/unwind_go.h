/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Go's own table of frames (.gopclntab, Go 1.18 and later), which is there in stripped programs too: for each function how far SP
 * has moved at each instruction. Internal to image/. */
#ifndef CS_IMAGE_UNWIND_GO_H
#define CS_IMAGE_UNWIND_GO_H

#include "image/elf.h"
#include "image/unwind_build.h"

struct unwind_go {
    const uint8_t *table;
    size_t n;
    uint64_t text;                          /* what entries are relative to */
    uint64_t functions, steps, n_functions; /* places in the table */
    unsigned flag_at, quantum;
    uint32_t machine;
};

/* False where the file has no such table or one of another version. */
bool unwind_go_init(struct unwind_go *go, const struct elf_file *file);
/* Function i of n_functions and its name, which is text of the table. False where the table makes no sense there. */
bool unwind_go_function(const struct unwind_go *go, uint64_t i, uint64_t *start, uint64_t *end,
                        const char **name);
/* Fills `build` from where it ends up to `to`; `between` is the rule where no function lies. */
void unwind_go_fill(const struct unwind_go *go, struct unwind_build *build, uint64_t to,
                    const struct cs_unwind_rule *between);

#endif
