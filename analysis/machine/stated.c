/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A machine that only stated what it is, as perf writes it into a recording: "GenuineIntel,6,60,3" and the processor's
 * name. The recorded machine's word is all there is, so here it counts; a virtual machine's may be false. Families and
 * models: Intel's Software Developer's Manual volume 4, table 2-1; AMD's revision guides. Instruction sets and caches
 * of each core: the vendors' optimisation guides. */
#include "analysis/machine/machine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AVX2_CORE (CS_MACHINE_HAS_SSE42 | CS_MACHINE_HAS_AVX | CS_MACHINE_HAS_F16C | CS_MACHINE_HAS_AVX2)
#define SKYLAKE (AVX2_CORE | CS_MACHINE_HAS_ADX | CS_MACHINE_HAS_CLFLUSHOPT)
#define SKYLAKE_SERVER (SKYLAKE | CS_MACHINE_HAS_AVX512F | CS_MACHINE_HAS_CLWB)
#define ICELAKE                                                                                              \
    (SKYLAKE_SERVER | CS_MACHINE_HAS_AVX512_VNNI | CS_MACHINE_HAS_AVX512_VBMI2 | CS_MACHINE_HAS_VAES)
#define SAPPHIRE (ICELAKE | CS_MACHINE_HAS_AVX512_BF16 | CS_MACHINE_HAS_AVX512_FP16 | CS_MACHINE_HAS_AMX)
#define ZEN1 (AVX2_CORE | CS_MACHINE_HAS_ADX | CS_MACHINE_HAS_CLFLUSHOPT | CS_MACHINE_HAS_CLZERO)
#define ZEN2 (ZEN1 | CS_MACHINE_HAS_CLWB)
#define ZEN3 (ZEN2 | CS_MACHINE_HAS_VAES)
#define ZEN4 (ZEN3 | CS_MACHINE_HAS_AVX512F | CS_MACHINE_HAS_AVX512_VNNI | CS_MACHINE_HAS_AVX512_BF16)
#define ZEN5 (ZEN4 | CS_MACHINE_HAS_AVX_VNNI | CS_MACHINE_HAS_VP2INTERSECT)

static const struct core {
    enum cs_machine_vendor vendor;
    unsigned family, first, last; /* models */
    uint32_t features;
    unsigned l1d_kb, l2_kb;
} cores[] = {
    {CS_MACHINE_INTEL, 6, 42, 42, CS_MACHINE_HAS_SSE42 | CS_MACHINE_HAS_AVX, 32, 256},
    {CS_MACHINE_INTEL, 6, 45, 45, CS_MACHINE_HAS_SSE42 | CS_MACHINE_HAS_AVX, 32, 256},
    {CS_MACHINE_INTEL, 6, 58, 58, CS_MACHINE_HAS_SSE42 | CS_MACHINE_HAS_AVX | CS_MACHINE_HAS_F16C, 32, 256},
    {CS_MACHINE_INTEL, 6, 62, 62, CS_MACHINE_HAS_SSE42 | CS_MACHINE_HAS_AVX | CS_MACHINE_HAS_F16C, 32, 256},
    {CS_MACHINE_INTEL, 6, 60, 60, AVX2_CORE, 32, 256},
    {CS_MACHINE_INTEL, 6, 63, 63, AVX2_CORE, 32, 256},
    {CS_MACHINE_INTEL, 6, 69, 70, AVX2_CORE, 32, 256},
    {CS_MACHINE_INTEL, 6, 61, 61, AVX2_CORE | CS_MACHINE_HAS_ADX, 32, 256},
    {CS_MACHINE_INTEL, 6, 71, 71, AVX2_CORE | CS_MACHINE_HAS_ADX, 32, 256},
    {CS_MACHINE_INTEL, 6, 79, 79, AVX2_CORE | CS_MACHINE_HAS_ADX, 32, 256},
    {CS_MACHINE_INTEL, 6, 86, 86, AVX2_CORE | CS_MACHINE_HAS_ADX, 32, 256},
    {CS_MACHINE_INTEL, 6, 85, 85, SKYLAKE_SERVER, 32, 1024},
    {CS_MACHINE_INTEL, 6, 78, 78, SKYLAKE, 32, 256},
    {CS_MACHINE_INTEL, 6, 94, 94, SKYLAKE, 32, 256},
    {CS_MACHINE_INTEL, 6, 142, 142, SKYLAKE, 32, 256},
    {CS_MACHINE_INTEL, 6, 158, 158, SKYLAKE, 32, 256},
    {CS_MACHINE_INTEL, 6, 165, 166, SKYLAKE, 32, 256},
    {CS_MACHINE_INTEL, 6, 106, 106, ICELAKE, 48, 1280},
    {CS_MACHINE_INTEL, 6, 108, 108, ICELAKE, 48, 1280},
    {CS_MACHINE_INTEL, 6, 125, 126, ICELAKE, 48, 512},
    {CS_MACHINE_INTEL, 6, 140, 141, ICELAKE | CS_MACHINE_HAS_VP2INTERSECT, 48, 1280},
    {CS_MACHINE_INTEL, 6, 143, 143, SAPPHIRE, 48, 2048},
    {CS_MACHINE_INTEL, 6, 207, 207, SAPPHIRE, 48, 2048},
    {CS_MACHINE_INTEL, 6, 151, 151, SKYLAKE | CS_MACHINE_HAS_AVX_VNNI, 48, 1280},
    {CS_MACHINE_INTEL, 6, 154, 154, SKYLAKE | CS_MACHINE_HAS_AVX_VNNI, 48, 1280},
    {CS_MACHINE_INTEL, 6, 183, 183, SKYLAKE | CS_MACHINE_HAS_AVX_VNNI, 48, 2048},
    {CS_MACHINE_AMD, 23, 0, 47, ZEN1, 32, 512},
    {CS_MACHINE_AMD, 23, 48, 255, ZEN2, 32, 512},
    {CS_MACHINE_AMD, 25, 0, 15, ZEN3, 32, 512},
    {CS_MACHINE_AMD, 25, 32, 95, ZEN3, 32, 512},
    {CS_MACHINE_AMD, 25, 16, 31, ZEN4, 32, 1024},
    {CS_MACHINE_AMD, 25, 96, 175, ZEN4, 32, 1024},
    {CS_MACHINE_AMD, 26, 0, 255, ZEN5, 48, 1024},
};

#define NOMINAL_HZ 3e9 /* where the name doesn't say it: some 2.2 to 4.5 were sold */

int cs_machine_from_stated(const char *cpuid, const char *name, struct cs_machine *out)
{
    char vendor[13];
    unsigned family, model;
    cs_machine_default(out);
    if (sscanf(cpuid, "%12[A-Za-z],%u,%u", vendor, &family, &model) != 3)
        return -EINVAL;
    out->vendor = !strcmp(vendor, "GenuineIntel")   ? CS_MACHINE_INTEL
                  : !strcmp(vendor, "AuthenticAMD") ? CS_MACHINE_AMD
                                                    : CS_MACHINE_OTHER;
    snprintf(out->stated, sizeof out->stated, "%.63s", *name ? name : cpuid);
    const char *at = strrchr(name, '@'); /* "Intel(R) Core(TM) i7-4790 CPU @ 3.60GHz" */
    double ghz = at ? strtod(at + 1, NULL) : 0;
    out->core_hz = ghz > 0.1 && ghz < 10 ? ghz * 1e9 : NOMINAL_HZ;
    for (size_t i = 0; i < sizeof cores / sizeof cores[0]; i++) {
        const struct core *c = &cores[i];
        if (c->vendor != out->vendor || c->family != family || model < c->first || model > c->last)
            continue;
        out->features = c->features;
        out->l1d.bytes = c->l1d_kb * 1024ull;
        out->l2.bytes = c->l2_kb * 1024ull;
        snprintf(out->cpu, sizeof out->cpu, "%s", cs_machine_models(out->vendor, out->features)[0]);
        return 0;
    }
    return -ENOENT;
}
