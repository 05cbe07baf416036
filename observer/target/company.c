/* SPDX-License-Identifier: GPL-2.0-or-later */
/* proc(5), cgroups(7). A child that its parent doesn't wait for counts only while it lives. */
#include "observer/target/company.h"
#include "observer/target/fair_share.h"
#include "store/base/kernel_files.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHILDREN_MAX 1000 /* looked at a call */
#define DEPTH_MAX 16
#define PATH_BYTES 4096

/* cutime and cstime, fields 16 and 17. */
static uint64_t of_ended_children(pid_t pid)
{
    char text[1024];
    uint64_t user = 0, system = 0;
    cs_kernel_text(text, sizeof text, "/proc/%d/stat", (int)pid);
    const char *ended = cs_stat_field(text, 16);
    if (!ended || sscanf(ended, "%" SCNu64 "%" SCNu64, &user, &system) != 2)
        return 0;
    return (user + system) * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
}

static uint64_t of_children(pid_t pid, unsigned depth, unsigned *left)
{
    uint64_t ns = of_ended_children(pid);
    pid_t *tids = NULL;
    const int n = depth < DEPTH_MAX ? cs_tasks_of(pid, &tids) : 0;
    for (int i = 0; i < n; i++) {
        char path[64];
        int child;
        snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)tids[i]);
        FILE *children = fopen(path, "re");
        while (children && *left > 0 && fscanf(children, "%d", &child) == 1) {
            struct cs_observe_cpu_wait wait;
            --*left;
            if (cs_observe_cpu_wait(child, &wait) == 0)
                ns += wait.ran_ns;
            ns += of_children(child, depth + 1, left);
        }
        if (children)
            fclose(children);
    }
    free(tids);
    return ns;
}

static uint64_t throttled_us(const char *group)
{
    char us[32];
    (void)cs_kernel_line(us, sizeof us, "throttled_usec", "/sys/fs/cgroup%s/cpu.stat", group);
    return strtoull(us, NULL, 10);
}

/* The quota of a cgroup above counts as well. */
static uint64_t of_quota(pid_t pid)
{
    char line[PATH_BYTES];
    uint64_t most = 0;
    (void)cs_kernel_line(line, sizeof line, "0::", "/proc/%d/cgroup", (int)pid);
    char *group = line[0] == '/' && !strstr(line, "/..") ? line : NULL; /* ".." is beyond our namespace */
    for (char *slash; group && (slash = strrchr(group, '/')); *slash = '\0') {
        const uint64_t us = throttled_us(group);
        most = us > most ? us : most;
    }
    return most * 1000;
}

/* proc_stat(5): user, nice, system, idle, iowait. */
static void idle(uint64_t ns[CS_OBSERVE_IDLE_CPUS])
{
    char line[512];
    unsigned cpu;
    uint64_t ticks, io;
    FILE *stat = fopen("/proc/stat", "re");
    while (stat && fgets(line, sizeof line, stat) && strncmp(line, "cpu", 3) == 0)
        if (line[3] != ' ' &&
            sscanf(line, "cpu%u %*u %*u %*u %" SCNu64 " %" SCNu64, &cpu, &ticks, &io) == 3 &&
            cpu < CS_OBSERVE_IDLE_CPUS)
            ns[cpu] = (ticks + io) * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
    if (stat)
        fclose(stat);
}

void cs_observe_company(pid_t pid, struct cs_observe_company *out)
{
    assert(pid > 0);
    unsigned left = CHILDREN_MAX;
    *out =
        (struct cs_observe_company){.children_ns = of_children(pid, 0, &left), .throttled_ns = of_quota(pid)};
    idle(out->idle_ns);
    out->has_cpus = sched_getaffinity(pid, sizeof out->cpus, &out->cpus) == 0;
}
