/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Puts a benchmark and the programs that it starts ahead of whatever else the machine does, where that is
 * permitted. Priority alone counts within one session only where the scheduler groups by session (autogroup),
 * so the benchmark gets a session of its own. Nothing has to be restored: session and priority end with it.
 */
#ifndef CS_BENCH_AHEAD_H
#define CS_BENCH_AHEAD_H

#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static inline void cs_bench_ahead(void)
{
    if (setsid() < 0) { /* leads a group already: its child doesn't */
        pid_t child = fork();
        if (child > 0) {
            int status;
            while (waitpid(child, &status, 0) < 0)
                ;
            _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
        }
        setsid();
    }
    int group = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);
    if (group >= 0) {
        if (write(group, "-20", 3) < 0)
            (void)setpriority(PRIO_PROCESS, 0, -10);
        close(group);
    }
    (void)setpriority(PRIO_PROCESS, 0, -10);
}

#endif
