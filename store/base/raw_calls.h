/* SPDX-License-Identifier: GPL-2.0-or-later */
/* System calls without libc: SYS(SYS_name, arguments...), for the burst runner, which must be alone in its address space, and
 * for processes that share ours. Each returns what the kernel returns: negative errno on failure. */
#pragma once

#include <sys/syscall.h>

/* A process that shares our memory but isn't a thread of libc must not touch what a sanitizer keeps. */
#define CS_RAW __attribute__((no_sanitize("address", "undefined")))

CS_RAW static inline long cs_raw_call(long n, long a, long b, long c, long d, long e, long f)
{
#if defined __x86_64__
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
#elif defined __aarch64__
    register long x8 __asm__("x8") = n;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
#elif defined __riscv
    register long a7 __asm__("a7") = n;
    register long a0 __asm__("a0") = a;
    register long a1 __asm__("a1") = b;
    register long a2 __asm__("a2") = c;
    register long a3 __asm__("a3") = d;
    register long a4 __asm__("a4") = e;
    register long a5 __asm__("a5") = f;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a7), "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a5) : "memory");
    return a0;
#endif
}
#define SYS(n, ...) SYS_PICK(__VA_ARGS__, 6, 5, 4, 3, 2, 1)(n, __VA_ARGS__)
#define SYS_PICK(a, b, c, d, e, f, count, ...) SYS_##count
#define L(x) ((long)(x))
#define SYS_1(n, a) cs_raw_call(n, L(a), 0, 0, 0, 0, 0)
#define SYS_2(n, a, b) cs_raw_call(n, L(a), L(b), 0, 0, 0, 0)
#define SYS_3(n, a, b, c) cs_raw_call(n, L(a), L(b), L(c), 0, 0, 0)
#define SYS_4(n, a, b, c, d) cs_raw_call(n, L(a), L(b), L(c), L(d), 0, 0)
#define SYS_5(n, a, b, c, d, e) cs_raw_call(n, L(a), L(b), L(c), L(d), L(e), 0)
#define SYS_6(n, a, b, c, d, e, f) cs_raw_call(n, L(a), L(b), L(c), L(d), L(e), L(f))
