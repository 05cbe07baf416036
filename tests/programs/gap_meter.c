/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the world takes from a program: spins on the clock on one CPU and adds up the gaps.
 *   gap_meter CPU SECONDS [BUSY_MS IDLE_MS]     works BUSY_MS, then sleeps IDLE_MS (default: always works)
 * Prints "RAN_NS LOST_NS STEPS": time at work, lost in gaps of 1 to 100 us (interrupts; longer ones
 * are the scheduler's and the hypervisor's), steps of work done. */
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000ULL + (uint64_t)t.tv_nsec;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((unsigned)atoi(argv[1]), &set);
    sched_setaffinity(0, sizeof set, &set);
    uint64_t seconds = (uint64_t)(strtod(argv[2], NULL) * 1e9);
    uint64_t busy = argc > 4 ? (uint64_t)atoi(argv[3]) * 1000000 : UINT64_MAX;
    uint64_t idle = argc > 4 ? (uint64_t)atoi(argv[4]) * 1000 : 0;
    uint64_t ran = 0, lost = 0, steps = 0, end = now_ns() + seconds;
    for (uint64_t begin = now_ns(); begin < end; begin = now_ns()) {
        uint64_t last = begin, t = begin;
        while (t < end && t - begin < busy) {
            t = now_ns();
            if (t - last > 100000)
                begin += t - last;
            else if (t - last > 1000)
                lost += t - last;
            last = t;
            steps++;
        }
        ran += t - begin;
        if (idle)
            usleep((useconds_t)idle);
    }
    printf("%llu %llu %llu\n", (unsigned long long)ran, (unsigned long long)lost, (unsigned long long)steps);
    return 0;
}
