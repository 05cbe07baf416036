/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A simulation takes the earliest event out of a binary heap of 1,000 and puts in a later one. Which child is the
 * earlier one can't be predicted. Variant: chosen without a branch. */
#include "../kernels/kernel.h"

#define EVENTS 1023u

struct queue {
    uint64_t time[EVENTS + 2], seed;
    int branchless;
};

static HOT uint64_t next_events(void *argument)
{
    struct queue *q = argument;
    uint64_t *t = q->time, seed = q->seed, steps = 0;
    while (steps < ITERATIONS_A_CALL) {
        uint64_t later = t[1] + (next_random(&seed) & 0xffff);
        unsigned hole = 1;
        while (2 * hole + 1 <= EVENTS) {
            unsigned child = 2 * hole;
            if (q->branchless)
                child += (unsigned)((t[child + 1] - t[child]) >> 63);
            else if (t[child + 1] < t[child]) {
                child++;
                __asm__ volatile("" : "+r"(child));
            }
            steps++;
            if (t[child] >= later)
                break;
            t[hole] = t[child];
            hole = child;
        }
        t[hole] = later;
    }
    q->seed = seed;
    return steps;
}

int main(int argc, char **argv)
{
    static struct queue q = {.seed = 42};
    q.branchless = variant(argc, argv);
    for (unsigned i = 1; i <= EVENTS; i++)
        q.time[i] = i;
    return run_kernel("event_queue", argc, argv, next_events, &q);
}
