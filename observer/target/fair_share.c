/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "observer/target/fair_share.h"
#include "store/base/kernel_files.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_BYTES 4096

/* The cgroup whose weight counts: of the hierarchy that has the cpu controller, else of version 2's. "/" where
 * there is none. */
static bool cpu_cgroup(pid_t pid, char path[PATH_BYTES])
{
    char name[64], line[PATH_BYTES + 64];
    snprintf(name, sizeof name, "/proc/%d/cgroup", (int)pid);
    FILE *file = fopen(name, "re");
    if (!file)
        return false;
    strcpy(path, "/");
    while (fgets(line, sizeof line, file)) { /* "4:cpu,cpuacct:/path" or "0::/path" */
        char *controllers = strchr(line, ':'), *end = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!end)
            continue;
        *end = '\0';
        end[1 + strcspn(end + 1, "\n")] = '\0';
        bool cpu = false;
        for (char *rest = controllers + 1, *one; (one = strsep(&rest, ","));)
            cpu |= strcmp(one, "cpu") == 0;
        if (cpu || controllers[1] == '\0')
            snprintf(path, PATH_BYTES, "%s", end + 1);
        if (cpu)
            break;
    }
    fclose(file);
    return true;
}

bool cs_observe_grouped_by_session(void)
{
    char path[PATH_BYTES];
    return cs_kernel_number(0, "/proc/sys/kernel/sched_autogroup_enabled") == 1 &&
           cpu_cgroup(getpid(), path) && strcmp(path, "/") == 0;
}

bool cs_observe_leave_session(void)
{
    if (setsid() < 0)
        return false;
    FILE *file = fopen("/proc/self/autogroup", "we");
    if (file) {
        fputs("-20", file); /* refused without CAP_SYS_NICE: then it is as important as others */
        fclose(file);
    }
    return true;
}

bool cs_observe_same_group(pid_t pid)
{
    char ours[PATH_BYTES], theirs[PATH_BYTES];
    if (!cpu_cgroup(getpid(), ours) || !cpu_cgroup(pid, theirs) || strcmp(ours, theirs) != 0)
        return false;
    if (strcmp(ours, "/") != 0)
        return true;
    if (!cs_observe_grouped_by_session() ||
        !cs_kernel_line(theirs, sizeof theirs, "", "/proc/%d/autogroup", (int)pid) ||
        !cs_kernel_line(ours, sizeof ours, "", "/proc/self/autogroup"))
        return false;
    theirs[strcspn(theirs, " ")] = ours[strcspn(ours, " ")] = '\0'; /* "/autogroup-7 nice 0" */
    return strcmp(ours, theirs) == 0;
}

int cs_observe_cpu_wait(pid_t pid, struct cs_observe_cpu_wait *out)
{
    assert(pid > 0);
    pid_t *tids;
    const int n = cs_tasks_of(pid, &tids);
    if (n < 0)
        return n;
    *out = (struct cs_observe_cpu_wait){0};
    for (int i = 0; i < n; i++) {
        uint64_t ran, waited;
        char line[128];
        cs_kernel_text(line, sizeof line, "/proc/%d/task/%d/schedstat", (int)pid, (int)tids[i]);
        if (sscanf(line, "%" SCNu64 " %" SCNu64, &ran, &waited) != 2)
            continue;
        out->ran_ns += ran;
        out->waited_ns += waited;
        out->threads++;
    }
    free(tids);
    return out->threads ? 0 : -ENOENT;
}
