/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "observer/target/fair_share.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_BYTES 4096

static bool read_line(const char *path, char *line, size_t size)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    bool ok = fgets(line, (int)size, file) != NULL;
    fclose(file);
    return ok;
}

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
    char enabled[8], path[PATH_BYTES];
    return read_line("/proc/sys/kernel/sched_autogroup_enabled", enabled, sizeof enabled) &&
           enabled[0] == '1' && cpu_cgroup(getpid(), path) && strcmp(path, "/") == 0;
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
    char ours[PATH_BYTES], theirs[PATH_BYTES], name[64];
    if (!cpu_cgroup(getpid(), ours) || !cpu_cgroup(pid, theirs) || strcmp(ours, theirs) != 0)
        return false;
    if (strcmp(ours, "/") != 0)
        return true;
    snprintf(name, sizeof name, "/proc/%d/autogroup", (int)pid);
    if (!cs_observe_grouped_by_session() || !read_line(name, theirs, sizeof theirs) ||
        !read_line("/proc/self/autogroup", ours, sizeof ours))
        return false;
    theirs[strcspn(theirs, " ")] = ours[strcspn(ours, " ")] = '\0'; /* "/autogroup-7 nice 0" */
    return strcmp(ours, theirs) == 0;
}

int cs_observe_cpu_wait(pid_t pid, struct cs_observe_cpu_wait *out)
{
    char path[320], line[128];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path);
    if (!tasks)
        return -errno;
    *out = (struct cs_observe_cpu_wait){0};
    struct dirent *task;
    while ((task = readdir(tasks))) {
        uint64_t ran, waited;
        snprintf(path, sizeof path, "/proc/%d/task/%s/schedstat", (int)pid, task->d_name);
        if (task->d_name[0] == '.' || !read_line(path, line, sizeof line) ||
            sscanf(line, "%" SCNu64 " %" SCNu64, &ran, &waited) != 2)
            continue;
        out->ran_ns += ran;
        out->waited_ns += waited;
        out->threads++;
    }
    closedir(tasks);
    return out->threads ? 0 : -ENOENT;
}
