/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A performance monitoring unit for QEMU's x86-64, compiled into it by tests/vm/x86/hooks.
 *
 *   cs_pmu.c     registers, counters, overflow and turns: what a guest's kernel drives
 *   cs_models.c  the processors: which events their selectors mean, and what CPUID says
 *   cs_caches.c  the stated caches, TLB and branch predictor, and what a miss costs
 *
 * What happened is counted once, per CPU, mode and kind of event (`counts`): this is the ground truth. A counter of the
 * PMU is a view of sums of these. The guest can read the sums themselves by a magic `rdpmc` (cs_pmu.c, "truth").
 *
 * Time is the instruction clock: each executed instruction is a tick of two cycles, a stall some more, and CPUs
 * take turns. A CPU's cycles are those in which it isn't halted, so that two busy threads of a core run at half
 * speed each. */
#ifndef CS_PMU_H
#define CS_PMU_H

#include <stdbool.h>
#include <stdint.h>

enum cs_kind {
    CS_INSTRUCTIONS,
    CS_CYCLES,
    CS_NOT_TAKEN, /* conditional branches */
    CS_TAKEN,
    CS_JUMPS, /* direct, or through a register or memory */
    CS_CALLS,
    CS_RETURNS, /* always predicted */
    CS_MISPREDICTED_CONDITIONAL,
    CS_MISPREDICTED_INDIRECT,
    CS_LOADS_L1, /* loads by the level that had the line */
    CS_LOADS_L2,
    CS_LOADS_L3,
    CS_LOADS_MEMORY,
    CS_STORES_L1,
    CS_STORES_L2,
    CS_STORES_L3,
    CS_STORES_MEMORY,
    CS_TLB_MISSES_OF_LOADS,
    CS_TLB_MISSES_OF_STORES,
    CS_STALLS_L2, /* cycles of waiting, by what was waited for */
    CS_STALLS_L3,
    CS_STALLS_MEMORY,
    CS_STALLS_TLB,
    CS_STALLS_BRANCH,
    CS_KINDS
};
#define CS_BIT(kind) (UINT64_C(1) << (kind))

enum cs_mode { CS_USER, CS_KERNEL, CS_MODES };
enum { CS_MAX_CPUS = 8, CS_MAX_GENERIC = 8, CS_MAX_FIXED = 4, CS_REGIONS = 16 };

/* A processor. A selector is a number that the guest writes; events that aren't in the table count nothing, and the
 * emulator says so on its error output. */
struct cs_model {
    const char *name;
    bool intel, any_thread, global; /* AnyThread; registers that concern all counters */
    unsigned version, generic, fixed;
    const struct cs_selector {
        unsigned selector; /* event, and unit mask in the second byte; AMD: 12 bits of event */
        uint64_t kinds;    /* the sum of these */
    } * selectors;
};
extern const struct cs_model *cs_model;
extern bool cs_has_caches; /* CS_PMU_CACHES=1: caches, predictor, stalls */
uint64_t cs_kinds_of_selector(uint64_t selector);

struct CPUArchState;
struct CPUState;
typedef struct CPUArchState cs_env;

/* What the hooks call. Turns: */
int64_t cs_pmu_turn(struct CPUState *cpu, int64_t budget);
void cs_pmu_executed(struct CPUState *cpu, int64_t ticks);
void cs_pmu_after_turn(struct CPUState *cpu);
void cs_pmu_mode_changes(cs_env *env);
/* Registers; false where the register isn't one of the PMU's: */
bool cs_pmu_rdmsr(cs_env *env, uint32_t msr, uint64_t *value);
bool cs_pmu_wrmsr(cs_env *env, uint32_t msr, uint64_t value);
bool cs_pmu_rdpmc(cs_env *env, uint32_t index, uint64_t *value);
bool cs_pmu_is_truth(uint32_t index);
void cs_pmu_cpuid(cs_env *env, uint32_t leaf, uint32_t count, uint32_t *eax, uint32_t *ebx, uint32_t *ecx,
                  uint32_t *edx);

/* Between the three files. Sets of the caches (cs_caches.c), which CPUID states; of the TLB, of pages. */
enum {
    CS_L1_SETS = 64,
    CS_L1_WAYS = 8,
    CS_L2_SETS = 1024,
    CS_L2_WAYS = 4,
    CS_L3_SETS = 2048,
    CS_L3_WAYS = 16,
    CS_TLB_SETS = 16,
    CS_TLB_WAYS = 4
};
void cs_count(cs_env *env, enum cs_kind kind, uint64_t n);
bool cs_near_overflow(uint64_t n); /* would n more events reach a counter's end? */
void cs_stall(cs_env *env, enum cs_kind kind, int64_t cycles);
int64_t cs_cycles_left(cs_env *env); /* of the turn, after the block that runs */

/* Branches: a helper's argument is the kind above 12 bits of the branch's address. */
#define CS_BRANCH(kind, pc) ((kind) << 12 | ((pc)&0xfff))

#endif
