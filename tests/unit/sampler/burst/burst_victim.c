/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program that gets rights from its file. It has a secret in its page at CHOSEN, and in registers, some microseconds after
 * its exec: without a libc nothing comes before. */
#include "tests/unit/sampler/burst/burst_taken_over.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static long call(long number, long a, long b, long c, long d)
{
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = -1;
    register long r9 __asm__("r9") = 0;
    __asm__ volatile("syscall"
                     : "+a"(number)
                     : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return number;
}

void _start(void);
void _start(void)
{
    call(SYS_mmap, CHOSEN, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED);
    for (unsigned i = 0; i < 4096 / 8; i++)
        ((volatile unsigned long *)CHOSEN)[i] = SECRET;
    call(SYS_prctl, PR_SET_PDEATHSIG, 9, 0, 0);
    __asm__ volatile("movq %0, %%xmm0\n"
                     "movq %0, %%xmm15\n"
                     "mov %0, %%rbx\n"
                     "mov %0, %%r12\n"
                     "1: jmp 1b"
                     :
                     : "r"(SECRET)
                     : "rbx", "r12", "xmm0", "xmm15");
}
