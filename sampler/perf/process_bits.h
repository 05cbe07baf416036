/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A bit for each process number that there can be, 512 KB: what BPF programs and their reader share. */
#ifndef CS_SAMPLER_PERF_PROCESS_BITS_H
#define CS_SAMPLER_PERF_PROCESS_BITS_H

#include <linux/types.h>

#define CS_PROCESS_WORDS 65536U /* of 64: Linux has no more than 4,194,304 (PID_MAX_LIMIT) */

static inline __u32 cs_process_word(__u32 pid)
{
    return pid / 64 & (CS_PROCESS_WORDS - 1);
}
static inline __u64 cs_process_bit(__u32 pid)
{
    return 1ULL << (pid & 63);
}

#endif
