/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Chains of a recording that holds copies of stacks (perf record --call-graph dwarf). They are unwound by the frame
 * tables of the images that ran, where these are still here (image/unwind/unwind.h), elsewhere by frame pointers. One
 * owner, not thread-safe.
 *
 *     struct cs_recorded_stacks *stacks = cs_recorded_stacks_open(spaces, images);
 *     if (record.stack) n = cs_recorded_stacks_chain(stacks, &record, machine, &chain);   // else record.chain as it is
 */
#pragma once

#include "exchange/import/address_spaces.h"
#include "exchange/import/imported_images.h"
#include "image/unwind/step.h"

#define CS_RECORDED_FRAMES_MAX 255

struct cs_recorded_stacks;

/* Both stay the caller's. NULL when memory is short. */
struct cs_recorded_stacks *cs_recorded_stacks_open(const struct cs_import_spaces *spaces,
                                                   const struct cs_imported_images *images);
void cs_recorded_stacks_close(struct cs_recorded_stacks *stacks);
/* The record's kernel part, a mark, and the user's part as unwound; valid until the next call. Its length, 0 = out of memory. */
size_t cs_recorded_stacks_chain(struct cs_recorded_stacks *stacks, const struct cs_perfdata_record *record,
                                const char *arch, const uint64_t **chain);
/* How often chains ended so. */
uint64_t cs_recorded_stacks_ended(const struct cs_recorded_stacks *stacks, enum cs_unwind_end end);
