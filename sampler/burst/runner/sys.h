/* SPDX-License-Identifier: GPL-2.0-or-later */
/* System calls of the burst runner, which has no libc: its address space must be empty but for itself. Each
 * returns what the kernel returns: negative errno on failure. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

static inline long sys6(long n, long a, long b, long c, long d, long e, long f)
{
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}
#define SYS(n, ...) SYS_PICK(__VA_ARGS__, 6, 5, 4, 3, 2, 1)(n, __VA_ARGS__)
#define SYS_PICK(a, b, c, d, e, f, count, ...) SYS_##count
#define L(x) ((long)(x))
#define SYS_1(n, a) sys6(n, L(a), 0, 0, 0, 0, 0)
#define SYS_2(n, a, b) sys6(n, L(a), L(b), 0, 0, 0, 0)
#define SYS_3(n, a, b, c) sys6(n, L(a), L(b), L(c), 0, 0, 0)
#define SYS_4(n, a, b, c, d) sys6(n, L(a), L(b), L(c), L(d), 0, 0)
#define SYS_5(n, a, b, c, d, e) sys6(n, L(a), L(b), L(c), L(d), L(e), 0)
#define SYS_6(n, a, b, c, d, e, f) sys6(n, L(a), L(b), L(c), L(d), L(e), L(f))

static inline uint64_t tsc(void)
{
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
}
