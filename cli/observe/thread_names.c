/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/observe/thread_names.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool comm(pid_t pid, uint32_t tid, char name[16])
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%u/comm", (int)pid, tid);
    FILE *file = fopen(path, "re");
    const size_t n = file ? fread(name, 1, 15, file) : 0;
    if (file)
        fclose(file);
    name[n] = '\0';
    name[strcspn(name, "\n")] = '\0';
    return n > 0;
}

/* Its place, or the one behind the last. */
static unsigned find(const struct thread_names *names, uint32_t tid)
{
    unsigned i = 0;
    while (i < names->n && names->all[i].tid != tid)
        i++;
    return i;
}

void thread_names_read(struct thread_names *names, pid_t pid)
{
    char path[48];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path);
    names->pid = pid;
    for (const struct dirent *e; tasks && (e = readdir(tasks));) {
        char name[16];
        const uint32_t tid = (uint32_t)strtoul(e->d_name, NULL, 10);
        const unsigned at = find(names, tid);
        if (!tid || at == THREAD_NAMES_MAX || !comm(pid, tid, name))
            continue;
        names->all[at].tid = tid;
        memcpy(names->all[at].name, name, sizeof name);
        names->n += at == names->n;
    }
    if (tasks)
        closedir(tasks);
}

const char *thread_names_text(const struct thread_names *names, uint64_t tid)
{
    static char text[32];
    char now[16];
    const unsigned seen = find(names, (uint32_t)tid);
    if (tid == 0)
        return "(idle)";
    if (!comm(names->pid, (uint32_t)tid, now)) {
        if (seen == names->n)
            return NULL;
        memcpy(now, names->all[seen].name, sizeof now);
    }
    snprintf(text, sizeof text, "%s %u", now, (unsigned)tid);
    return text;
}
