/* SPDX-License-Identifier: MIT */
/* Filters of system calls (seccomp): which call puts one on, and how many there are. System calls are made without a library:
 * its syscall() is what a program's own is watched by. */
#ifndef CS_SIGNALS_TIMERS_FILTERS_H
#define CS_SIGNALS_TIMERS_FILTERS_H

#include <fcntl.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* The kernel's answer as it is: -4095 to -1 is an errno. */
static inline long cs_kernel(long number, const long a[6])
{
#if defined(__x86_64__)
    register long r10 __asm__("r10") = a[3], r8 __asm__("r8") = a[4], r9 __asm__("r9") = a[5];
    long rc;
    __asm__ volatile("syscall"
                     : "=a"(rc)
                     : "a"(number), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return rc;
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number, x0 __asm__("x0") = a[0], x1 __asm__("x1") = a[1],
                     x2 __asm__("x2") = a[2], x3 __asm__("x3") = a[3], x4 __asm__("x4") = a[4],
                     x5 __asm__("x5") = a[5];
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
#elif defined(__riscv)
    register long a7 __asm__("a7") = number, a0 __asm__("a0") = a[0], a1 __asm__("a1") = a[1],
                     a2 __asm__("a2") = a[2], a3 __asm__("a3") = a[3], a4 __asm__("a4") = a[4],
                     a5 __asm__("a5") = a[5];
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a7), "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a5) : "memory");
    return a0;
#else
#error "how does this architecture call its kernel?"
#endif
}

#define kernel(number, ...) cs_kernel((number), (const long[6]){CS_LONGS(__VA_ARGS__)})
#define CS_LONGS(...) CS_LONGS_(__VA_ARGS__, 0, 0, 0, 0, 0)
#define CS_LONGS_(a, b, c, d, e, ...) (long)(a), (long)(b), (long)(c), (long)(d), (long)(e)

static inline bool cs_filters_by(long number, const long a[6])
{
    return (number == SYS_seccomp && (a[0] == SECCOMP_SET_MODE_STRICT || a[0] == SECCOMP_SET_MODE_FILTER)) ||
           (number == SYS_prctl && a[0] == PR_SET_SECCOMP);
}

/* How many filters this thread is under. Kernels before 5.9 don't say: 1 is any. A program under one that couldn't make these
 * three calls would not have been loaded. */
static inline unsigned cs_filters_now(void)
{
    char text[4096];
    const long fd = kernel(SYS_openat, AT_FDCWD, "/proc/self/status", O_RDONLY | O_CLOEXEC, 0);
    const long n = fd >= 0 ? kernel(SYS_read, fd, text, sizeof text - 1) : 0;
    if (fd >= 0)
        kernel(SYS_close, fd);
    text[n > 0 ? n : 0] = '\0';
    const char *mode = strstr(text, "\nSeccomp:\t"), *count = strstr(text, "\nSeccomp_filters:\t");
    unsigned filters = 0;
    if (!count)
        return mode && mode[10] != '0';
    for (count += 18; *count >= '0' && *count <= '9'; count++)
        filters = filters * 10 + (unsigned)(*count - '0');
    return filters;
}

#endif
