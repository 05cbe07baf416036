/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The few x86-64 instructions that the translator writes around the copied ones. None changes a status flag
 * unless its name says so. `at` is where the next byte goes. Registers by number. For translate.c and
 * block_code.c. */
#pragma once

#include "sampler/burst/replayer/translator/blocks.h"

extern uint8_t *at;

/* Where a byte of the code cache can be written: code_memory.c. */
extern int64_t code_writable_at;
static inline void *writable(uint8_t *place)
{
    return (void *)((uint64_t)place + (uint64_t)code_writable_at);
}

static inline void byte(unsigned value)
{
    *(uint8_t *)writable(at++) = (uint8_t)value;
}
static inline void put_bytes(const unsigned *values, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        byte(values[i]);
}
/* An instruction, or its beginning. */
#define put(...)                                                                                             \
    put_bytes((const unsigned[]){__VA_ARGS__}, sizeof(const unsigned[]){__VA_ARGS__} / sizeof(unsigned))
static inline void word32(uint32_t value)
{
    *(uint32_t *)writable(at) = value; /* x86 stores unaligned */
    at += 4;
}
static inline void word64(uint64_t value)
{
    *(uint64_t *)writable(at) = value;
    at += 8;
}
/* Distance from the end of the instruction (after `more` bytes of it) to a static variable. */
static inline void relative(const void *place, int more)
{
    word32((uint32_t)((int64_t)(uint64_t)place - (int64_t)(uint64_t)(at + 4 + more)));
}
static inline void rex_w(unsigned reg, unsigned rm)
{
    byte(0x48 | (reg >> 3) << 2 | rm >> 3);
}

/* mov [place], reg / mov reg, [place] */
static inline void save(const void *place, unsigned reg)
{
    rex_w(reg, 0);
    put(0x89, 0x05 | (reg & 7) << 3);
    relative(place, 0);
}
static inline void load(unsigned reg, const void *place)
{
    rex_w(reg, 0);
    put(0x8b, 0x05 | (reg & 7) << 3);
    relative(place, 0);
}
static inline void move_imm64(unsigned reg, uint64_t value)
{
    rex_w(0, reg);
    byte(0xb8 | (reg & 7));
    word64(value);
}
/* `opcode` reg, [base + index * scale + disp]; base, index 16 = none. `address32`: 32-bit address arithmetic.
 */
static inline void with_memory(unsigned opcode, unsigned reg, unsigned base, unsigned index, unsigned scale,
                               int32_t disp, int address32)
{
    if (address32)
        byte(0x67);
    byte(0x48 | (reg >> 3) << 2 | (index < 16 ? (index >> 3) << 1 : 0U) | (base < 16 ? base >> 3 : 0U));
    byte(opcode);
    byte((base < 16 ? 0x80U : 0x00U) | (reg & 7) << 3 | 4);
    unsigned bits = scale == 8 ? 3 : scale == 4 ? 2 : scale == 2 ? 1 : 0;
    byte(bits << 6 | (index < 16 ? index & 7 : 4U) << 3 | (base < 16 ? base & 7 : 5U));
    word32((uint32_t)disp);
}
static inline void lea(unsigned reg, unsigned base, unsigned index, unsigned scale, int32_t disp,
                       int address32)
{
    with_memory(0x8d, reg, base, index, scale, disp, address32);
}
/* The same with a base only and the shortest form. `wide`: 64-bit operand. */
static inline void with_base(unsigned opcode, unsigned reg, unsigned base, int32_t disp, int wide)
{
    unsigned rex = 0x40U | (wide ? 8U : 0U) | (reg >> 3) << 2 | base >> 3;
    if (rex != 0x40)
        byte(rex);
    byte(opcode);
    int small = disp >= -128 && disp < 128;
    byte((small ? 0x40U : 0x80U) | (reg & 7) << 3 | (base & 7));
    if ((base & 7) == RSP)
        byte(0x24);
    if (small)
        byte((uint8_t)disp);
    else
        word32((uint32_t)disp);
}
static inline void jump_to(const uint8_t *code)
{
    byte(0xe9);
    relative(code, 0);
}
static inline void push(unsigned reg)
{
    byte(0x50 | reg);
}
static inline void pop(unsigned reg)
{
    byte(0x58 | reg);
}
/* Status flags to and from rax. */
static inline void flags_to_rax(void)
{
    byte(0x9f);            /* lahf */
    put(0x0f, 0x90, 0xc0); /* seto al */
}
static inline void flags_from_rax(void)
{
    put(0x04, 0x7f); /* add al, 0x7f: overflow again */
    byte(0x9e);      /* sahf */
}
