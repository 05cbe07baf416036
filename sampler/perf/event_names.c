/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/perf/event_names.h"

#include <assert.h>
#include <perfmon/pfmlib_perf_event.h>
#include <stdio.h>
#include <string.h>

#if defined(__x86_64__)
#define ANY_THREAD_BIT ((__u64)1 << 21) /* of an event on Intel, where libpfm4 itself takes `t` */
#else
#define ANY_THREAD_BIT ((__u64)0)
#endif
#define NAME_MAX_BYTES 96

struct modifiers {
    bool user, kernel, hypervisor, any_thread;
    unsigned precise;
};

/* Takes the modifiers off the end of `name`; false where its last word is something else. */
static bool take_modifiers(char *name, struct modifiers *m)
{
    char *last = strrchr(name, ':');
    if (!last || last == name || last[-1] == ':' || !last[1] || strspn(last + 1, "ukhpt") != strlen(last + 1))
        return false;
    for (const char *at = last + 1; *at; at++) {
        m->user |= *at == 'u';
        m->kernel |= *at == 'k';
        m->hypervisor |= *at == 'h';
        m->any_thread |= *at == 't';
        m->precise += *at == 'p';
    }
    *last = '\0';
    return true;
}

static int encode_as(const char *name, struct perf_event_attr *attr)
{
    pfm_perf_encode_arg_t arg = {.attr = attr, .size = sizeof arg};
    memset(attr, 0, sizeof *attr);
    attr->size = sizeof *attr;
    return pfm_get_os_event_encoding(name, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT_EXT, &arg);
}

/* Names that processors' manuals and perf have, and libpfm4 under another one; the first that it knows counts. */
static const struct {
    const char *name, *as;
} other_names[] = {
    {"INST_RETIRED:ANY", "INST_RETIRED:ANY_P"},
    {"CPU_CLK_UNHALTED:THREAD", "CPU_CLK_UNHALTED:THREAD_P"},
    {"CPU_CLK_UNHALTED:THREAD", "CPU_CLK_UNHALTED"},
    {"CPU_CLK_UNHALTED:CORE", "CPU_CLK_UNHALTED"},
    {"LLC-misses", "perf::cache-misses"},
    {"LLC_MISSES", "perf::cache-misses"},
    {"LLC-references", "perf::cache-references"},
    {"LLC_REFERENCES", "perf::cache-references"},
};

static int encode_base(const char *name, struct perf_event_attr *attr)
{
    char other[NAME_MAX_BYTES + 8];
    int rc = encode_as(name, attr);
    if (rc == PFM_SUCCESS)
        return rc;
    /* "cycles" is the kernel's generic event where libpfm4 doesn't know the processor. */
    snprintf(other, sizeof other, "perf::%s", name);
    if (encode_as(other, attr) == PFM_SUCCESS)
        return PFM_SUCCESS;
    snprintf(other, sizeof other, "%s", name); /* perf has points where libpfm4 has colons */
    for (char *at = other; (at = strchr(at, '.'));)
        *at = ':';
    if (strcmp(other, name) != 0 && encode_as(other, attr) == PFM_SUCCESS)
        return PFM_SUCCESS;
    for (size_t i = 0; i < sizeof other_names / sizeof other_names[0]; i++)
        if (strcasecmp(other_names[i].name, other) == 0 && encode_as(other_names[i].as, attr) == PFM_SUCCESS)
            return PFM_SUCCESS;
    return rc;
}

int cs_event_encode(const char *name, struct perf_event_attr *attr, bool *any_thread)
{
    char base[NAME_MAX_BYTES];
    struct modifiers m = {0};
    int rc = pfm_initialize();
    *any_thread = false;
    if (rc != PFM_SUCCESS)
        return rc;
    snprintf(base, sizeof base, "%s", name);
    while (take_modifiers(base, &m))
        ;
    rc = encode_base(base, attr);
    if (rc == PFM_SUCCESS) {
        if (m.user || m.kernel || m.hypervisor) {
            attr->exclude_user = !m.user;
            attr->exclude_kernel = !m.kernel;
            attr->exclude_hv = !m.hypervisor;
        }
        if (m.precise)
            attr->precise_ip = (m.precise < 3 ? m.precise : 3) & 3;
        *any_thread = m.any_thread;
    } else {
        rc = encode_base(name, attr); /* what looks like a modifier is libpfm4's */
        *any_thread = rc == PFM_SUCCESS && attr->type == PERF_TYPE_RAW && (attr->config & ANY_THREAD_BIT);
        attr->config &= ~(*any_thread ? ANY_THREAD_BIT : 0);
    }
    return rc;
}

/* ---- all of them ---- */

/* What the kernel's generic events count (perf_event_open(2)); libpfm4 repeats their names. */
static const struct {
    const char *name, *meaning;
} generic[] = {
    {"cycles", "cycles in which the CPU wasn't halted"},
    {"instructions", "retired instructions"},
    {"ref-cycles", "the same cycles at a constant rate, whatever the clock"},
    {"cache-references", "accesses to the last level of caches (Intel; other processors: some level)"},
    {"cache-misses", "accesses that missed the last level (Intel; AMD: the second, Arm: the first)"},
    {"branches", "retired branches"},
    {"branch-misses", "retired branches that were mispredicted"},
    {"bus-cycles", "cycles of the bus"},
    {"stalled-cycles-frontend", "cycles without instructions to issue"},
    {"stalled-cycles-backend", "cycles that waited for results or units"},
    {"cpu-clock", "time of a CPU, ns"},
    {"task-clock", "time that a thread had a CPU, ns"},
    {"page-faults", "page faults"},
    {"minor-faults", "page faults without a read from disk"},
    {"major-faults", "page faults with a read from disk"},
    {"context-switches", "context switches"},
    {"cpu-migrations", "moves of a thread to another CPU"},
    {"alignment-faults", "accesses that the kernel aligned"},
    {"emulation-faults", "instructions that the kernel emulated"},
    {"cgroup-switches", "context switches to another cgroup"},
    {"l1-dcache-loads", "loads"},
    {"l1-dcache-load-misses", "loads that missed the first level (Intel: lines brought in)"},
    {"l1-icache-load-misses", "fetches that missed the instruction cache"},
    {"llc-loads", "loads that reached the last level"},
    {"llc-load-misses", "loads that missed the last level"},
    {"dtlb-loads", "loads that asked the data TLB"},
    {"dtlb-load-misses", "loads that missed the data TLB"},
    {"dtlb-store-misses", "stores that missed the data TLB"},
    {"itlb-load-misses", "fetches that missed the instruction TLB"},
    {"branch-loads", "branches"},
    {"branch-load-misses", "branches that missed the branch unit"},
    {"node-loads", "loads from this node's memory"},
    {"node-load-misses", "loads from another node's memory"},
};

static int each_generic(int (*visit)(void *, const char *, const char *), void *arg)
{
    int rc = 0;
    for (size_t i = 0; rc >= 0 && i < sizeof generic / sizeof generic[0]; i++)
        rc = visit(arg, generic[i].name, generic[i].meaning);
    return rc;
}

static int each_mask(const char *unit, int event, const pfm_event_info_t *info,
                     int (*visit)(void *, const char *, const char *), void *arg)
{
    int rc = 0, masks = 0;
    char name[256], meaning[512];
    pfm_event_attr_info_t mask;
    for (int a = 0; rc >= 0 && a < info->nattrs; a++) {
        memset(&mask, 0, sizeof mask);
        mask.size = sizeof mask;
        if (pfm_get_event_attr_info(event, a, PFM_OS_PERF_EVENT_EXT, &mask) != PFM_SUCCESS ||
            mask.type != PFM_ATTR_UMASK)
            continue;
        masks++;
        snprintf(name, sizeof name, "%s::%s:%s", unit, info->name, mask.name);
        snprintf(meaning, sizeof meaning, "%s: %s", info->desc ? info->desc : "", mask.desc ? mask.desc : "");
        rc = visit(arg, name, meaning);
    }
    snprintf(name, sizeof name, "%s::%s", unit, info->name);
    return masks ? rc : visit(arg, name, info->desc ? info->desc : "");
}

int cs_event_names_each(int (*visit)(void *arg, const char *name, const char *meaning), void *arg)
{
    assert(visit);
    int rc = pfm_initialize() == PFM_SUCCESS ? each_generic(visit, arg) : -1;
    for (pfm_pmu_t unit = PFM_PMU_NONE; rc >= 0 && unit < PFM_PMU_MAX; unit++) {
        pfm_pmu_info_t about = {.size = sizeof about};
        if (pfm_get_pmu_info(unit, &about) != PFM_SUCCESS || !about.is_present ||
            strncmp(about.name, "perf", 4) == 0)
            continue;
        for (int i = about.first_event; rc >= 0 && i != -1; i = pfm_get_event_next(i)) {
            pfm_event_info_t event = {.size = sizeof event};
            if (pfm_get_event_info(i, PFM_OS_PERF_EVENT_EXT, &event) == PFM_SUCCESS)
                rc = each_mask(about.name, i, &event, visit, arg);
        }
    }
    return rc;
}
