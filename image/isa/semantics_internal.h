/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What each instruction set has behind semantics.h. Internal to image/isa/; semantics.c chooses. */
#pragma once

#include "image/isa/semantics.h"

/* All but the bytes. `text` (CS_ISA_OP_TEXT, may be NULL) stays as it is where they don't decode. */
void op_decode_x86_64(const uint8_t *bytes, size_t size, uint64_t offset, struct cs_isa_op *out, char *text);
void op_decode_aarch64(const uint8_t *bytes, size_t size, uint64_t offset, struct cs_isa_op *out, char *text);
void op_decode_riscv64(const uint8_t *bytes, size_t size, uint64_t offset, struct cs_isa_op *out, char *text);

/* From decode.h's bits to semantics.h's: of a set, of a general register by its number. */
struct op_registers {
    uint64_t (*of_set)(uint64_t set);
    uint64_t (*general)(uint8_t number);
};
/* Fills all that the decoder of ours knows: what is left is the kind and the text. */
void op_take_decoded(const struct cs_isa_insn *insn, const struct op_registers *registers,
                     struct cs_isa_op *out);
