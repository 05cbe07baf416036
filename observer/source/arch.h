/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The few instructions of the observer that differ by architecture; this file asks which it is. (So does
 * os_names.c, whose table is x86-64's.) An arch_NAME.h provides:
 *
 *   uint64_t cs_clock_ordered(void)    The clock, in ticks of constant rate. Read after all earlier loads are
 *                                      done; later ones may start before it. Also a barrier to the compiler.
 *   uint64_t cs_clock_then_load(from, value)
 *                                      The same, then the load of *from into *value as the next instruction,
 *                                      so that nothing of the compiler's lies between the two (loop/body.h).
 *   uint64_t cs_clock(void)            The clock where order doesn't matter: the processor may overlap it
 *                                      with what surrounds it. A barrier to the compiler all the same.
 *   uint64_t cs_rdpmc(counter)         Hardware counter of this CPU; `counter` is `index` - 1 of perf's mmap
 *                                      page. Not sign-extended: rdpmc.h knows the width. Need not wait for
 *                                      earlier loads (x86-64 doesn't; AArch64 does, by isb): a clock before
 *                                      it does. May only run where readable.h says so: else it faults.
 *   CS_PMC_USER_ACCESS                 Bits of perf_event_attr.config1 that ask for such reading; 0: none are
 *                                      needed.
 *   CS_PMC_ANY_THREAD                  Bits of perf_event_attr.config that make an event count both hardware
 *                                      threads of a core; 0: there are none.
 *   bool cs_pmc_any_thread(why)        Whether this processor can do so; else *why is a clause that says why.
 *   void cs_pause(void)                What a waiting loop does each turn: a hint, no order. */
#pragma once

#if defined(__x86_64__)
#include "observer/source/arch_x86_64.h"
#elif defined(__aarch64__)
#include "observer/source/arch_aarch64.h"
#elif defined(__riscv) && __riscv_xlen == 64
#include "observer/source/arch_riscv64.h"
#else
#error "cyclescope runs on x86-64, AArch64 and RISC-V (rv64gc)"
#endif
