/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One block's translation. Pure: bytes in, bytes out. */
#pragma once

#include "sampler/count/insn.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CS_COUNT_INSTRUCTIONS_MAX 48 /* of a block */
#define CS_COUNT_CODE_MAX 4096       /* bytes of a translation */
#define CS_COUNT_AROUND 13           /* bytes from a counter's load to its store */
#define CS_COUNT_READ_MAX (15 * CS_COUNT_INSTRUCTIONS_MAX)

/* A thread's memory, at its GS: */
enum {
    CS_COUNT_RAX = 0,
    CS_COUNT_RCX = 8,
    CS_COUNT_RDX = 16,
    CS_COUNT_TARGET = 24, /* of an indirect branch */
    CS_COUNT_CODE = 32,
    CS_COUNT_SCRATCH = 40, /* so many bytes belong to the code between two instructions of the program */
    CS_COUNT_TABLES = 64,  /* 256 addresses of tables of translations */
    CS_COUNT_COUNTERS = 4096
};

/* A place where a translation is left for a block by address. First it traps; then `link` (four bytes, aligned) is made to
 * point to the block's translation, or to `far`, which jumps to the address in the eight bytes at far + 6. */
struct cs_count_exit {
    uint64_t target;
    uint32_t trap, link, far; /* offsets in the translation */
};

struct cs_count_insn {
    uint8_t length;
    uint16_t mix;
};

struct cs_count_translation {
    uint8_t code[CS_COUNT_CODE_MAX];
    unsigned n_code;
    struct cs_count_exit exit[2];
    unsigned n_exits;
    struct cs_count_insn insn[CS_COUNT_INSTRUCTIONS_MAX];
    unsigned n_insns;
    enum cs_count_end end;
    const char *refused; /* why the first instruction can't be translated; then there is no code */
};

/* The block that starts at `pc`, whose bytes are `bytes`, for the place `at`. `lookup`: the code that goes to TARGET
 * with RAX, RCX and RDX saved. */
void cs_count_translate(const uint8_t *bytes, size_t n, uint64_t pc, uint64_t at, uint32_t counter,
                        uint64_t lookup, struct cs_count_translation *out);

/* A thread stands in the middle of `code`. The bytes that it has to go back to the load of its counter, so that what others add to
 * the counter before it goes on isn't lost; 0: it isn't between that load and the store. */
unsigned cs_count_back_to_load(const uint8_t code[2 * CS_COUNT_AROUND]);

/* The code for indirect branches, for the place `at`. `trap`, `syscall`: offsets of where it traps for want of a translation, and
 * of a system call for us. Its length. */
unsigned cs_count_lookup(uint8_t code[256], unsigned *trap, unsigned *syscall);
