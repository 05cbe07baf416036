/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The machine that a profile was taken on, as the culprit analysis needs it. It has sizes of caches and
 * TLBs, miss costs, and the name of the scheduling model. Detected where the profile is recorded, kept in
 * the epoch's meta, so that an analysis on another machine stays right.
 *
 * Files of this module:
 *   arch            what depends on the instruction set that it is built for
 *   arch_aarch64    that on AArch64
 *   arch_riscv64    that on RISC-V
 *   arch_x86_64     that on x86-64
 *   detect          sizes of caches and TLBs from sysfs
 *   latency         what a miss, a lock, a division cost, measured
 *   machine         defaults, scheduling models, the JSON text
 *   measured_cache  one measurement an hour, kept for the user
 *   shared_line     what a line costs that another CPU writes, measured
 *   stated          a machine of which only family and model are known
 *   time_base       cycles of the core in a nanosecond, measured
 *
 * Stated family and model numbers aren't believed, because virtual machines state false ones. The
 * scheduling model is chosen by the instruction sets that the core has. Sizes come from sysfs and CPUID,
 * latencies are measured. No state; any thread. */
#pragma once

#include "store/base/error.h"

#include <stdbool.h>
#include <stdint.h>

/* Instruction sets that tell cores apart. */
enum cs_machine_feature {
    CS_MACHINE_HAS_AVX = 1 << 0,
    CS_MACHINE_HAS_F16C = 1 << 1,
    CS_MACHINE_HAS_AVX2 = 1 << 2,
    CS_MACHINE_HAS_ADX = 1 << 3,
    CS_MACHINE_HAS_CLFLUSHOPT = 1 << 4,
    CS_MACHINE_HAS_AVX512F = 1 << 5,
    CS_MACHINE_HAS_AVX512_VNNI = 1 << 6,
    CS_MACHINE_HAS_AVX512_VBMI2 = 1 << 7,
    CS_MACHINE_HAS_AVX512_BF16 = 1 << 8,
    CS_MACHINE_HAS_AVX512_FP16 = 1 << 9,
    CS_MACHINE_HAS_AMX = 1 << 10,
    CS_MACHINE_HAS_AVX_VNNI = 1 << 11,
    CS_MACHINE_HAS_VAES = 1 << 12,
    CS_MACHINE_HAS_CLWB = 1 << 13,
    CS_MACHINE_HAS_CLZERO = 1 << 14,
    CS_MACHINE_HAS_SSE42 = 1 << 15,
    CS_MACHINE_HAS_VP2INTERSECT = 1 << 16,
    CS_MACHINE_HAS_HYPERVISOR = 1 << 17,
};

enum cs_machine_vendor { CS_MACHINE_OTHER, CS_MACHINE_INTEL, CS_MACHINE_AMD };

struct cs_machine_cache {
    uint64_t bytes;        /* 0 = there is none */
    double latency_cycles; /* load to use; measured, or 0 = unknown */
};

/* Sizes of the ladder: 512 KB, 1 MB, ... 64 MB. */
#define CS_MACHINE_LADDER_STEPS 8
#define CS_MACHINE_LADDER_BYTES(step) (UINT64_C(512) << 10 << (step))

/* Cycles from one update of a line to the next: 3, 6, 12, 48, about. */
#define CS_MACHINE_SHARED_STEPS 4
#define CS_MACHINE_SHARED_BETWEEN(step) ((step) < 3 ? 3.0 * (1 << (step)) : 48.0)

struct cs_machine {
    enum cs_machine_vendor vendor;
    uint32_t features;
    char stated[64]; /* what the machine says it is: shown, not used */
    char cpu[32];    /* scheduling model by features, in llvm's names; "" = none known */
    double core_hz;  /* from cs_time_base_measure; 0 = unknown */
    double tsc_hz;
    uint32_t line_bytes, page_bytes;
    uint64_t l1i_bytes;
    struct cs_machine_cache l1d, l2, l3;
    double memory_cycles; /* load to use from memory */
    /* Load to use of a chase through so many bytes, the middle of many turns: what a program feels where
     * others share the outer levels, which the shortest turns don't show. 0 = not measured. */
    double ladder_cycles[CS_MACHINE_LADDER_STEPS];
    /* What a counter in memory loses each time while another CPU counts in the same line: the least and the most of some kinds
     * of code with so much between two updates. 0 = not measured. */
    double shared_least_cycles[CS_MACHINE_SHARED_STEPS], shared_most_cycles[CS_MACHINE_SHARED_STEPS];
    double lock_cycles;    /* of a locked addition to a line at hand; 0 = not measured */
    double forward_cycles; /* from a store to a load of the same bytes, and through; 0 = not measured */
    double update_cycles;  /* of an addition to one word in memory, over and over; 0 = not measured */
    /* 64-bit divisions of wide numbers: one waiting for the other, each by itself; 0 = not measured */
    double divide_cycles, divide_each_cycles;
    double walk_cycles; /* added by a miss of the last-level TLB whose page table is cached */
    /* The same of data on huge pages. A hypervisor that has no huge pages for its guest's leaves TLBs the small ones: then it isn't
     * much less. 0 = not measured */
    double huge_walk_cycles;
    uint32_t dtlb_entries;       /* first level, small pages */
    uint32_t stlb_entries;       /* last level, shared or data */
    uint32_t itlb_entries;       /* first level, small pages */
    uint32_t store_buffer;       /* entries */
    double mispredict_cycles[2]; /* least and most that one costs */
};

/* So few cycles of a walk are the chase's own noise. */
#define CS_MACHINE_HUGE_WALK_NOISE 15.0

/* What a miss of the last-level TLB costs on huge pages, of what it does on small ones. 0 where huge pages are huge to the TLBs, too. */
static inline double cs_machine_huge_walk(const struct cs_machine *m)
{
    if (m->huge_walk_cycles < CS_MACHINE_HUGE_WALK_NOISE || m->walk_cycles <= 0)
        return 0;
    return m->huge_walk_cycles < m->walk_cycles ? m->huge_walk_cycles / m->walk_cycles : 1;
}

/* Sizes, features, model; nothing measured (core_hz and latencies 0). Always fills `out`: what can't be found
 * gets a stated default. Microseconds. */
void cs_machine_detect(struct cs_machine *out);

/* Measures core_hz, tsc_hz and the latencies on the calling CPU; about 0.4 s and 64 MB for that time. */
int cs_machine_measure(struct cs_machine *machine, struct cs_error *err);
/* Part of it: what a shared line costs, by two threads on two cores. All 0 where there is only one core, or other programs
 * leave too little of the second one. Needs core_hz. */
void cs_machine_measure_shared(struct cs_machine *machine);

/* The same, unless this machine was measured since it started and within the last hour: then that, from the
 * user's cache folder (store/base/cache.h). `machine` comes from cs_machine_detect. `*age_s` is 0 when it was
 * measured now. */
int cs_machine_recall(struct cs_machine *machine, double *age_s, struct cs_error *err);

/* Pure: scheduling models for these features, best first, NULL-terminated; the caller takes the first that
 * the installed llvm-mca knows. */
const char *const *cs_machine_models(enum cs_machine_vendor vendor, uint32_t features);

/* The machine as a JSON object text, and back. `text` gets at most `size` bytes; returns the length, or
 * -ENOSPC. A field that is missing or of a wrong type keeps its default; -EINVAL when `text` is no object. */
int cs_machine_to_json(const struct cs_machine *machine, char *text, unsigned size);
int cs_machine_from_json(const char *text, struct cs_machine *out);

/* Pure: the machine of a recording that only states its processor ("GenuineIntel,6,60,3", and its name or ""). Latencies stay
 * unknown; core_hz is the name's, else 3 GHz. -EINVAL: no such text, -ENOENT: a core that isn't known; `out` then has
 * the defaults. */
int cs_machine_from_stated(const char *cpuid, const char *name, struct cs_machine *out);

/* Pure: whether two are of one processor. A virtual machine's name may be false: its caches and instruction sets count, too. */
bool cs_machine_alike(const struct cs_machine *a, const struct cs_machine *b);

/* Pure: what a counter loses with so many cycles between two updates of its line, at least and at most. False where it wasn't
 * measured. Further apart than was measured, no least. */
bool cs_machine_shared(const struct cs_machine *machine, double between, double *least, double *most);

/* Pure: load to use of a chase through so many bytes, by the ladder; 0 where it wasn't measured. */
double cs_machine_ladder(const struct cs_machine *machine, double bytes);

/* Defaults for a machine that nothing is known of: 32 KB, 1 MB, 32 MB, 64-byte lines. */
void cs_machine_default(struct cs_machine *out);
