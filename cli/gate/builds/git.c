/* SPDX-License-Identifier: GPL-2.0-or-later */
/* No shell is started. Git reads a repository's configuration, so ours turns off what could start programs. */
#include "cli/gate/builds/git.h"

#include "store/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARGUMENTS_MAX 100
#define FIXED 9
#define SECONDS_MAX 60.0

static _Noreturn void become_git(const char *const *argv, int out)
{
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nothing >= 0 && dup2(nothing, 0) >= 0 && dup2(out, 1) >= 0 && dup2(nothing, 2) >= 0)
        execvp("git", (char *const *)argv);
    _exit(127);
}

/* False: the answer is too long, or takes too long. */
static bool read_answer(int from, struct git_lines *lines)
{
    const double until = cs_monotonic_seconds() + SECONDS_MAX;
    char bytes[8192];
    for (;;) {
        struct pollfd wait = {.fd = from, .events = POLLIN};
        const double left = until - cs_monotonic_seconds();
        const int ready = left > 0 ? poll(&wait, 1, (int)(1e3 * left) + 1) : 0;
        if (ready < 0 && errno == EINTR)
            continue;
        const ssize_t n = ready > 0 ? read(from, bytes, sizeof bytes) : -1;
        if (n < 0 && ready > 0 && errno == EINTR)
            continue;
        const int rc = n < 0 ? -1 : git_lines_feed(lines, bytes, (size_t)n);
        if (n <= 0 || rc <= 0)
            return n == 0 && rc == 0;
    }
}

int git_ask(const char *repository, const char *const *words, size_t most, struct git_lines *lines)
{
    const char *argv[FIXED + ARGUMENTS_MAX + 1] = {"git",
                                                   "-C",
                                                   repository,
                                                   "--no-pager",
                                                   "--no-optional-locks",
                                                   "-c",
                                                   "core.fsmonitor=false",
                                                   "-c",
                                                   "log.showSignature=false"};
    size_t n = FIXED;
    int ends[2], status = 0;
    git_lines_init(lines, most);
    while (*words && n < FIXED + ARGUMENTS_MAX)
        argv[n++] = *words++;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    const pid_t pid = fork();
    if (pid == 0)
        become_git(argv, ends[1]);
    close(ends[1]);
    const bool read = pid > 0 && read_answer(ends[0], lines);
    close(ends[0]);
    if (pid > 0 && !read)
        kill(pid, SIGKILL);
    while (pid > 0 && waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return !read || !WIFEXITED(status) ? -1 : WEXITSTATUS(status);
}
