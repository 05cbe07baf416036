/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a processor recorded about one access to memory (Intel's PEBS with load latency, AMD's IBS, Arm's SPE). It goes
 * from the bits of union perf_mem_data_src (linux/perf_event.h) to the words of cs_schema_accesses. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* "" where they don't say. */
const char *cs_data_source_op(uint64_t data_source);
const char *cs_data_source_level(uint64_t data_source);
/* False: the kernel fills it with "not available", as it does for timers. */
bool cs_data_source_tells(uint64_t source);
bool cs_data_source_missed_tlb(uint64_t data_source);
