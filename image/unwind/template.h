/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Code that is many copies of a short template. Runtimes make it so that each function of theirs has an address of its
 * own (CPython's perf support). It has no unwind tables, and often no frame pointer, but all return addresses in it
 * have the same distance to the frame's beginning. Pure. */
#pragma once

#include "image/unwind/rows.h"

#include <stddef.h>
#include <stdint.h>

#define CS_TEMPLATE_BYTES 4096u /* of the mapping's beginning, to look at */

/* Of code of this machine: from SP at the template's call to the CFA; 0: these bytes are no such code, or it keeps frame
 * pointers, as all of AArch64 does. */
unsigned cs_template_cfa(const uint8_t *bytes, size_t n);

/* A table with that rule for every address from 0 on, malloc'ed; NULL: no memory. */
struct cs_unwind_header *cs_template_table(unsigned cfa, size_t *n);
