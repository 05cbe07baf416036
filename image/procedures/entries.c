/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image/procedures/entries.h"
#include "image/isa/decode.h"

#include <assert.h>
#include <string.h>

/* x86-64's lea of an address relative to the next instruction; 0: it is none. */
static uint64_t address_taken(enum cs_isa isa, const uint8_t *bytes, const struct cs_isa_insn *insn)
{
    int32_t displacement;
    if (isa != CS_ISA_X86_64 || insn->length != 7 || (bytes[0] & 0xfb) != 0x48 || bytes[1] != 0x8d ||
        (bytes[2] & 0xc7) != 0x05)
        return 0;
    memcpy(&displacement, bytes + 3, sizeof displacement);
    return insn->offset + insn->length + (uint64_t)(int64_t)displacement;
}

int entries_of_code(const struct elf_file *image, uint64_t start, uint64_t end,
                    int (*each)(uint64_t target, void *arg), void *arg)
{
    assert(start <= end);
    const enum cs_isa isa = elf_file_isa(image);
    size_t room;
    const uint8_t *bytes = elf_file_at(image, start, &room, NULL);
    const size_t n = bytes && room < end - start ? room : (size_t)(end - start);
    int rc = 0;
    for (size_t at = 0; bytes && at < n && rc == 0;) {
        struct cs_isa_insn insn;
        if (!cs_isa_decode_flow(isa, bytes + at, n - at, start + at, &insn)) {
            at += cs_isa_step(isa);
            continue;
        }
        uint64_t target = address_taken(isa, bytes + at, &insn);
        if (insn.flow == CS_ISA_FLOW_CALL ||
            (insn.flow == CS_ISA_FLOW_JUMP && (insn.target < start || insn.target >= end)))
            target = insn.target;
        if (target)
            rc = each(target, arg);
        at += insn.length;
    }
    return rc;
}
