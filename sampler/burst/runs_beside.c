/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/burst/runs_beside.h"
#include "store/base/kernel_files.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* Its state and the CPU that it was on last; proc_pid_stat(5), fields 3 and 39. */
static bool thread_at(pid_t pid, pid_t tid, char *state, int *cpu)
{
    char text[1024];
    cs_kernel_text(text, sizeof text, "/proc/%d/task/%d/stat", (int)pid, (int)tid);
    const char *last = cs_stat_field(text, 39);
    if (!last)
        return false;
    *state = *cs_stat_field(text, 3);
    *cpu = atoi(last);
    return *cpu >= 0;
}

/* CPUs of one core have its first level in common, so that a line doesn't leave it. */
static int core_of(int cpu)
{
    return (int)cs_kernel_number(cpu, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
}

int cs_core_of_thread(pid_t pid, pid_t tid)
{
    char state;
    int cpu;
    return thread_at(pid, tid, &state, &cpu) ? core_of(cpu) : -1;
}

double cs_thread_runs_beside(pid_t pid, pid_t tid, int core)
{
    char state, text[128];
    int cpu;
    if (core < 0 || !thread_at(pid, tid, &state, &cpu) || state != 'R' || core_of(cpu) == core)
        return 0;
    unsigned long long on_cpu_ns, waited_ns;
    cs_kernel_text(text, sizeof text, "/proc/%d/task/%d/schedstat", (int)pid, (int)tid);
    if (sscanf(text, "%llu %llu", &on_cpu_ns, &waited_ns) != 2 || !on_cpu_ns)
        return 1;
    return (double)on_cpu_ns / ((double)on_cpu_ns + (double)waited_ns);
}
