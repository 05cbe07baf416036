/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What each instruction set has behind semantics.h. Internal to image/isa/; semantics.c chooses. */
#ifndef CS_IMAGE_ISA_SEMANTICS_INTERNAL_H
#define CS_IMAGE_ISA_SEMANTICS_INTERNAL_H

#include "image/isa/semantics.h"

void op_decode_x86_64(const uint8_t *bytes, size_t size, uint64_t offset, struct cs_isa_op *out);
void op_decode_aarch64(const uint8_t *bytes, size_t size, uint64_t offset, struct cs_isa_op *out);
void op_decode_riscv64(const uint8_t *bytes, size_t size, uint64_t offset, struct cs_isa_op *out);

#endif
