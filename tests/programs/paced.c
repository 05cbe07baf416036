/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A target that knows its own pace, observed or not. It publishes a counter "work" and a tag "turn", one store of each for
 * SPINS dependent multiplications. Then it waits until they are in its cache, as a program with locks does. The fewer SPINS,
 * the more it loses while its line is read.
 *
 *      paced SECONDS SPINS FILE
 *
 * It ends after SECONDS or with SIGTERM. FILE has a line for each 0.2 ms of CPU time: CLOCK_MONOTONIC in ns, CPU time in ns,
 * work. */
#include "signals/cyclescope.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NOTES_MAX 1000000u

static struct {
    uint64_t ns, cpu_ns, work;
} notes[NOTES_MAX];

static volatile sig_atomic_t over;
static void end_now(int number)
{
    over = number;
}

static uint64_t now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    const cs_signal work = cs_define(CS_ANY_WORD, "work", CS_COUNTER),
                    turn = cs_define(CS_ANY_WORD, "turn", CS_TAG);
    const uint64_t end = now(CLOCK_MONOTONIC) + (uint64_t)(atof(argv[1]) * 1e9);
    const unsigned long spins = strtoul(argv[2], NULL, 10);
    uint64_t x = 1, next = 0, done = 0;
    unsigned n = 0;
    signal(SIGTERM, end_now);
    while (n < NOTES_MAX && !over) {
        for (unsigned k = 0; k < 1 + 20000 / (spins + 20); k++, done++) {
            for (unsigned long s = 0; s < spins; s++) {
                x = x * 0x9e3779b97f4a7c15u + 1;
                __asm__ volatile("" : "+r"(x)); /* one after the other */
            }
            cs_add(work, 1);
            cs_set(turn, 1 + (done & 3));
            __atomic_thread_fence(__ATOMIC_SEQ_CST);
        }
        const uint64_t cpu_ns = now(CLOCK_THREAD_CPUTIME_ID);
        if (cpu_ns < next)
            continue;
        next = cpu_ns + 200000;
        notes[n].ns = now(CLOCK_MONOTONIC);
        notes[n].cpu_ns = cpu_ns;
        notes[n++].work = done;
        if (notes[n - 1].ns > end)
            break;
    }
    FILE *out = fopen(argv[3], "w");
    for (unsigned i = 0; out && i < n; i++)
        fprintf(out, "%ju %ju %ju\n", (uintmax_t)notes[i].ns, (uintmax_t)notes[i].cpu_ns,
                (uintmax_t)notes[i].work);
    return !out || fclose(out) || x == 0;
}
