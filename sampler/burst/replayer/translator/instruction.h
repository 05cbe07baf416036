/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an instruction is to the translator. Pure. */
#pragma once

#include "sampler/burst/replayer/translator/blocks.h"
#include "sampler/burst/replayer/translator/decoder.h"

struct decoded {
    uint64_t addr;
    ZydisDecodedInstruction insn;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    uint8_t bytes[15];
};

unsigned general(ZydisRegister reg); /* number of the general register that `reg` is part of; 16: none */
/* CS_BURST_FULL, or the cause that ends a burst before this instruction. */
enum cs_burst_cause stops(const struct decoded *d);
int end_of(const struct decoded *d); /* END_… */
