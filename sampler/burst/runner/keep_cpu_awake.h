/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps the CPU of a stopped thread out of idle, and the runner off that CPU. */
#ifndef CS_SAMPLER_BURST_RUNNER_KEEP_CPU_AWAKE_H
#define CS_SAMPLER_BURST_RUNNER_KEEP_CPU_AWAKE_H

#include <stdbool.h>
#include <stdint.h>

void idle_keeper_place(uint32_t cpu, bool keep); /* beforehand: the CPU that the thread runs on */
void idle_keeper_begin(void);                    /* the thread stands */
void idle_keeper_end(void);                      /* it will run again at once */
bool idle_keeper_elsewhere(void);                /* are we on another CPU? Else it can't run while we do */
/* Reading the thread's pages there, between those two; false: nobody does. */
#define CACHE_WARMING_PAGES_MAX 256
bool idle_keeper_read_begin(int32_t tid);
void idle_keeper_read(uint64_t page); /* at most CACHE_WARMING_PAGES_MAX; returns at once */
uint32_t idle_keeper_unread(void);    /* how many are not read yet */

/* Its pieces, seen by tests alone. */
struct idle_keeper {
    bool placed, turning;     /* turning: in this burst */
    unsigned alone;           /* bursts that the CPU is left alone for */
    uint32_t asked, answered; /* pages; shared with the thread that turns */
    long displaced;           /* how often others took the runner's CPU, when the burst began */
    volatile int32_t tid;     /* of the thread that turns */
};
extern struct idle_keeper idle_keeper;
void idle_keeper_read_some(void); /* what the thread that turns does again and again */

#endif
