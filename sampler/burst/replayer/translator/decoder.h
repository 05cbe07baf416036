/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libZydis inside the burst runner: the calls that the translator uses. */
#pragma once

#include <Zydis/Zydis.h>
#include <stdbool.h>

struct decoder_calls {
    ZyanStatus (*init)(ZydisDecoder *, ZydisMachineMode, ZydisStackWidth);
    ZyanStatus (*decode)(const ZydisDecoder *, const void *, ZyanUSize, ZydisDecodedInstruction *,
                         ZydisDecodedOperand *);
    ZydisRegister (*enclosing)(ZydisMachineMode, ZydisRegister);
    ZydisDecoder state;
};
extern struct decoder_calls decoder;
bool decoder_load(int fd); /* false: this is no libZydis */
