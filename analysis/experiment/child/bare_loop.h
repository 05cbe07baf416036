/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cycles a turn of code in a loop, after BHive (IISWC 2019) and nanoBench (ISPASS 2020). Time is the difference of many and a
 * quarter as many turns, each the median of passes. Cycles are those of a chain of multiplications that is timed in between.
 *
 * Files of this module:
 *   bare_loop  the way into the loop and out of it, and its time
 *   child      a process without rights in which code of strangers runs
 *   order      what that process gets, and what it answers
 *
 * Needs no libc. If you run code of strangers here, do so in a process that they may take over. x86-64 only. One thread. */
#pragma once

#include <stdint.h>

enum {
    BARE_PASSES = 61,
    BARE_PAGES_WARM = 6,     /* data pages that a first-level cache holds */
    BARE_TICKS_MOST = 40000, /* of a pass: a host's interruptions are rare within */
    BARE_TURNS_LEAST = 64,
    BARE_ROUTINE_BYTES = 4096,
    BARE_STATE_BYTES = 16384, /* an area of xrstor64, aligned to 64 */
};

struct bare_loop {
    uint64_t head;     /* where a turn begins */
    int counter;       /* register that counts turns */
    const void *state; /* vector and x87 registers, for xrstor64 */
};

struct bare_time {
    double cycles, spread; /* a turn; quartiles of the passes, % of the difference */
    double reference;      /* cycles of what takes 100 on a core that nobody shares */
    uint32_t turns, pages;
};

/* Writes the ways in and out to `routine`, BARE_ROUTINE_BYTES that can be run from now on. Returns where the code is to leave
 * to. */
uint64_t bare_prepare(uint8_t *routine, const struct bare_loop *loop);
/* `pages`: how many data pages have come; the fault handler that brings them counts. Runs what `bare_prepare` was called
 * for last, from these registers: rax rcx rdx rbx rsp rbp rsi rdi r8 ... r15. */
void bare_measure(const uint64_t *registers, const volatile unsigned *pages, struct bare_time *out);
