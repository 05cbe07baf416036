/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libZydis inside the burst runner: the calls that translate.c uses. */
#ifndef CS_BURST_DECODER_H
#define CS_BURST_DECODER_H

#include <Zydis/Zydis.h>

struct decoder_calls {
    ZyanStatus (*init)(ZydisDecoder *, ZydisMachineMode, ZydisStackWidth);
    ZyanStatus (*decode)(const ZydisDecoder *, const void *, ZyanUSize, ZydisDecodedInstruction *,
                         ZydisDecodedOperand *);
    ZydisRegister (*enclosing)(ZydisMachineMode, ZydisRegister);
    ZydisDecoder state;
};
extern struct decoder_calls decoder;

#endif
