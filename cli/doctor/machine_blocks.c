/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What containers and security modules take away, as far as files show it. */
#include "cli/doctor/machine_file.h"

#include <stdlib.h>
#include <string.h>

/* "proc /proc proc rw,hidepid=invisible 0 0"; the last mount on /proc counts. */
static int hidepid_of(char *mounts)
{
    int found = -1;
    char *save = NULL;
    for (char *line = strtok_r(mounts, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        if (!strstr(line, " /proc proc "))
            continue;
        const char *at = strstr(line, "hidepid=");
        at = at ? at + strlen("hidepid=") : "0";
        found = strncmp(at, "noaccess", 8) == 0      ? 1
                : strncmp(at, "invisible", 9) == 0   ? 2
                : strncmp(at, "ptraceable", 10) == 0 ? 4
                                                     : atoi(at);
    }
    return found;
}

void machine_gather_blocks(struct machine *m)
{
    static const char seccomp[] = "\nSeccomp:";
    char text[65536];
    const char *at;
    m->seccomp = m->hidepid = -1;
    if (machine_read_file(m, "/proc/self/status", text, sizeof text) && (at = strstr(text, seccomp)) != NULL)
        m->seccomp = atoi(at + sizeof seccomp - 1);
    if (machine_read_file(m, "/proc/self/mounts", text, sizeof text))
        m->hidepid = hidepid_of(text);
    if (machine_read_file(m, "/proc/sys/kernel/yama/ptrace_scope", text, sizeof text))
        m->ptrace_scope = atoi(text);
    if (machine_read_file(m, "/sys/kernel/security/lockdown", text, sizeof text) &&
        (at = strchr(text, '[')) != NULL)
        snprintf(m->lockdown, sizeof m->lockdown, "%.*s", (int)strcspn(at + 1, "]"), at + 1);
    m->cgroup2 = machine_read_file(m, "/sys/fs/cgroup/cgroup.controllers", text, sizeof text);
}
