/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples that came with a copy of their stack instead of a chain. They are unwound here by the kernel's rows, as soon
 * as those are known. Most are of a program's first moments, of which the kernel knows nothing yet. Waits for tables
 * that are being made; bounded in bytes and time. One owner. */
#pragma once

#include "sampler/driver/driver.h"
#include "sampler/placing/image_tables.h"
#include "sampler/placing/resolve.h"

struct cs_stack_copies;

/* `bytes_max`: of all copies that wait. NULL when memory is short. */
struct cs_stack_copies *cs_stack_copies_open(struct cs_session_places *places, struct cs_image_tables *tables,
                                             size_t bytes_max);
void cs_stack_copies_close(struct cs_stack_copies *copies);

/* Keeps an entry with a copy. -ENOMEM, -ENOSPC: it isn't kept. */
int cs_stack_copies_add(struct cs_stack_copies *copies, const struct cs_driver_entry *entry);
/* Hands on, with their chains, those taken up to `line_ns`, for a tenth of a second; with `all` every one, chain or not. How their
 * chains ended is added to `counts`. */
void cs_stack_copies_emit(struct cs_stack_copies *copies, uint64_t line_ns, bool all,
                          struct cs_chain_counts *counts, cs_driver_entry_fn emit, void *arg);
/* The user's frames of one copy that isn't kept here, innermost first, valid until the next call; `of` says whose, and when.
 * False: a table is being made. */
bool cs_stack_copies_frames(struct cs_stack_copies *copies, const struct cs_driver_entry *of,
                            const struct cs_chain_copy *copy, const uint64_t **frames, unsigned *n);
/* Some wait for a table that is being made, or for their turn. */
bool cs_stack_copies_wait(const struct cs_stack_copies *copies);
/* None was taken before this. */
uint64_t cs_stack_copies_oldest(const struct cs_stack_copies *copies);
