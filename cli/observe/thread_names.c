/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/observe/thread_names.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool comm(uint32_t tid, char name[16])
{
    char path[48];
    snprintf(path, sizeof path, "/proc/%u/comm", tid);
    FILE *file = fopen(path, "re");
    const size_t n = file ? fread(name, 1, 15, file) : 0;
    if (file)
        fclose(file);
    name[n] = '\0';
    name[strcspn(name, "\n")] = '\0';
    return n > 0;
}

static const struct thread_named *find(const struct thread_names *names, uint32_t tid)
{
    for (unsigned i = 0; i < names->n; i++)
        if (names->all[i].tid == tid)
            return &names->all[i];
    return NULL;
}

void thread_names_read(struct thread_names *names, pid_t pid)
{
    char path[48];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path);
    for (const struct dirent *e; tasks && names->n < THREAD_NAMES_MAX && (e = readdir(tasks));) {
        struct thread_named *one = &names->all[names->n];
        one->tid = (uint32_t)strtoul(e->d_name, NULL, 10);
        if (one->tid && !find(names, one->tid))
            names->n += comm(one->tid, one->name);
    }
    if (tasks)
        closedir(tasks);
}

const char *thread_names_text(const struct thread_names *names, uint64_t tid)
{
    static char text[32];
    char now[16];
    const struct thread_named *seen = find(names, (uint32_t)tid);
    if (tid == 0)
        return "(idle)";
    if (!comm((uint32_t)tid, now)) {
        if (!seen)
            return NULL;
        memcpy(now, seen->name, sizeof now);
    }
    snprintf(text, sizeof text, "%s %u", now, (unsigned)tid);
    return text;
}
