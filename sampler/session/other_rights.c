/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/session/other_rights.h"
#include "sampler/session/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOOK_NS 1000000000ULL

void cs_session_look_for_other_rights(struct cs_sampler *s)
{
    uint64_t now = cs_monotonic_ns();
    pid_t *processes, root = s->config.target == CS_TARGET_COMMAND ? s->target.command.pid : s->config.pid;
    if (s->config.target == CS_TARGET_ALL || s->events.filter || geteuid() == 0 || s->other_rights_told ||
        now < s->next_rights_ns)
        return;
    s->next_rights_ns = now + LOOK_NS;
    int n = cs_processes_below(root, &processes);
    for (int i = 0; i < n && !s->other_rights_told; i++) {
        char path[64];
        struct stat st;
        snprintf(path, sizeof path, "/proc/%d", (int)processes[i]);
        if (stat(path, &st) < 0 || st.st_uid == geteuid())
            continue;
        s->other_rights_told = true;
        cs_session_remark(&s->config,
                          "process %d has other rights than you (a set-uid program): the kernel ends its "
                          "events, so it has no more samples. Record as root to get them",
                          (int)processes[i]);
    }
    if (n > 0)
        free(processes);
}
