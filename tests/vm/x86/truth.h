/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside the emulated x86-64 machine: what the emulator itself counted, independent of its PMU (tests/vm/x86/cs_pmu.c, truth). */
#ifndef CS_TESTS_VM_X86_TRUTH_H
#define CS_TESTS_VM_X86_TRUTH_H

#include "observer/source/rdpmc.h"
#include "tests/vm/x86/cs_pmu.h"

enum { CS_TRUTH = 0x43530000 };

static inline uint64_t cs_truth(unsigned what)
{
    return cs_rdpmc(CS_TRUTH + what);
}

/* From here on, in user mode of this process, on this CPU. */
static inline void cs_truth_region(unsigned region)
{
    (void)cs_truth(0x300 + region);
}

static inline uint64_t cs_truth_of_region(unsigned region, uint64_t kinds)
{
    uint64_t total = 0;
    for (unsigned kind = 0; kind < CS_KINDS; kind++)
        if (kinds & CS_BIT(kind))
            total += cs_truth(0x1000 + (region << 8) + kind);
    return total;
}

/* Both threads of this CPU's core, in both modes. */
static inline uint64_t cs_truth_of_core(enum cs_kind kind)
{
    return cs_truth(0x200 + kind);
}

static inline uint64_t cs_truth_of_cpu(enum cs_kind kind)
{
    return cs_truth(kind) + cs_truth(0x100 + kind);
}

#endif
