/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "observer/source/core_events.h"
#include "observer/source/arch.h"

#define EVENT_OF(config) ((config)&0xff)
#define THRESHOLD_OF(config) ((config) >> 24 & 0xff)
#define UNHALTED_CYCLES 0x3c  /* the core's and the bus's, by the unit mask */
#define REFERENCE_CYCLES 0x00 /* the kernel's number of the fixed counter */

static const __u64 architectural[] = {
    [PERF_COUNT_HW_CPU_CYCLES] = 0x003c,          [PERF_COUNT_HW_INSTRUCTIONS] = 0x00c0,
    [PERF_COUNT_HW_CACHE_REFERENCES] = 0x4f2e,    [PERF_COUNT_HW_CACHE_MISSES] = 0x412e,
    [PERF_COUNT_HW_BRANCH_INSTRUCTIONS] = 0x00c4, [PERF_COUNT_HW_BRANCH_MISSES] = 0x00c5,
    [PERF_COUNT_HW_BUS_CYCLES] = 0x013c,
};

bool cs_core_event(struct perf_event_attr *attr)
{
    if (attr->type == PERF_TYPE_HARDWARE && attr->config < sizeof architectural / sizeof architectural[0] &&
        architectural[attr->config]) {
        attr->type = PERF_TYPE_RAW;
        attr->config = architectural[attr->config];
    }
    if (attr->type != PERF_TYPE_RAW || !CS_PMC_ANY_THREAD)
        return false;
    attr->config |= CS_PMC_ANY_THREAD;
    return true;
}

bool cs_core_event_is_sum(const struct perf_event_attr *attr)
{
    return EVENT_OF(attr->config) != UNHALTED_CYCLES && EVENT_OF(attr->config) != REFERENCE_CYCLES &&
           THRESHOLD_OF(attr->config) == 0;
}
