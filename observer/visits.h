/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program whose threads keep their CPUs: the observer watches these CPUs one after the other.
 *
 * Each CPU on which the program has run or waits to run gets the same time from then on, in looks of random length. So a thread is
 * watched in proportion to the time that it runs, and shares are those of all its CPUs together. (CPUs chosen by who
 * runs at the moment would favour threads that run while others don't.) At each sample it knows the thread that runs
 * there, as with one CPU.
 *
 * For each look the observer moves next to the CPU: to the nearest one that the program doesn't use just then. Where it
 * uses all, a thread of the program has to wait or to go elsewhere meanwhile. */
#pragma once

#include <stdint.h>

struct cs_observation;

#define CS_VISITS_CPUS_MAX 1024

struct cs_visits {
    /* For which a CPU was watched; 0: the program was never seen there. */
    uint64_t cycles[CS_VISITS_CPUS_MAX];
};

/* Runs the loop until it is stopped; seen.visits has what came of it. 0 or negative errno. */
int cs_visits_run(struct cs_observation *o);
