/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unwind tables from Go's table of functions, which says how far SP has moved at each instruction. */
#pragma once

#include "image/procedures/go_table.h"
#include "image/unwind/build.h"

/* Fills `build` from where it ends up to `to`; `between` is the rule where no function lies. */
void unwind_go_fill(const struct go_table *go, struct unwind_build *build, uint64_t to,
                    const struct cs_unwind_rule *between);
