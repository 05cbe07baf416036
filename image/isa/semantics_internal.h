/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What each instruction set has behind ops.h. Internal to analysis/; ops.c chooses. */
#ifndef CS_ANALYSIS_OPS_ISA_H
#define CS_ANALYSIS_OPS_ISA_H

#include "image/isa/semantics.h"

void op_decode_x86_64(const uint8_t *bytes, size_t size, uint64_t offset, struct cs_op *out);
void op_decode_aarch64(const uint8_t *bytes, size_t size, uint64_t offset, struct cs_op *out);

#endif
