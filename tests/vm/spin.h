/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The work whose counts are known: an architecture's loop of two instructions. */
#ifndef CS_TESTS_VM_SPIN_H
#define CS_TESTS_VM_SPIN_H

#include <stdint.h>

/* Exactly 2 * n instructions. */
static __attribute__((noinline, unused)) void spin(uint64_t n)
{
#if defined(__aarch64__)
    __asm__ volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r"(n) : : "cc");
#elif defined(__riscv)
    __asm__ volatile("1: addi %0, %0, -1\n\tbnez %0, 1b" : "+r"(n));
#else
    __asm__ volatile("1: dec %0\n\tjnz 1b" : "+r"(n) : : "cc");
#endif
}

#endif
