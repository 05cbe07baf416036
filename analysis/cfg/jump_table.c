/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/cfg/jump_table.h"
#include "analysis/cfg/jump_table_internal.h"

#include <errno.h>
#include <stdlib.h>

bool jump_decode(const struct jump_scan *s, uint32_t i, struct cs_insn *insn)
{
    size_t room;
    const uint8_t *bytes = cs_code_bytes(s->code, s->insns[i].offset, &room, NULL);
    return bytes && cs_decode(s->isa, bytes, room, s->insns[i].offset, insn) != 0;
}

bool jump_to_instruction(const struct jump_scan *s, uint64_t offset)
{
    uint32_t low = 0, high = s->n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (s->insns[middle].offset < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low < s->n && s->insns[low].offset == offset;
}

bool jump_to_code(const struct jump_scan *s, uint64_t offset)
{
    size_t room;
    bool executable = false;
    return cs_code_bytes(s->code, offset, &room, &executable) && executable;
}

int jump_add_target(struct targets *targets, uint64_t offset)
{
    for (uint32_t i = 0; i < targets->n; i++)
        if (targets->offset[i] == offset)
            return 0;
    if (targets->n == targets->room) {
        uint32_t room = targets->room ? 2 * targets->room : 64;
        uint64_t *grown = realloc(targets->offset, room * sizeof *grown);
        if (!grown)
            return -ENOMEM;
        targets->offset = grown;
        targets->room = room;
    }
    targets->offset[targets->n++] = offset;
    return 0;
}

int cs_jump_table(struct cs_code *code, const struct cs_cfg_insn *insns, uint32_t n_insns, uint32_t jump,
                  struct targets *targets)
{
    const struct jump_scan s = {code, cs_code_isa(code), insns, n_insns};
    return s.isa == CS_ISA_AARCH64 ? jump_table_aarch64(&s, jump, targets)
                                   : jump_table_x86_64(&s, jump, targets);
}
