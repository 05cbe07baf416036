/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Only the tables: translate.c writes them. */
#include "sampler/burst/replayer/translator/blocks.h"

struct block blocks[BLOCKS_MAX];
struct memory_op memory_ops[OPS_MAX];
uint32_t n_ops;
struct insn_note insn_notes[NOTES_MAX];
struct slot_note slot_notes[SLOT_NOTES_MAX];
