/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For x86-64: CPUID for TLBs and instruction sets, and the TSC. Sources are Intel SDM volume 2 "CPUID",
 * leaves 7 and 18H, and AMD APM volume 3 appendix E, functions 8000_0005H and 8000_0006H. */
#include "analysis/machine/arch.h"

#include <cpuid.h>
#include <stdio.h>
#include <string.h>

uint64_t arch_ticks(void)
{
    uint32_t low, high, aux;
    __asm__ volatile("rdtscp" : "=a"(low), "=d"(high), "=c"(aux)::"memory");
    return (uint64_t)high << 32 | low;
}

/* The loop's own counter runs beside the additions. */
void arch_chain(unsigned links)
{
    uint64_t sum = 1, step = 3;
    __asm__ volatile("1:\n\t" ARCH_LINK("add %1, %0\n\t") "dec %2\n\tjnz 1b"
                     : "+r"(sum), "+r"(step), "+r"(links)::"cc");
}

struct feature_bit {
    unsigned leaf, subleaf;
    char reg; /* a, b, c, d */
    unsigned bit;
    uint32_t feature;
};

static const struct feature_bit feature_bits[] = {
    {1, 0, 'c', 20, CS_MACHINE_HAS_SSE42},       {1, 0, 'c', 28, CS_MACHINE_HAS_AVX},
    {1, 0, 'c', 29, CS_MACHINE_HAS_F16C},        {1, 0, 'c', 31, CS_MACHINE_HAS_HYPERVISOR},
    {7, 0, 'b', 5, CS_MACHINE_HAS_AVX2},         {7, 0, 'b', 16, CS_MACHINE_HAS_AVX512F},
    {7, 0, 'b', 19, CS_MACHINE_HAS_ADX},         {7, 0, 'b', 23, CS_MACHINE_HAS_CLFLUSHOPT},
    {7, 0, 'b', 24, CS_MACHINE_HAS_CLWB},        {7, 0, 'c', 6, CS_MACHINE_HAS_AVX512_VBMI2},
    {7, 0, 'c', 9, CS_MACHINE_HAS_VAES},         {7, 0, 'c', 11, CS_MACHINE_HAS_AVX512_VNNI},
    {7, 0, 'd', 8, CS_MACHINE_HAS_VP2INTERSECT}, {7, 0, 'd', 23, CS_MACHINE_HAS_AVX512_FP16},
    {7, 0, 'd', 24, CS_MACHINE_HAS_AMX},         {7, 1, 'a', 4, CS_MACHINE_HAS_AVX_VNNI},
    {7, 1, 'a', 5, CS_MACHINE_HAS_AVX512_BF16},  {0x80000008, 0, 'b', 0, CS_MACHINE_HAS_CLZERO},
};

static uint32_t cpu_features(void)
{
    uint32_t found = 0;
    for (size_t i = 0; i < sizeof feature_bits / sizeof feature_bits[0]; i++) {
        const struct feature_bit *f = &feature_bits[i];
        unsigned a = 0, b = 0, c = 0, d = 0;
        if (!__get_cpuid_count(f->leaf, f->subleaf, &a, &b, &c, &d))
            continue;
        unsigned reg = f->reg == 'a' ? a : f->reg == 'b' ? b : f->reg == 'c' ? c : d;
        if (reg >> f->bit & 1)
            found |= f->feature;
    }
    return found;
}

static void brand(struct cs_machine *m)
{
    unsigned r[12] = {0}, a, b, c, d;
    if (__get_cpuid(0, &a, &b, &c, &d))
        m->vendor = b == signature_INTEL_ebx                                 ? CS_MACHINE_INTEL
                    : b == signature_AMD_ebx || b == 0x6f677948 /* "Hygo" */ ? CS_MACHINE_AMD
                                                                             : CS_MACHINE_OTHER;
    for (unsigned i = 0; i < 3; i++)
        if (!__get_cpuid(0x80000002 + i, &r[4 * i], &r[4 * i + 1], &r[4 * i + 2], &r[4 * i + 3]))
            return;
    char text[49] = {0};
    memcpy(text, r, 48);
    snprintf(m->stated, sizeof m->stated, "%s", text + strspn(text, " "));
}

/* A first level that is stated without a second is the last. 0 in the upper half of 0x80000006: the lower is of both kinds. */
static void tlbs_amd(struct cs_machine *m)
{
    unsigned a, b, c, d;
    if (__get_cpuid(0x80000005, &a, &b, &c, &d) && (b >> 16 & 0xff)) {
        m->dtlb_entries = m->stlb_entries = b >> 16 & 0xff;
        m->itlb_entries = b & 0xff;
    }
    if (__get_cpuid(0x80000006, &a, &b, &c, &d) && b)
        m->stlb_entries = (b >> 16 ? b >> 16 : b) & 0xfff;
}

/* Leaf 18H: one sub-leaf a structure. d[4:0] type (1 data, 2 instruction, 3 unified), d[7:5] level, b[31:16]
 * ways, c sets, b[0] small pages. */
static void tlbs_intel(struct cs_machine *m)
{
    unsigned a, b, c, d, last, first = 0, second = 0;
    if (!__get_cpuid_count(0x18, 0, &last, &b, &c, &d))
        return;
    for (unsigned i = 0; i <= last && i < 32; i++) {
        if (!__get_cpuid_count(0x18, i, &a, &b, &c, &d) || !(b & 1))
            continue;
        unsigned type = d & 31, level = d >> 5 & 7, entries = (b >> 16) * c;
        if (level == 1 && type == 1)
            m->dtlb_entries = first = entries;
        else if (level == 1 && type == 2)
            m->itlb_entries = entries;
        else if (level == 2 && (type == 3 || type == 1))
            second = entries;
    }
    if (first || second)
        m->stlb_entries = second ? second : first;
}

void arch_cpu(struct cs_machine *m)
{
    brand(m);
    m->features = cpu_features();
    if (m->vendor == CS_MACHINE_AMD)
        tlbs_amd(m);
    else if (m->vendor == CS_MACHINE_INTEL)
        tlbs_intel(m);
    snprintf(m->cpu, sizeof m->cpu, "%s", cs_machine_models(m->vendor, m->features)[0]);
}
