/* SPDX-License-Identifier: GPL-2.0-or-later */
/* 1,024 handlers of a line each that a linker put on pages of their own, called in turn by jumps. Variant: all
 * on lines that follow one another. */
#include "../kernels/kernel.h"

enum { HANDLERS = 1024, TURNS = 200 };

#define CHAIN(name, gap)                                                                                     \
    static HOT uint64_t name(void *argument)                                                                 \
    {                                                                                                        \
        uint64_t *count = argument, a = *count;                                                              \
        for (unsigned turn = 0; turn < TURNS; turn++)                                                        \
            __asm__ volatile(".set k, 0\n\t"                                                                 \
                             ".rept 1024\n\t"                                                                \
                             "lea 3(%0), %0\n\t"                                                             \
                             "jmp 1f\n\t" gap "1:\n\t"                                                       \
                             ".set k, k + 1\n\t"                                                             \
                             ".endr"                                                                         \
                             : "+r"(a));                                                                     \
        *count = a;                                                                                          \
        return HANDLERS * TURNS;                                                                             \
    }
CHAIN(call_far, ".balign 4096\n\t.skip (k * 37 %% 63 + 1) * 64, 0x90\n\t")
CHAIN(call_near, ".balign 64\n\t")

int main(int argc, char **argv)
{
    static uint64_t count;
    return run_kernel("page_handlers", argc, argv, variant(argc, argv) ? call_near : call_far, &count);
}
