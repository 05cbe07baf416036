/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/burst/runs_beside.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool read_text(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, size - 1) : -1;
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n > 0;
}

/* Its state and the CPU that it was on last; proc_pid_stat(5), fields 3 and 39. */
static bool thread_at(pid_t pid, pid_t tid, char *state, int *cpu)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", (int)pid, (int)tid);
    const char *at = read_text(path, text, sizeof text) ? strrchr(text, ')') : NULL;
    if (!at || at[1] != ' ' || !at[2])
        return false;
    *state = at[2];
    for (int field = 2; at && field < 39; field++)
        at = strchr(at + 1, ' ');
    *cpu = at ? atoi(at) : -1;
    return *cpu >= 0;
}

/* CPUs of one core have its first level in common, so that a line doesn't leave it. */
static int core_of(int cpu)
{
    char path[96], text[64];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
    return read_text(path, text, sizeof text) ? atoi(text) : cpu;
}

int cs_core_of_thread(pid_t pid, pid_t tid)
{
    char state;
    int cpu;
    return thread_at(pid, tid, &state, &cpu) ? core_of(cpu) : -1;
}

double cs_thread_runs_beside(pid_t pid, pid_t tid, int core)
{
    char state, path[64], text[128];
    int cpu;
    if (core < 0 || !thread_at(pid, tid, &state, &cpu) || state != 'R' || core_of(cpu) == core)
        return 0;
    unsigned long long on_cpu_ns, waited_ns;
    snprintf(path, sizeof path, "/proc/%d/task/%d/schedstat", (int)pid, (int)tid);
    if (!read_text(path, text, sizeof text) || sscanf(text, "%llu %llu", &on_cpu_ns, &waited_ns) != 2 ||
        !on_cpu_ns)
        return 1;
    return (double)on_cpu_ns / ((double)on_cpu_ns + (double)waited_ns);
}
