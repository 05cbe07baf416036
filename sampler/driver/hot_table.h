/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The (PID, PC, EVENT) table: set-associative, four ways, one cache line a bucket. dcpi-1997 sections 4.2.1
 * and 5.4. Shape and replacement chosen by bench/table-simulator. Shared by the BPF program, the ring driver
 * and the simulator, so it holds plain structs and arithmetic only.
 *
 *   entry, 16 bytes
 *   63        53 52   49 48 47                                  0   31        0   31        0
 *  +------------+-------+-+--------------------------------------+ +-----------+ +-----------+
 *  | generation | event |k| pc                                   | | pid       | | count     |
 *  +------------+-------+-+--------------------------------------+ +-----------+ +-----------+
 *    11 bits      4      1  48: user, or the low 48 of a kernel address      count 0 = free
 *
 * The generation distinguishes two programs that ran under one PID (exec, PID reuse). It counts the forks
 * and execs of the PIDs that share a slot of cs_generation. */
#pragma once

#include <linux/types.h>

#define CS_HOT_WAYS 4
#define CS_HOT_PC_BITS 48
#define CS_HOT_EVENT_BITS 4
#define CS_HOT_GENERATION_BITS 11
#define CS_HOT_PC_MASK ((1ULL << CS_HOT_PC_BITS) - 1)
#define CS_HOT_KERNEL (1ULL << CS_HOT_PC_BITS)
#define CS_HOT_EVENT_SHIFT (CS_HOT_PC_BITS + 1)
#define CS_HOT_GENERATION_SHIFT (CS_HOT_EVENT_SHIFT + CS_HOT_EVENT_BITS)
#define CS_HOT_GENERATION_MASK ((1U << CS_HOT_GENERATION_BITS) - 1)
#define CS_GENERATION_SLOTS 65536 /* PID & (slots - 1) */

struct cs_hot_entry {
    __u64 key;
    __u32 pid;
    __u32 count;
};

struct cs_hot_bucket {
    struct cs_hot_entry way[CS_HOT_WAYS];
};

static inline __u64 cs_hot_key(__u64 pc, int kernel, __u32 event, __u32 generation)
{
    return (pc & CS_HOT_PC_MASK) | (kernel ? CS_HOT_KERNEL : 0) | ((__u64)event << CS_HOT_EVENT_SHIFT) |
           ((__u64)generation << CS_HOT_GENERATION_SHIFT);
}
static inline __u64 cs_hot_pc(__u64 key)
{
    return (key & CS_HOT_KERNEL) ? (key & CS_HOT_PC_MASK) | ~CS_HOT_PC_MASK : key & CS_HOT_PC_MASK;
}
static inline __u32 cs_hot_event(__u64 key)
{
    return (__u32)(key >> CS_HOT_EVENT_SHIFT) & ((1U << CS_HOT_EVENT_BITS) - 1);
}
static inline __u32 cs_hot_generation(__u64 key)
{
    return (__u32)(key >> CS_HOT_GENERATION_SHIFT);
}

/* Where 64 bytes of code lie is hashed (Fibonacci); within them each 8 bytes have a bucket, side by side, so
 * that a hot loop stays within few lines and pages of the table. PIDs are spread over the buckets so that the
 * same library hot in many processes does not meet in one. */
static inline __u32 cs_hot_hash(__u64 key, __u32 pid)
{
    __u64 block = (key >> 6) ^ ((__u64)pid << 32) ^ pid;
    return (__u32)((block * 0x9E3779B97F4A7C15ULL) >> 40) << 3 | ((key >> 3) & 7);
}

/* Counts a sample. True when another entry had to go: it is in *evicted. `turn` is the round-robin state of
 * the table. A hit costs one line. */
static inline int cs_hot_add(struct cs_hot_bucket *bucket, __u32 *turn, __u64 key, __u32 pid,
                             struct cs_hot_entry *evicted)
{
    struct cs_hot_entry *victim = 0;
#ifdef __clang__
#pragma unroll
#endif
    for (int w = 0; w < CS_HOT_WAYS; w++) {
        struct cs_hot_entry *e = &bucket->way[w];
        if (e->key == key && e->pid == pid && e->count) {
            if (e->count != ~0U) {
                e->count++;
                return 0;
            }
            victim = e;
            break;
        } else if (!e->count) {
            victim = e;
            break;
        }
    }
    if (!victim)
        victim = &bucket->way[(*turn)++ & (CS_HOT_WAYS - 1)];
    *evicted = *victim;
    victim->key = key;
    victim->pid = pid;
    victim->count = 1;
    return evicted->count != 0;
}
