/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an instruction is to a translation. Pure; x86-64 only. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* How a block ends. */
enum cs_count_end { CS_COUNT_NEXT, CS_COUNT_BRANCH, CS_COUNT_JUMP, CS_COUNT_CALL, CS_COUNT_RETURN };

#ifdef __x86_64__
#include <Zydis/Zydis.h>

struct cs_count_decoded {
    ZydisDecodedInstruction insn;
    ZydisDecodedOperand operand[ZYDIS_MAX_OPERAND_COUNT];
    const uint8_t *bytes;
    uint64_t pc;
};

/* The instructions overwrite all status flags before one of them reads any. */
bool cs_count_flags_are_dead(const struct cs_count_decoded *d, unsigned n);
/* Why it can't be translated; NULL: it can. */
const char *cs_count_refusal(const struct cs_count_decoded *d);
bool cs_count_is_relative_branch(const struct cs_count_decoded *d);
bool cs_count_is_relative_memory(const struct cs_count_decoded *d);
/* CS_COUNT_NEXT: it doesn't end a block. */
enum cs_count_end cs_count_end_of(const struct cs_count_decoded *d);
/* Nothing is behind it that is sure to be code. */
bool cs_count_stops(const struct cs_count_decoded *d);
/* Of its bytes but for those that say where something lies. */
uint16_t cs_count_mix_of(const struct cs_count_decoded *d);
#endif
