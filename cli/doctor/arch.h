/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What doctor asks of the processor itself; module.mk builds arch_NAME.c, else arch_other.c. */
#pragma once

#include <stdint.h>

/* Fills the probes that are instructions of this architecture, indexed by enum probe (machine.h). */
void arch_probe(uint64_t *to);
double arch_tsc_mhz(void); /* 20 ms; 0 = there is none */
