/* SPDX-License-Identifier: GPL-2.0-or-later */
/* loop N: exactly 2 N instructions in spin(), nothing else to speak of. */
#include <stdint.h>
#include <stdlib.h>

__attribute__((noinline)) static void spin(uint64_t n)
{
#if defined(__aarch64__)
    __asm__ volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r"(n) : : "cc");
#elif defined(__riscv)
    __asm__ volatile("1: addi %0, %0, -1\n\tbnez %0, 1b" : "+r"(n));
#else
    __asm__ volatile("1: dec %0\n\tjnz 1b" : "+r"(n) : : "cc");
#endif
}

int main(int argc, char **argv)
{
    spin(argc > 1 ? strtoull(argv[1], NULL, 10) : 1);
    return 0;
}
