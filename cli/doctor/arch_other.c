/* SPDX-License-Identifier: GPL-2.0-or-later */
/* AArch64, RISC-V: nothing that only an instruction can tell. */
#include "cli/doctor/arch.h"

void arch_probe(uint64_t *to)
{
    (void)to;
}

double arch_tsc_mhz(void)
{
    return 0;
}
