/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Choice of the scheduling model and the JSON form: pure. Instruction sets by core: Intel's and AMD's
 * manuals. */
#include "analysis/machine/machine.h"

#include <assert.h>
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct model_rule {
    enum cs_machine_vendor vendor;
    uint32_t needs;
    const char *models[8]; /* best first; the later ones for an older llvm-mca */
};

/* First match wins: newest cores first. */
static const struct model_rule rules[] = {
    {CS_MACHINE_INTEL, CS_MACHINE_HAS_AMX, {"sapphirerapids", "icelake-server", "skylake-avx512", "skylake"}},
    {CS_MACHINE_INTEL,
     CS_MACHINE_HAS_AVX512_FP16,
     {"sapphirerapids", "icelake-server", "skylake-avx512", "skylake"}},
    {CS_MACHINE_INTEL,
     CS_MACHINE_HAS_VP2INTERSECT,
     {"tigerlake", "icelake-client", "skylake-avx512", "skylake"}},
    {CS_MACHINE_INTEL, CS_MACHINE_HAS_AVX512_VBMI2, {"icelake-server", "skylake-avx512", "skylake"}},
    {CS_MACHINE_INTEL, CS_MACHINE_HAS_AVX_VNNI, {"alderlake", "skylake"}},
    {CS_MACHINE_INTEL,
     CS_MACHINE_HAS_AVX512_BF16,
     {"cooperlake", "cascadelake", "skylake-avx512", "skylake"}},
    {CS_MACHINE_INTEL, CS_MACHINE_HAS_AVX512_VNNI, {"cascadelake", "skylake-avx512", "skylake"}},
    {CS_MACHINE_INTEL, CS_MACHINE_HAS_AVX512F, {"skylake-avx512", "skylake"}},
    {CS_MACHINE_INTEL, CS_MACHINE_HAS_CLFLUSHOPT | CS_MACHINE_HAS_AVX2, {"skylake", "broadwell", "haswell"}},
    {CS_MACHINE_INTEL, CS_MACHINE_HAS_ADX, {"broadwell", "haswell"}},
    {CS_MACHINE_INTEL, CS_MACHINE_HAS_AVX2, {"haswell"}},
    {CS_MACHINE_INTEL, CS_MACHINE_HAS_F16C, {"ivybridge", "sandybridge"}},
    {CS_MACHINE_INTEL, CS_MACHINE_HAS_AVX, {"sandybridge"}},
    {CS_MACHINE_AMD, CS_MACHINE_HAS_AVX512F | CS_MACHINE_HAS_AVX_VNNI, {"znver5", "znver4", "znver3"}},
    {CS_MACHINE_AMD, CS_MACHINE_HAS_AVX512F, {"znver4", "znver3"}},
    {CS_MACHINE_AMD, CS_MACHINE_HAS_VAES, {"znver3", "znver2"}},
    {CS_MACHINE_AMD, CS_MACHINE_HAS_CLWB, {"znver2", "znver1"}},
    {CS_MACHINE_AMD, CS_MACHINE_HAS_CLZERO, {"znver1"}},
    {CS_MACHINE_AMD, CS_MACHINE_HAS_AVX, {"bdver2"}},
};

const char *const *cs_machine_models(enum cs_machine_vendor vendor, uint32_t features)
{
    static const char *const generic[] = {"x86-64-v2", "x86-64", NULL};
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (rules[i].vendor == vendor && (features & rules[i].needs) == rules[i].needs)
            return rules[i].models;
    return generic;
}

void cs_machine_default(struct cs_machine *out)
{
    *out = (struct cs_machine){
        .line_bytes = 64,
        .page_bytes = 4096,
        .l1i_bytes = 32768,
        .l1d = {32768, 5},
        .l2 = {1 << 20, 15},
        .l3 = {32 << 20, 60},
        .memory_cycles = 350,
        .walk_cycles = 30,
        .dtlb_entries = 64,
        .stlb_entries = 2048,
        .itlb_entries = 64,
        .store_buffer = 64,
        .mispredict_cycles = {10, 30},
    };
}

double cs_machine_ladder(const struct cs_machine *m, double bytes)
{
    assert(bytes >= 0);
    double step = log2(bytes / (double)CS_MACHINE_LADDER_BYTES(0));
    if (m->ladder_cycles[0] <= 0 || !(bytes > 0))
        return 0;
    if (step <= 0)
        return m->ladder_cycles[0];
    if (step >= CS_MACHINE_LADDER_STEPS - 1) /* further out: what 64 MB still hit is lost */
        return m->ladder_cycles[CS_MACHINE_LADDER_STEPS - 1] > m->memory_cycles
                   ? m->ladder_cycles[CS_MACHINE_LADDER_STEPS - 1]
                   : m->memory_cycles;
    int i = (int)step;
    return m->ladder_cycles[i] + (step - i) * (m->ladder_cycles[i + 1] - m->ladder_cycles[i]);
}

bool cs_machine_alike(const struct cs_machine *a, const struct cs_machine *b)
{
    return a->vendor == b->vendor && a->features == b->features && strcmp(a->stated, b->stated) == 0 &&
           a->l1d.bytes == b->l1d.bytes && a->l2.bytes == b->l2.bytes;
}

bool cs_machine_shared(const struct cs_machine *m, double between, double *least, double *most)
{
    enum { LAST = CS_MACHINE_SHARED_STEPS - 1 };
    assert(between >= 0);
    if (m->shared_most_cycles[LAST] <= 0)
        return false;
    int i = 0;
    while (i < LAST - 1 && between > CS_MACHINE_SHARED_BETWEEN(i + 1))
        i++;
    const double from = CS_MACHINE_SHARED_BETWEEN(i), to = CS_MACHINE_SHARED_BETWEEN(i + 1),
                 part = fmin(fmax((between - from) / (to - from), 0), 1);
    *least = m->shared_least_cycles[i] + part * (m->shared_least_cycles[i + 1] - m->shared_least_cycles[i]);
    *most = m->shared_most_cycles[i] + part * (m->shared_most_cycles[i + 1] - m->shared_most_cycles[i]);
    if (between > to)
        *least = 0;
    return true;
}

/* ---- JSON: a table of fields, so that writing and reading can't differ ---- */
enum field_type { NUMBER, U32, U64 };
struct field {
    const char *name;
    size_t at;
    enum field_type type;
};
#define FIELD(member, type)                                                                                  \
    {                                                                                                        \
#member, offsetof(struct cs_machine, member), type                                                   \
    }
static const struct field fields[] = {
    FIELD(features, U32),
    FIELD(core_hz, NUMBER),
    FIELD(tsc_hz, NUMBER),
    FIELD(line_bytes, U32),
    FIELD(page_bytes, U32),
    FIELD(l1i_bytes, U64),
    {"l1d_bytes", offsetof(struct cs_machine, l1d.bytes), U64},
    {"l1d_cycles", offsetof(struct cs_machine, l1d.latency_cycles), NUMBER},
    {"l2_bytes", offsetof(struct cs_machine, l2.bytes), U64},
    {"l2_cycles", offsetof(struct cs_machine, l2.latency_cycles), NUMBER},
    {"l3_bytes", offsetof(struct cs_machine, l3.bytes), U64},
    {"l3_cycles", offsetof(struct cs_machine, l3.latency_cycles), NUMBER},
    FIELD(memory_cycles, NUMBER),
    FIELD(walk_cycles, NUMBER),
    FIELD(huge_walk_cycles, NUMBER),
    FIELD(lock_cycles, NUMBER),
    FIELD(forward_cycles, NUMBER),
    FIELD(update_cycles, NUMBER),
    FIELD(divide_cycles, NUMBER),
    FIELD(divide_each_cycles, NUMBER),
    FIELD(dtlb_entries, U32),
    FIELD(stlb_entries, U32),
    FIELD(itlb_entries, U32),
    FIELD(store_buffer, U32),
};

static json_t *field_json(const struct cs_machine *machine, const struct field *f)
{
    const char *p = (const char *)machine + f->at;
    uint32_t u32;
    uint64_t u64;
    double number;
    switch (f->type) {
    case U32:
        memcpy(&u32, p, sizeof u32);
        return json_integer(u32);
    case U64:
        memcpy(&u64, p, sizeof u64);
        return json_integer((json_int_t)u64);
    case NUMBER:
        break;
    }
    memcpy(&number, p, sizeof number);
    return json_real(number);
}

static void field_set(struct cs_machine *machine, const struct field *f, const json_t *value)
{
    char *p = (char *)machine + f->at;
    double number = json_number_value(value);
    uint32_t u32;
    uint64_t u64;
    if (!json_is_number(value) || !(number >= 0 && number < 9e18) || (f->type == U32 && number > UINT32_MAX))
        return;
    u32 = f->type == U32 ? (uint32_t)number : 0;
    u64 = (uint64_t)number;
    switch (f->type) {
    case U32:
        memcpy(p, &u32, sizeof u32);
        break;
    case U64:
        memcpy(p, &u64, sizeof u64);
        break;
    case NUMBER:
        memcpy(p, &number, sizeof number);
        break;
    }
}

/* Lists of cycles. */
static const struct cycles_list {
    const char *name;
    size_t at, n;
} lists[] = {
    {"ladder_cycles", offsetof(struct cs_machine, ladder_cycles), CS_MACHINE_LADDER_STEPS},
    {"shared_least_cycles", offsetof(struct cs_machine, shared_least_cycles), CS_MACHINE_SHARED_STEPS},
    {"shared_most_cycles", offsetof(struct cs_machine, shared_most_cycles), CS_MACHINE_SHARED_STEPS},
};

static json_t *list_json(const struct cs_machine *machine, const struct cycles_list *list)
{
    json_t *values = json_array();
    double cycles;
    for (size_t i = 0; i < list->n; i++) {
        memcpy(&cycles, (const char *)machine + list->at + i * sizeof cycles, sizeof cycles);
        json_array_append_new(values, json_real(cycles));
    }
    return values;
}

static void list_set(struct cs_machine *machine, const struct cycles_list *list, const json_t *values)
{
    for (size_t i = 0; i < list->n; i++) {
        double cycles = json_number_value(json_array_get(values, i));
        cycles = cycles > 0 && cycles < 1e6 ? cycles : 0;
        memcpy((char *)machine + list->at + i * sizeof cycles, &cycles, sizeof cycles);
    }
}

int cs_machine_to_json(const struct cs_machine *machine, char *text, unsigned size)
{
    assert(size > 0);
    json_t *o = json_object();
    json_object_set_new(o, "stated", json_string(machine->stated));
    json_object_set_new(o, "cpu", json_string(machine->cpu));
    json_object_set_new(o, "vendor", json_integer(machine->vendor));
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        json_object_set_new(o, fields[i].name, field_json(machine, &fields[i]));
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        json_object_set_new(o, lists[i].name, list_json(machine, &lists[i]));
    size_t n = json_dumpb(o, text, size ? size - 1 : 0, JSON_COMPACT | JSON_REAL_PRECISION(10));
    json_decref(o);
    if (n == 0 || n >= size)
        return -ENOSPC;
    text[n] = 0;
    return (int)n;
}

int cs_machine_from_json(const char *text, struct cs_machine *out)
{
    cs_machine_default(out);
    json_t *o = json_loads(text, 0, NULL);
    if (!json_is_object(o)) {
        json_decref(o);
        return -EINVAL;
    }
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        field_set(out, &fields[i], json_object_get(o, fields[i].name));
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        list_set(out, &lists[i], json_object_get(o, lists[i].name));
    const char *stated = json_string_value(json_object_get(o, "stated"));
    const char *cpu = json_string_value(json_object_get(o, "cpu"));
    json_int_t vendor = json_integer_value(json_object_get(o, "vendor"));
    snprintf(out->stated, sizeof out->stated, "%s", stated ? stated : "");
    snprintf(out->cpu, sizeof out->cpu, "%s", cpu ? cpu : "");
    out->vendor = vendor == CS_MACHINE_INTEL || vendor == CS_MACHINE_AMD ? (enum cs_machine_vendor)vendor
                                                                         : CS_MACHINE_OTHER;
    if (out->line_bytes == 0)
        out->line_bytes = 64;
    if (out->page_bytes == 0)
        out->page_bytes = 4096;
    json_decref(o);
    return 0;
}
