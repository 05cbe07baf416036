/* SPDX-License-Identifier: GPL-2.0-or-later */
/* proc(5), cgroups(7). A child that its parent doesn't wait for counts only while it lives. */
#include "observer/target/company.h"
#include "observer/target/fair_share.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHILDREN_MAX 1000 /* looked at a call */
#define DEPTH_MAX 16
#define PATH_BYTES 4096

static FILE *of(pid_t pid, const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    return fopen(path, "re");
}

/* cutime and cstime, fields 16 and 17. */
static uint64_t of_ended_children(pid_t pid)
{
    char line[1024];
    uint64_t user = 0, system = 0;
    FILE *stat = of(pid, "stat");
    const char *end = stat && fgets(line, sizeof line, stat) ? strrchr(line, ')') : NULL;
    if (stat)
        fclose(stat);
    if (!end ||
        sscanf(end + 1, " %*c%*d%*d%*d%*d%*d%*u%*u%*u%*u%*u%*u%*u%" SCNu64 "%" SCNu64, &user, &system) != 2)
        return 0;
    return (user + system) * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
}

static uint64_t of_children(pid_t pid, unsigned depth, unsigned *left)
{
    uint64_t ns = of_ended_children(pid);
    char path[64], name[300];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path);
    for (const struct dirent *e; tasks && depth < DEPTH_MAX && (e = readdir(tasks));) {
        int child;
        snprintf(name, sizeof name, "task/%s/children", e->d_name);
        FILE *children = e->d_name[0] == '.' ? NULL : of(pid, name);
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
    if (tasks)
        closedir(tasks);
    return ns;
}

static uint64_t throttled_us(const char *group)
{
    char path[PATH_BYTES + 64], line[128];
    uint64_t us = 0;
    snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.stat", group);
    FILE *stat = fopen(path, "re");
    while (stat && fgets(line, sizeof line, stat) && sscanf(line, "throttled_usec %" SCNu64, &us) != 1)
        ;
    if (stat)
        fclose(stat);
    return us;
}

/* The quota of a cgroup above counts as well. */
static uint64_t of_quota(pid_t pid)
{
    char line[PATH_BYTES] = "";
    uint64_t most = 0;
    FILE *groups = of(pid, "cgroup");
    while (groups && fgets(line, sizeof line, groups) && strncmp(line, "0::/", 4) != 0)
        line[0] = '\0';
    if (groups)
        fclose(groups);
    line[strcspn(line, "\n")] = '\0';
    char *group = line[0] && !strstr(line, "/..") ? line + 3 : NULL; /* ".." is beyond our namespace */
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
    unsigned left = CHILDREN_MAX;
    *out =
        (struct cs_observe_company){.children_ns = of_children(pid, 0, &left), .throttled_ns = of_quota(pid)};
    idle(out->idle_ns);
    out->has_cpus = sched_getaffinity(pid, sizeof out->cpus, &out->cpus) == 0;
}
