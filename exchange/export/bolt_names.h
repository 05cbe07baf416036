/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What llvm-bolt calls the code of an executable. A global function has its name. A local one has "name/N",
 * whether there is another or not. N counts the local symbols of that name in ascending order of address,
 * from 1. A profile that says just "name" of a static function is not found, and the function left as it is.
 */
#pragma once

#include "image/code.h"

struct cs_export_bolt_names;

/* Reads the symbol table of the file that `code` was read from; one without any (or a file that is gone)
 * gives no local names. NULL: out of memory. */
struct cs_export_bolt_names *cs_export_bolt_names_open(const struct cs_image_code *code);
void cs_export_bolt_names_close(struct cs_export_bolt_names *names);

struct cs_export_bolt_place {
    const char *name;
    unsigned number; /* 0: a global symbol, else what follows the slash */
    uint64_t offset; /* from the symbol */
};
/* Of an address in the image; a part that a compiler split off (.cold) is a symbol of its own. False where no
 * symbol is. */
bool cs_export_bolt_names_find(const struct cs_export_bolt_names *names, struct cs_image_code *code,
                               uint64_t address, struct cs_export_bolt_place *place);
