/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the instruction sets' searches ask of the code, and the list of targets that they fill. */
#include "analysis/cfg/jump_table_internal.h"
#include "store/base/array.h"
#include "store/base/bisect.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

bool jump_decode(const struct jump_scan *s, uint32_t i, struct cs_isa_insn *insn)
{
    assert(i < s->n);
    size_t n_bytes;
    const uint8_t *bytes = cs_image_bytes_at(s->code, s->insns[i].offset, &n_bytes, NULL);
    return bytes && cs_isa_decode(s->isa, bytes, n_bytes, s->insns[i].offset, insn) != 0;
}

bool jump_writes(const struct jump_scan *s, uint32_t i, unsigned reg)
{
    struct cs_isa_insn insn;
    return jump_decode(s, i, &insn) && (insn.writes & cs_isa_register(s->isa, reg)) != 0;
}

bool jump_to_instruction(const struct jump_scan *s, uint64_t offset)
{
    uint32_t low = cs_bisect(s->n, i, s->insns[i].offset < offset);
    return low < s->n && s->insns[low].offset == offset;
}

bool jump_to_code(const struct jump_scan *s, uint64_t offset)
{
    size_t n_bytes;
    bool executable = false;
    return cs_image_bytes_at(s->code, offset, &n_bytes, &executable) && executable;
}

int jump_add_target(struct jump_targets *targets, uint64_t offset)
{
    for (uint32_t i = 0; i < targets->n; i++)
        if (targets->offset[i] == offset)
            return 0;
    if (cs_array_room(targets->offset, targets->n, targets->capacity) < 0)
        return -ENOMEM;
    targets->offset[targets->n++] = offset;
    return 0;
}

bool jump_entry_at(const struct jump_scan *s, const struct jump_entries *e, uint32_t i, uint64_t *to)
{
    assert(e->bytes == 1 || e->bytes == 2 || e->bytes == 4 || e->bytes == 8);
    size_t n_bytes;
    uint64_t at = e->start + (uint64_t)e->bytes * i, value = 0;
    if (e->bytes == 8 && cs_image_relocated_at(s->code, at, to))
        return true;
    const uint8_t *bytes = cs_image_bytes_at(s->code, at, &n_bytes, NULL);
    if (!bytes || n_bytes < e->bytes)
        return false;
    memcpy(&value, bytes, e->bytes);
    unsigned unused = 64 - 8 * e->bytes;
    if (e->is_signed)
        value = (uint64_t)((int64_t)(value << unused) >> unused);
    *to = e->base + (value << e->shift);
    return true;
}

int jump_follow(const struct jump_scan *s, const struct jump_entries *e, struct jump_targets *targets)
{
    uint32_t before = targets->n;
    uint64_t to;
    for (uint32_t i = 0; i < e->n; i++)
        if (!jump_entry_at(s, e, i, &to) || !jump_to_code(s, to))
            return 0;
    for (uint32_t i = 0; i < e->n && jump_entry_at(s, e, i, &to); i++) {
        if (!jump_to_instruction(s, to))
            targets->outside = true;
        else if (jump_add_target(targets, to) < 0)
            return -ENOMEM;
    }
    return targets->n > before;
}
