/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the BPF program and its reader share. All of it is mmapped: the reader makes no system call on a map,
 * because those lose samples on their CPU without a word. */
#pragma once

#include "sampler/driver/hot_table.h"

#define CS_AGGREGATE_CPUS 512 /* power of two */
#define CS_AGGREGATE_EVENTS 16
#define CS_AGGREGATE_LOG 8192       /* evicted entries a CPU, power of two */
#define CS_AGGREGATE_BEGUN_LOG 8192 /* forks and execs a CPU, power of two */

/* One CPU's state: the handler's line, then the reader's. A table has two halves: the handler counts in one
 * while the reader empties the other. */
struct cs_aggregate_cpu {
    __u32 turn; /* round robin of the evictions */
    __u32 padding;
    __u64 log_head;  /* entries ever evicted */
    __u64 delivered; /* samples ever taken */
    __u64 lost;      /* samples of entries that found the log full */
    __u64 begun_head;
    __u64 begun_lost;
    struct cs_aggregate_event {
        __u64 samples, periods;              /* how many, and the sum of their periods */
    } events[CS_AGGREGATE_EVENTS];           /* only with a filter */
    __u32 half __attribute__((aligned(64))); /* written by the reader */
    __u32 padding2;
    __u64 log_tail, begun_tail;
};

/* A generation began: see generations.h. */
struct cs_aggregate_begun {
    __u64 time_ns;
    __u32 slot, number;
};
