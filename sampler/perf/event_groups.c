/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/perf/event_groups.h"
#include "sampler/perf/events.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SLOTS 5
#define CHOICES 6

/* The first slot is what the question is about; of the others what doesn't fit is left out. In each slot the first that the machine counts. Misses of
 * loads are those of retired loads, by the level that they missed: Intel's names since Sandy Bridge, then AMD's and Arm's,
 * then the kernel's. */
static const struct {
    const char *name, *meaning, *slots[SLOTS][CHOICES];
} groups[] = {
    {"@ipc", "instructions per cycle", {{"instructions"}, {"cycles"}}},
    {"@branches",
     "how many branches, and how many were mispredicted",
     {{"branch-misses"}, {"branches"}, {"instructions"}}},
    {"@caches",
     "loads that missed each level of the caches",
     {{"MEM_LOAD_RETIRED:L1_MISS", "MEM_LOAD_UOPS_RETIRED:L1_MISS", "L1-dcache-load-misses",
       "L1D_CACHE_REFILL"},
      {"MEM_LOAD_RETIRED:L2_MISS", "MEM_LOAD_UOPS_RETIRED:L2_MISS",
       "CORE_TO_L2_CACHEABLE_REQUEST_ACCESS_STATUS:LS_RD_BLK_C", "L2D_CACHE_REFILL"},
      {"MEM_LOAD_RETIRED:L3_MISS", "MEM_LOAD_UOPS_RETIRED:L3_MISS", "LLC-load-misses", "cache-misses"},
      {"MEM_LOAD_RETIRED:FB_HIT", "MEM_LOAD_UOPS_RETIRED:HIT_LFB"},
      {"instructions"}}},
    {"@tlb",
     "accesses that missed the TLBs",
     {{"DTLB_LOAD_MISSES:MISS_CAUSES_A_WALK", "dTLB-load-misses", "L1D_TLB_REFILL"},
      {"ITLB_MISSES:MISS_CAUSES_A_WALK", "iTLB-load-misses", "L1I_TLB_REFILL"},
      {"instructions"}}},
};
#define GROUPS (sizeof groups / sizeof groups[0])

const char *cs_event_group_name(unsigned i, const char **meaning)
{
    if (i >= GROUPS)
        return NULL;
    *meaning = groups[i].meaning;
    return groups[i].name;
}

struct together {
    int fds[2 * SLOTS];
    unsigned n;
};

/* Adds an event to those that are open, `copies` times, or not at all. */
static bool add(struct together *t, const char *name, unsigned copies)
{
    struct cs_event event;
    struct cs_error ignored;
    const unsigned before = t->n;
    if (cs_event_parse(name, &event, &ignored) < 0)
        return false;
    event.attr.exclude_kernel = event.attr.exclude_hv = 1; /* what anyone may count */
    event.attr.disabled = 0;
    for (unsigned i = 0; i < copies; i++) {
        int fd = (int)syscall(SYS_perf_event_open, &event.attr, 0, -1, t->n ? t->fds[0] : -1,
                              PERF_FLAG_FD_CLOEXEC);
        if (fd < 0) {
            while (t->n > before)
                close(t->fds[--t->n]);
            return false;
        }
        t->fds[t->n++] = fd;
    }
    return true;
}

int cs_event_group(const char *question, unsigned copies, const char *suffix, char *to, size_t size,
                   struct cs_error *err)
{
    assert(copies > 0 && size > 0);
    struct together t = {.n = 0};
    size_t used = 0, g = 0;
    copies = copies > 2 ? 2 : copies;
    while (g < GROUPS && strcmp(groups[g].name, question) != 0)
        g++;
    if (g == GROUPS)
        return cs_fail(err, EINVAL, "%s is no group of events; there are @ipc, @branches, @caches and @tlb",
                       question);
    *to = '\0';
    for (unsigned s = 0; s < SLOTS && (s == 0 || used); s++)
        for (unsigned c = 0; c < CHOICES && groups[g].slots[s][c]; c++) {
            const char *name = groups[g].slots[s][c];
            if (used + strlen(name) + strlen(suffix) + 2 < size && add(&t, name, copies)) {
                used += (size_t)snprintf(to + used, size - used, "%s%s%s", used ? "," : "", name, suffix);
                break;
            }
        }
    while (t.n)
        close(t.fds[--t.n]);
    return used ? 0
                : cs_fail(err, ENOENT,
                          "%s: this machine counts none of these events now; `cyclescope doctor` tells why",
                          question);
}
