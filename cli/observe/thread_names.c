/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/observe/thread_names.h"
#include "store/base/kernel_files.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool comm(pid_t pid, uint32_t tid, char name[16])
{
    return cs_kernel_line(name, 16, "", "/proc/%d/task/%u/comm", (int)pid, tid);
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
    pid_t *tids;
    const int n = cs_tasks_of(pid, &tids);
    names->pid = pid;
    for (int i = 0; i < n; i++) {
        char name[16];
        const uint32_t tid = (uint32_t)tids[i];
        const unsigned at = find(names, tid);
        if (at == THREAD_NAMES_MAX || !comm(pid, tid, name))
            continue;
        names->all[at].tid = tid;
        memcpy(names->all[at].name, name, sizeof name);
        names->n += at == names->n;
    }
    free(tids);
}

const char *thread_names_text(const struct thread_names *names, uint64_t tid)
{
    assert(names->n <= THREAD_NAMES_MAX);
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
