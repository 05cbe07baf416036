/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a processor told of single accesses to memory (Intel's PEBS with load latency, AMD's IBS, Arm's SPE), as
 * recordings of perf have it: how long the access took, and which memory answered. One profile an image and event, of
 * kind "accesses", beside the event's points.
 *
 * The processor picks the accesses, some of them only above a latency that was asked for: means are of those, and
 * not of all accesses of the instruction. Any thread. */
#ifndef CS_STORE_ACCESS_SCHEMA_H
#define CS_STORE_ACCESS_SCHEMA_H

#include "store/table.h"

/* Keys offset of the instruction, op ("load", "store", "prefetch", "" = not told), level ("L1", "LFB", "L2", "L3", "L4",
 * "memory", "remote memory", "remote cache", "I/O", "uncached", "" = not told). */
extern const struct cs_schema cs_schema_accesses;
enum cs_access_column {
    CS_ACCESS_OFFSET,
    CS_ACCESS_OP,
    CS_ACCESS_LEVEL,
    CS_ACCESS_SAMPLES,
    CS_ACCESS_TIMED,      /* of the samples, those with a latency */
    CS_ACCESS_CYCLES,     /* sum of their latencies */
    CS_ACCESS_TLB_MISSES, /* samples whose translation was not in the first TLB */
    CS_ACCESS_CYCLES_MAX,
    CS_ACCESS_N,
};

/* Of the bits of union perf_mem_data_src (linux/perf_event.h); "" where they don't say. */
const char *cs_access_op(uint64_t data_source);
const char *cs_access_level(uint64_t data_source);
bool cs_access_missed_tlb(uint64_t data_source);

#endif
