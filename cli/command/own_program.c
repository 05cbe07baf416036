/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/command/own_program.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

const char *own_program_path(void)
{
    const char *self = getenv("CYCLESCOPE_SELF"); /* of a tarball: there /proc/self/exe is a loader */
    return self ? self : "/proc/self/exe";
}

/* In the child. */
static _Noreturn void become(const struct own_program *p)
{
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC), from[3] = {p->in, p->out, p->said};
    const struct rlimit limit = {p->cpu_seconds, p->cpu_seconds};
    bool ready = nothing >= 0 && (!p->cpu_seconds || setrlimit(RLIMIT_CPU, &limit) == 0) &&
                 (!p->cache || setenv("CYCLESCOPE_CACHE", p->cache, 1) == 0);
    if (p->group) {
        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    }
    signal(SIGPIPE, SIG_DFL);
    for (int fd = 0; fd < 3; fd++)
        ready = ready && dup2(from[fd] < 0 ? nothing : from[fd], fd) >= 0;
    if (ready)
        execv(own_program_path(), (char *const *)p->argv);
    dprintf(2, "our own program can't be started: %s\n", strerror(errno));
    _exit(127);
}

pid_t own_program_start(const struct own_program *program)
{
    const pid_t pid = fork();
    if (pid == 0)
        become(program);
    if (pid > 0 && program->group)
        setpgid(pid, pid); /* here too: it may not have come so far */
    return pid < 0 ? -errno : pid;
}

int own_program_end(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0)
        assert(errno == EINTR);
    return status;
}
