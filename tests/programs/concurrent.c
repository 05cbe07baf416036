/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A target with three threads at a time, each of a pace of its own, that knows the truth. Each thread publishes a counter "work"
 * and a tag "phase" with two values of its own. A quick phase of 100 ms of CPU time follows a slow one and so on.
 *
 *      concurrent SECONDS FILE [CPU CPU CPU]       with CPUs each thread pins itself to one
 *
 * It ends after SECONDS or with SIGTERM. FILE has a line for the wall time, "wall NS". Each thread has a line "thread TID kept",
 * or "moved" if somebody changed where it may run. Each of its phases has a line "phase TAG WORK CPU_NS VISITS". */
#include "signals/cyclescope.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define THREADS 3
#define PHASE_NS 100000000u

struct thread {
    pthread_t handle;
    unsigned number;
    int cpu; /* or -1 */
    pid_t tid;
    bool moved;
    uint64_t work[2], cpu_ns[2], visits[2];
};

static volatile sig_atomic_t over;
static uint64_t end;
static cs_signal phase, work;

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

static void *run(void *arg)
{
    struct thread *t = arg;
    cpu_set_t first, last;
    uint64_t x = 1, cpu_ns = now(CLOCK_THREAD_CPUTIME_ID);
    t->tid = gettid();
    if (t->cpu >= 0) {
        CPU_ZERO(&first);
        CPU_SET((unsigned)t->cpu, &first);
        if (sched_setaffinity(0, sizeof first, &first) != 0)
            abort();
    }
    sched_getaffinity(0, sizeof first, &first);
    for (unsigned p = 0; !over && now(CLOCK_MONOTONIC) < end; p = !p) {
        const unsigned spins = (100u << t->number) * (1 + 2 * p);
        const uint64_t since = cpu_ns;
        cs_set(phase, 10 * (t->number + 1) + p);
        t->visits[p]++;
        while (cpu_ns - since < PHASE_NS && !over) {
            for (unsigned k = 0; k < 20000 / spins; k++, t->work[p]++) {
                for (unsigned s = 0; s < spins; s++) {
                    x = x * 0x9e3779b97f4a7c15u + 1;
                    __asm__ volatile("" : "+r"(x)); /* one after the other */
                }
                cs_add(work, 1);
            }
            cpu_ns = now(CLOCK_THREAD_CPUTIME_ID);
        }
        t->cpu_ns[p] += cpu_ns - since;
        sched_getaffinity(0, sizeof last, &last);
        t->moved |= !CPU_EQUAL(&first, &last);
    }
    return x ? NULL : t;
}

int main(int argc, char **argv)
{
    if (argc != 3 && argc != 3 + THREADS)
        return 2;
    struct thread threads[THREADS] = {{0}};
    const uint64_t begin = now(CLOCK_MONOTONIC);
    phase = cs_define(CS_ANY_WORD, "phase", CS_TAG);
    work = cs_define(CS_ANY_WORD, "work", CS_COUNTER);
    end = begin + (uint64_t)(atof(argv[1]) * 1e9);
    signal(SIGTERM, end_now);
    for (unsigned i = 0; i < THREADS; i++) {
        threads[i].number = i;
        threads[i].cpu = argc > 3 ? atoi(argv[3 + i]) : -1;
        if (pthread_create(&threads[i].handle, NULL, run, &threads[i]))
            return 1;
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i].handle, NULL);
    FILE *out = fopen(argv[2], "w");
    if (!out)
        return 1;
    fprintf(out, "wall %ju\n", (uintmax_t)(now(CLOCK_MONOTONIC) - begin));
    for (unsigned i = 0; i < THREADS; i++) {
        const struct thread *t = &threads[i];
        fprintf(out, "thread %d %s\n", (int)t->tid, t->moved ? "moved" : "kept");
        for (unsigned p = 0; p < 2; p++)
            fprintf(out, "phase %u %ju %ju %ju\n", 10 * (i + 1) + p, (uintmax_t)t->work[p],
                    (uintmax_t)t->cpu_ns[p], (uintmax_t)t->visits[p]);
    }
    return fclose(out) != 0;
}
