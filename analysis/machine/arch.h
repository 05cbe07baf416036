/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of this module that depend on the instruction set that it is built for: one of arch_x86_64.c,
 * arch_aarch64.c, arch_riscv64.c. (Code of each instruction set is analysed on all: image/isa/decode.h.) */
#pragma once

#include "analysis/machine/machine.h"

#include <stdint.h>

#define ARCH_ADDS_A_LINK 100
#define ARCH_10(add) add add add add add add add add add add
#define ARCH_LINK(add) ARCH_10(ARCH_10(add))

/* The counter that user space may always read: TSC, cntvct_el0, time. Ordered after what stands before it. */
uint64_t arch_ticks(void);
/* So many times ARCH_ADDS_A_LINK dependent register additions. */
void arch_chain(unsigned links);
/* Fills vendor, features, stated, cpu, and TLB sizes where the processor tells them. */
void arch_cpu(struct cs_machine *machine);
