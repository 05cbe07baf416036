/* SPDX-License-Identifier: GPL-2.0-or-later */
/* AArch64: cntvct_el0, and the core's name by MIDR_EL1 (implementer and part number), which the kernel shows.
 * No register reports TLB sizes: they stay the stated defaults. */
#include "analysis/machine/arch.h"
#include "store/base/kernel_files.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t arch_ticks(void)
{
    uint64_t count;
    __asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(count)::"memory");
    return count;
}

void arch_chain(unsigned links)
{
    uint64_t sum = 1, step = 3;
    __asm__ volatile("1:\n\t" ARCH_LINK("add %0, %0, %1\n\t") "subs %w2, %w2, #1\n\tb.ne 1b"
                     : "+r"(sum), "+r"(step), "+r"(links)::"cc");
}

/* Implementer and part -> the scheduling model's name at LLVM. */
static const struct {
    uint32_t implementer, part;
    const char *name;
} cores[] = {
    {0x41, 0xd03, "cortex-a53"},   {0x41, 0xd05, "cortex-a55"},  {0x41, 0xd07, "cortex-a57"},
    {0x41, 0xd08, "cortex-a72"},   {0x41, 0xd09, "cortex-a73"},  {0x41, 0xd0a, "cortex-a75"},
    {0x41, 0xd0b, "cortex-a76"},   {0x41, 0xd0c, "neoverse-n1"}, {0x41, 0xd40, "neoverse-v1"},
    {0x41, 0xd41, "cortex-a78"},   {0x41, 0xd44, "cortex-x1"},   {0x41, 0xd46, "cortex-a510"},
    {0x41, 0xd47, "cortex-a710"},  {0x41, 0xd48, "cortex-x2"},   {0x41, 0xd49, "neoverse-n2"},
    {0x41, 0xd4f, "neoverse-v2"},  {0x46, 0x001, "a64fx"},       {0x48, 0xd01, "tsv110"},
    {0x43, 0x0af, "thunderx2t99"}, {0xc0, 0xac3, "ampere1"},
};

void arch_cpu(struct cs_machine *m)
{
    char text[32];
    (void)cs_kernel_text(text, sizeof text, "/sys/devices/system/cpu/cpu0/regs/identification/midr_el1");
    const uint64_t midr = strtoull(text, NULL, 16);
    uint32_t implementer = midr >> 24 & 0xff, part = midr >> 4 & 0xfff;
    snprintf(m->stated, sizeof m->stated, "MIDR implementer 0x%02x part 0x%03x", implementer, part);
    snprintf(m->cpu, sizeof m->cpu, "generic");
    for (size_t i = 0; i < sizeof cores / sizeof *cores; i++)
        if (cores[i].implementer == implementer && cores[i].part == part)
            snprintf(m->cpu, sizeof m->cpu, "%s", cores[i].name);
}
