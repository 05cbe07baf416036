/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A spreadsheet that a generator made straight code of: 4,096 formulas of three cells, each in front of what to do
 * if it fails, which it jumps over; 400 KB. Variant: 64 of them, 64 times as often. */
#include "../kernels/kernel.h"

#define FORMULAS(times)                                                                                      \
    __asm__ volatile(".rept " times "\n\t"                                                                   \
                     "movl (%0), %%eax; addl $0x1234567, %%eax; xorl 16(%0), %%eax; movl %%eax, 64(%0)\n\t"  \
                     "jmp 1f; .skip 80, 0x90; 1:\n"                                                          \
                     ".endr"                                                                                 \
                     :                                                                                       \
                     : "r"(cells)                                                                            \
                     : "eax", "memory")

#define SHEET(name, turns, times)                                                                            \
    static HOT uint64_t name(void *argument)                                                                 \
    {                                                                                                        \
        uint32_t *cells = argument;                                                                          \
        for (unsigned turn = 0; turn < (turns); turn++)                                                      \
            FORMULAS(times);                                                                                 \
        return 16 * 4096;                                                                                    \
    }
SHEET(recalculate, 16, "4096")
SHEET(recalculate_few, 16 * 64, "64")

int main(int argc, char **argv)
{
    static uint32_t cells[32];
    return run_kernel("spreadsheet", argc, argv, variant(argc, argv) ? recalculate_few : recalculate, cells);
}
