/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the instruction sets' searches for jump tables share. jump_table.c chooses. */
#pragma once

#include "analysis/cfg/jump_table.h"
#include "image/isa/decode.h"

#define JUMP_ENTRIES_MAX 4096

struct jump_scan {
    struct cs_image_code *code;
    enum cs_isa isa;
    const struct cs_cfg_instruction *insns;
    uint32_t n;
};

/* A table whose place and bound are known: `n` entries of 1, 2, 4 or 8 bytes from `start` on. What one holds, shifted left,
 * is counted from `base`; an entry of 8 bytes is an address and may be the loader's to write. */
struct jump_entries {
    uint64_t start, base;
    unsigned bytes, shift;
    bool is_signed;
    uint32_t n;
};

bool jump_entry_at(const struct jump_scan *s, const struct jump_entries *entries, uint32_t i, uint64_t *to);
/* Adds where they lead. 1 some were new; 0 none, or (and none is added) one doesn't lead to code. */
int jump_follow(const struct jump_scan *s, const struct jump_entries *entries, struct jump_targets *targets);

bool jump_decode(const struct jump_scan *s, uint32_t i, struct cs_isa_insn *insn);
/* Does it write a general register? */
bool jump_writes(const struct jump_scan *s, uint32_t i, unsigned reg);
/* Does an instruction of the procedure start there? Is it executable at all? */
bool jump_to_instruction(const struct jump_scan *s, uint64_t offset);
bool jump_to_code(const struct jump_scan *s, uint64_t offset);
int jump_add_target(struct jump_targets *targets, uint64_t offset);

int jump_table_x86_64(const struct jump_scan *s, uint32_t jump, struct jump_targets *targets);
int jump_table_aarch64(const struct jump_scan *s, uint32_t jump, struct jump_targets *targets);
int jump_table_riscv64(const struct jump_scan *s, uint32_t jump, struct jump_targets *targets);
