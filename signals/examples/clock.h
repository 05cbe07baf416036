/* SPDX-License-Identifier: MIT */
/* The clock that an observer reads, for examples that log what it should have seen. */
#ifndef CS_EXAMPLES_CLOCK_H
#define CS_EXAMPLES_CLOCK_H

#include <stdint.h>

static inline uint64_t tsc(void)
{
#if defined(__x86_64__)
    uint32_t low, high, cpu;
    __asm__ volatile("rdtscp" : "=a"(low), "=d"(high), "=c"(cpu)::"memory");
    return (uint64_t)high << 32 | low;
#elif defined(__riscv)
    uint64_t count;
    __asm__ volatile("fence r, i\n\trdtime %0" : "=r"(count)::"memory");
    return count;
#else
    uint64_t count;
    __asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(count)::"memory");
    return count;
#endif
}

#endif
