/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps the CPU of a stopped thread out of idle, and the runner off that CPU. */
#pragma once

#include "sampler/burst/runner/boundary.h"

void idle_keeper_place(uint32_t cpu, bool keep); /* beforehand: the CPU that the thread runs on */
void idle_keeper_begin(void);                    /* the thread stands */
void idle_keeper_end(void);                      /* it will run again at once */
bool idle_keeper_elsewhere(void);                /* are we on another CPU? Else it can't run while we do */
/* Reading the thread's pages there, those that boundary->warm lists; false: nobody does. */
bool warming_begin(void);
bool warming_end(uint64_t until); /* TSC; waits; false: not all are read */

/* Its pieces, seen by tests alone. */
struct idle_keeper {
    bool placed, turning; /* turning: in this burst */
    unsigned alone;       /* bursts that the CPU is left alone for */
    uint32_t answered;    /* pages read; shared with the thread that turns */
    long displaced;       /* how often others took the runner's CPU, when the burst began */
    volatile int32_t tid; /* of the thread that turns */
};
extern struct idle_keeper idle_keeper;
extern struct warm_pages *idle_keeper_pages;
void idle_keeper_read_some(void); /* what the thread that turns does again and again */
