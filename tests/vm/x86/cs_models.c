/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The emulated processors (cs_pmu.h). Selectors by the makers' manuals: Intel's event files for Skylake and Ice Lake, AMD's
 * processor programming reference for family 17h. */
#include "qemu/osdep.h"

#include "cpu.h"
#include "exec/cs_pmu.h"

#define CONDITIONAL (CS_BIT(CS_NOT_TAKEN) | CS_BIT(CS_TAKEN))
#define NEAR_TAKEN (CS_BIT(CS_TAKEN) | CS_BIT(CS_JUMPS) | CS_BIT(CS_CALLS) | CS_BIT(CS_RETURNS))
#define BRANCHES (CONDITIONAL | NEAR_TAKEN)
#define MISPREDICTED (CS_BIT(CS_MISPREDICTED_CONDITIONAL) | CS_BIT(CS_MISPREDICTED_INDIRECT))
#define LOADS_BEYOND_L3 CS_BIT(CS_LOADS_MEMORY)
#define LOADS_BEYOND_L2 (CS_BIT(CS_LOADS_L3) | LOADS_BEYOND_L3)
#define LOADS_BEYOND_L1 (CS_BIT(CS_LOADS_L2) | LOADS_BEYOND_L2)
#define LOADS (CS_BIT(CS_LOADS_L1) | LOADS_BEYOND_L1)
#define STORES_BEYOND_L3 CS_BIT(CS_STORES_MEMORY)
#define STORES_BEYOND_L2 (CS_BIT(CS_STORES_L3) | STORES_BEYOND_L3)
#define STORES_BEYOND_L1 (CS_BIT(CS_STORES_L2) | STORES_BEYOND_L2)
#define STORES (CS_BIT(CS_STORES_L1) | STORES_BEYOND_L1)
#define STALLS_BEYOND_L2 (CS_BIT(CS_STALLS_L3) | CS_BIT(CS_STALLS_MEMORY))
#define STALLS_BEYOND_L1 (CS_BIT(CS_STALLS_L2) | STALLS_BEYOND_L2)
#define STALLS (STALLS_BEYOND_L1 | CS_BIT(CS_STALLS_TLB) | CS_BIT(CS_STALLS_BRANCH))

static const struct cs_selector of_intel[] = {
    {0x00c0, CS_BIT(CS_INSTRUCTIONS)},
    {0x01c0, CS_BIT(CS_INSTRUCTIONS)},
    {0x003c, CS_BIT(CS_CYCLES)},
    {0x013c, CS_BIT(CS_CYCLES)}, /* the reference clock is the core's */
    {0x4f2e, LOADS_BEYOND_L2 | STORES_BEYOND_L2},
    {0x412e, LOADS_BEYOND_L3 | STORES_BEYOND_L3},
    {0x00c4, BRANCHES},
    {0x04c4, BRANCHES},
    {0x01c4, CONDITIONAL}, /* Skylake's number */
    {0x11c4, CONDITIONAL}, /* Ice Lake's */
    {0x02c4, CS_BIT(CS_CALLS)},
    {0x08c4, CS_BIT(CS_RETURNS)},
    {0x10c4, CS_BIT(CS_NOT_TAKEN)},
    {0x20c4, NEAR_TAKEN},
    {0x00c5, MISPREDICTED},
    {0x04c5, MISPREDICTED},
    {0x01c5, CS_BIT(CS_MISPREDICTED_CONDITIONAL)},
    {0x11c5, CS_BIT(CS_MISPREDICTED_CONDITIONAL)},
    {0x81d0, LOADS},
    {0x82d0, STORES},
    {0x83d0, LOADS | STORES},
    {0x11d0, CS_BIT(CS_TLB_MISSES_OF_LOADS)},
    {0x12d0, CS_BIT(CS_TLB_MISSES_OF_STORES)},
    {0x01d1, CS_BIT(CS_LOADS_L1)},
    {0x02d1, CS_BIT(CS_LOADS_L2)},
    {0x04d1, CS_BIT(CS_LOADS_L3)},
    {0x08d1, LOADS_BEYOND_L1},
    {0x10d1, LOADS_BEYOND_L2},
    {0x20d1, LOADS_BEYOND_L3},
    {0x0151, LOADS_BEYOND_L1 | STORES_BEYOND_L1}, /* lines brought into L1 */
    {0x0e08, CS_BIT(CS_TLB_MISSES_OF_LOADS)},
    {0x0108, CS_BIT(CS_TLB_MISSES_OF_LOADS)},
    {0x0e49, CS_BIT(CS_TLB_MISSES_OF_STORES)},
    {0x0149, CS_BIT(CS_TLB_MISSES_OF_STORES)},
    {0x0ca3, STALLS_BEYOND_L1},
    {0x05a3, STALLS_BEYOND_L2},
    {0x06a3, CS_BIT(CS_STALLS_MEMORY)},
    {0x14a3, STALLS_BEYOND_L1},
    {0x04a3, STALLS},
    {0},
};

static const struct cs_selector of_zen[] = {
    {0x00c0, CS_BIT(CS_INSTRUCTIONS)},
    {0x0076, CS_BIT(CS_CYCLES)},
    {0x00c2, BRANCHES},
    {0x00c3, MISPREDICTED},
    {0x00c4, NEAR_TAKEN},
    {0x00c8, CS_BIT(CS_RETURNS)},
    {0x00d1, CONDITIONAL},
    {0x0129, LOADS},
    {0x0229, STORES},
    {0x0329, LOADS | STORES},
    {0x0040, LOADS | STORES},
    {0x0041, LOADS_BEYOND_L1 | STORES_BEYOND_L1},
    {0xff45, CS_BIT(CS_TLB_MISSES_OF_LOADS) | CS_BIT(CS_TLB_MISSES_OF_STORES)},
    {0xf045, CS_BIT(CS_TLB_MISSES_OF_LOADS) | CS_BIT(CS_TLB_MISSES_OF_STORES)},
    {0xff60, LOADS_BEYOND_L1 | STORES_BEYOND_L1},
    {0xc860, LOADS_BEYOND_L1},
    {0x0964, LOADS_BEYOND_L2 | STORES_BEYOND_L2},
    {0x0864, LOADS_BEYOND_L2},
    {0x7064, CS_BIT(CS_LOADS_L2)},
    {0},
};

static const struct cs_model models[] = {
    {"intel3", true, true, true, 3, 4, 3, of_intel}, {"intel5", true, false, true, 5, 8, 3, of_intel},
    {"amd", false, false, false, 1, 6, 0, of_zen},   {"amd2", false, false, true, 2, 6, 0, of_zen},
    {"none", true, false, false, 0, 0, 0, of_intel}, /* leaf 0xA says that there is no PMU */
};
const struct cs_model *cs_model = &models[0];
bool cs_has_caches;

static void __attribute__((constructor)) choose_model(void)
{
    const char *name = getenv("CS_PMU"), *caches = getenv("CS_PMU_CACHES");
    cs_has_caches = caches && *caches == '1';
    if (!name)
        return;
    for (unsigned i = 0; i < ARRAY_SIZE(models); i++) {
        if (strcmp(models[i].name, name) == 0) {
            cs_model = &models[i];
            return;
        }
    }
    fprintf(stderr, "CS_PMU=%s is no model; there are intel3, intel5, amd, amd2, none\n", name);
    exit(1);
}

uint64_t cs_kinds_of_selector(uint64_t selector)
{
    static uint64_t said[16];
    static unsigned n_said;
    uint64_t number = selector & (cs_model->intel ? 0xffff : UINT64_C(0xf0000ffff));
    for (const struct cs_selector *s = cs_model->selectors; s->selector; s++)
        if (s->selector == number)
            return s->kinds;
    for (unsigned i = 0; i < n_said; i++)
        if (said[i] == number)
            return 0;
    if (n_said < ARRAY_SIZE(said)) {
        said[n_said++] = number;
        fprintf(stderr, "cs_pmu: %s doesn't model event 0x%" PRIx64 ": it counts nothing\n", cs_model->name,
                number);
    }
    return 0;
}

/* Leaf 4 and AMD's 0x8000001D: the sizes that are modelled, not the processor's. Who shares a cache stays as it was. */
static void state_cache(uint32_t eax, uint32_t *ebx, uint32_t *ecx)
{
    static const struct {
        unsigned sets, ways;
    } levels[] = {{CS_L1_SETS, CS_L1_WAYS}, {CS_L2_SETS, CS_L2_WAYS}, {CS_L3_SETS, CS_L3_WAYS}};
    unsigned type = eax & 31, level = eax >> 5 & 7;
    if (type == 0 || type == 2 || level < 1 || level > ARRAY_SIZE(levels))
        return; /* none, or of instructions */
    *ebx = (levels[level - 1].ways - 1) << 22 | (64 - 1);
    *ecx = levels[level - 1].sets - 1;
}

/* Leaf 0x18, the TLB, and those below it that the processor hasn't. */
static void state_tlb_intel(uint32_t leaf, uint32_t count, uint32_t *eax, uint32_t *ebx, uint32_t *ecx,
                            uint32_t *edx)
{
    *eax = *ebx = *ecx = *edx = 0;
    if (leaf != 0x18 || count != 0)
        return;
    *ebx = CS_TLB_WAYS << 16 | 1; /* pages of 4 KiB */
    *ecx = CS_TLB_SETS;
    *edx = 1 << 5 | 1; /* first level, of data */
}

static void state_memory(uint32_t leaf, uint32_t count, uint32_t *eax, uint32_t *ebx, uint32_t *ecx,
                         uint32_t *edx)
{
    bool intel = cs_model->intel;
    if (leaf == (intel ? 4 : 0x8000001d))
        state_cache(*eax, ebx, ecx);
    else if (intel && leaf == 0)
        *eax = MAX(*eax, 0x18);
    else if (intel && leaf > 0xd && leaf <= 0x18)
        state_tlb_intel(leaf, count, eax, ebx, ecx, edx);
    else if (!intel && leaf == 0x80000005)
        *ebx = (*ebx & 0xffff) | CS_TLB_WAYS << 24 | (CS_TLB_SETS * CS_TLB_WAYS) << 16;
    else if (!intel && leaf == 0x80000006)
        *ebx = 0; /* no second level */
}

/* Leaf 0xA, and what the features say that belong to it. Events of caches are absent where none are modelled. */
void cs_pmu_cpuid(cs_env *env, uint32_t leaf, uint32_t count, uint32_t *eax, uint32_t *ebx, uint32_t *ecx,
                  uint32_t *edx)
{
    const struct cs_model *m = cs_model;
    if (cs_has_caches)
        state_memory(leaf, count, eax, ebx, ecx, edx);
    if (m->intel) {
        if (leaf == 1)
            *ecx |= CPUID_EXT_PDCM;
        if (leaf != 0xa)
            return;
        *eax = m->version | m->generic << 8 | 48 << 16 | 7 << 24;
        *ebx = cs_has_caches ? 0 : 0x78;
        *ecx = m->version >= 5 ? (1u << m->fixed) - 1 : 0;
        *edx = m->fixed | 48 << 5 | (m->any_thread ? 0 : 1u << 15);
        return;
    }
    if (leaf == 0x80000000)
        *eax = MAX(*eax, 0x80000022);
    if (leaf == 0x80000001)
        *ecx |= CPUID_EXT3_TOPOEXT | CPUID_EXT3_PERFCORE;
    if (leaf != 0x80000022)
        return;
    *eax = m->global;
    *ebx = m->global ? m->generic : 0;
    *ecx = *edx = 0;
}
