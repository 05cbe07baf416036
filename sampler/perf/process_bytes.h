/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A byte for each process number that there can be, 4 MB: what BPF programs and their reader share. A byte is written without
 * its neighbours; kernels before 5.12 change no single bit in BPF programs. */
#pragma once

#include <linux/types.h>

#define CS_PROCESS_WORDS 524288U /* of 8: Linux has no more than 4,194,304 (PID_MAX_LIMIT) */

static inline __u32 cs_process_word(__u32 pid)
{
    return pid / 8 & (CS_PROCESS_WORDS - 1);
}
/* Its bits in that word. */
static inline __u64 cs_process_bit(__u32 pid)
{
    return 0xffULL << (pid & 7) * 8;
}
/* Its byte in that word. */
static inline volatile __u8 *cs_process_byte(__u64 *word, __u32 pid)
{
    return (volatile __u8 *)word + (pid & 7);
}
