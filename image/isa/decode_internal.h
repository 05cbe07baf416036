/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What each instruction set has behind decode.h. Internal to image/isa/; decode.c chooses. */
#pragma once

#include "image/isa/decode.h"

unsigned decode_x86_64(const uint8_t *bytes, size_t n, uint64_t offset, struct cs_isa_insn *insn);
unsigned decode_flow_x86_64(const uint8_t *bytes, size_t n, uint64_t offset, struct cs_isa_insn *insn);
char *decode_text_x86_64(const uint8_t *bytes, size_t n, uint64_t offset, char *text, size_t capacity);

/* 0: it is none that could be. */
unsigned length_of_unknown_x86_64(const uint8_t *bytes, size_t n);

unsigned decode_aarch64(const uint8_t *bytes, size_t n, uint64_t offset, struct cs_isa_insn *insn);
unsigned decode_flow_aarch64(const uint8_t *bytes, size_t n, uint64_t offset, struct cs_isa_insn *insn);
char *decode_text_aarch64(const uint8_t *bytes, size_t n, uint64_t offset, char *text, size_t capacity);

unsigned decode_riscv64(const uint8_t *bytes, size_t n, uint64_t offset, struct cs_isa_insn *insn);
unsigned decode_flow_riscv64(const uint8_t *bytes, size_t n, uint64_t offset, struct cs_isa_insn *insn);
char *decode_text_riscv64(const uint8_t *bytes, size_t n, uint64_t offset, char *text, size_t capacity);
uint64_t far_target_riscv64(const uint8_t *bytes, size_t n, uint64_t offset);

#define RISCV64_UNIMP 0xc0001073u
/* The instruction of four bytes that stands there, or that a compressed one stands for; returns the bytes that it takes, 0 =
 * none. Its immediate, sign-extended, as its opcode has it. */
unsigned riscv64_word(const uint8_t *bytes, size_t n, uint32_t *word);
int32_t riscv64_immediate(uint32_t word);
