/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two threads on two CPUs that run the same loop, each with its own argument. The second one runs until the first
 * has had its time. The visits are those of the first. */
#ifndef PAIR_H
#define PAIR_H

#define _GNU_SOURCE
#include "../kernels/kernel.h"

#include <pthread.h>
#include <sched.h>

struct second {
    uint64_t (*turn)(void *);
    void *argument;
    int over;
};

static inline void stay_on(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
}

static void *run_second(void *argument)
{
    struct second *s = argument;
    stay_on(1);
    while (!__atomic_load_n(&s->over, __ATOMIC_RELAXED))
        s->turn(s->argument);
    return NULL;
}

static inline int run_pair(const char *name, int argc, char **argv, uint64_t (*turn)(void *), void *first,
                           void *second)
{
    static struct second s;
    pthread_t thread;
    s = (struct second){turn, second, 0};
    if (pthread_create(&thread, NULL, run_second, &s))
        return 1;
    stay_on(0);
    /* The clock of run_kernel counts both threads. */
    char twice[32];
    snprintf(twice, sizeof twice, "%f", 2 * (argc > 1 ? atof(argv[1]) : DEFAULT_SECONDS));
    char *arguments[] = {argv[0], twice, NULL};
    int result = run_kernel(name, 2, arguments, turn, first);
    __atomic_store_n(&s.over, 1, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    return result;
}

#endif
