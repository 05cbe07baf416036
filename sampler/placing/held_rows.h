/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of processes that replace code by other code. They leave the kernel's table often, so that each is of one
 * method, but runtimes write names in pieces, late. These rows wait here as long as others do in the table. Bounded in
 * bytes: beyond the bound a row is placed at once. One owner. */
#pragma once

#include "sampler/driver/driver.h"

struct cs_held_rows { /* all-zero: none */
    struct cs_held_row *first, *last;
    size_t bytes;
};

/* False: there is no room. */
bool cs_held_rows_add(struct cs_held_rows *held, const struct cs_driver_entry *entry);
/* Hands on those taken up to `until_ns`, the oldest first. */
void cs_held_rows_emit(struct cs_held_rows *held, uint64_t until_ns, cs_driver_entry_fn emit, void *arg);
/* None was taken before this; UINT64_MAX: there is none. */
uint64_t cs_held_rows_oldest(const struct cs_held_rows *held);
void cs_held_rows_fini(struct cs_held_rows *held);
