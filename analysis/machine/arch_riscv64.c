/* SPDX-License-Identifier: GPL-2.0-or-later */
/* RISC-V: the time CSR. The core's name is in /proc/cpuinfo (uarch, or vendor and architecture numbers). It chooses no
 * scheduling model. No register reports TLB sizes: they stay the stated defaults. */
#include "analysis/machine/arch.h"

#include <stdio.h>
#include <string.h>

uint64_t arch_ticks(void)
{
    uint64_t count;
    __asm__ volatile("fence r, i\n\trdtime %0" : "=r"(count)::"memory");
    return count;
}

void arch_chain(unsigned links)
{
    uint64_t sum = 1, step = 3, left = links;
    __asm__ volatile("1:\n\t" ARCH_LINK("add %0, %0, %1\n\t") "addi %2, %2, -1\n\tbnez %2, 1b"
                     : "+r"(sum), "+r"(step), "+r"(left));
}

void arch_cpu(struct cs_machine *m)
{
    static const char *const keys[] = {"mvendorid", "marchid", "uarch"};
    char line[512], value[3][20] = {"?", "?", ""};
    FILE *f = fopen("/proc/cpuinfo", "re");
    while (f && fgets(line, sizeof line, f))
        for (unsigned i = 0; i < 3; i++)
            if (strncmp(line, keys[i], strlen(keys[i])) == 0 && strchr(line, ':'))
                sscanf(strchr(line, ':') + 1, " %19s", value[i]);
    if (f)
        fclose(f);
    snprintf(m->stated, sizeof m->stated, "vendor %.12s architecture %.18s %.10s", value[0], value[1],
             value[2]);
    snprintf(m->cpu, sizeof m->cpu, "generic");
}
