/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The child is a process group of its own, so that all of it ends with it. It reads nothing, and its report is read until it has
 * ended: a command that `record` ran may keep pipes open.
 *
 * The standard output of a recording is the command's. `record` writes its summary to a pipe whose end only we hold, and
 * opens it by our number. So the command inherits nothing that it could write a summary of its own to. */
#include "cli/command/own_program.h"
#include "cli/mcp/mcp.h"
#include "cli/output/memory.h"
#include "store/base/clock.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOOKS_MS 100 /* whether it has ended */

struct reading {
    int fd; /* -1: at its end */
    char *bytes;
    size_t n, capacity, most;
    bool more; /* than `most`: read, and dropped */
};

/* What there is now. */
static void read_all(struct reading *r)
{
    char piece[16384];
    ssize_t n;
    while (r->fd >= 0 && (n = read(r->fd, piece, sizeof piece)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return;
        size_t take = (size_t)n < r->most - r->n ? (size_t)n : r->most - r->n;
        r->more |= take < (size_t)n;
        if (r->n + take + 1 > r->capacity)
            r->bytes = need(realloc(r->bytes, r->capacity = 2 * (r->n + take + 1)));
        memcpy(r->bytes + r->n, piece, take);
        r->n += take;
        r->bytes[r->n] = '\0';
    }
    if (r->fd >= 0)
        close(r->fd);
    r->fd = -1;
}

/* Until it has ended, or the time is over. Returns waitpid's status. The group is ended before its leader is reaped, while
 * its number can't be another's. */
static int follow(pid_t child, struct reading *out, struct reading *said, double until, bool *too_long)
{
    bool ended = false;
    while (!ended) {
        struct pollfd waits[2] = {{.fd = out->fd, .events = POLLIN}, {.fd = said->fd, .events = POLLIN}};
        siginfo_t info = {.si_pid = 0};
        (void)poll(waits, 2, LOOKS_MS);
        read_all(out);
        read_all(said);
        ended = waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == child;
        *too_long = !ended && cs_monotonic_seconds() > until;
        if (*too_long || out->more)
            break;
    }
    kill(-child, SIGKILL);
    const int status = own_program_end(child);
    read_all(out);
    read_all(said);
    return status;
}

int mcp_run_self(const struct mcp *mcp, char *const *argv, bool record, double seconds, struct mcp_run *run,
                 struct cs_error *err)
{
    assert(argv[0] && seconds > 0);
    int outs[2] = {-1, -1}, saids[2] = {-1, -1};
    char to[64], cache[sizeof mcp->folder + 16];
    const char *full[128] = {"cyclescope"};
    *run = (struct mcp_run){.status = 127};
    pid_t child = -1;
    if (pipe2(outs, O_CLOEXEC) == 0 && pipe2(saids, O_CLOEXEC) == 0 &&
        fcntl(outs[0], F_SETFL, O_NONBLOCK) == 0 && fcntl(saids[0], F_SETFL, O_NONBLOCK) == 0) {
        snprintf(to, sizeof to, "--json-to=/proc/%ld/fd/%d", (long)getpid(), outs[1]);
        snprintf(cache, sizeof cache, "%s/.cache", mcp->folder);
        for (size_t n = 0, m = 1; argv[n] && m + 2 < sizeof full / sizeof *full; n++) {
            full[m++] = argv[n];
            if (n == 0 && record)
                full[m++] = to;
        }
        child = own_program_start(&(struct own_program){.argv = full,
                                                        .in = -1,
                                                        .out = record ? saids[1] : outs[1],
                                                        .said = saids[1],
                                                        .group = true,
                                                        .cache = cache});
    }
    const int failed = child < -1 ? -child : errno;
    if (child > 0) {
        if (!record)
            close(outs[1]);
        close(saids[1]);
        struct reading out = {.fd = outs[0], .most = MCP_REPORT_MAX},
                       said = {.fd = saids[0], .most = sizeof run->said - 1};
        int status = follow(child, &out, &said, cs_monotonic_seconds() + seconds, &run->too_long);
        run->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        run->out = out.bytes ? out.bytes : need(strdup(""));
        run->n = out.n;
        run->too_much = out.more;
        snprintf(run->said, sizeof run->said, "%s", said.bytes ? said.bytes : "");
        free(said.bytes);
        if (record)
            close(outs[1]);
        outs[0] = out.fd, outs[1] = -1, saids[0] = said.fd, saids[1] = -1;
    }
    for (unsigned i = 0; i < 2; i++) {
        if (outs[i] >= 0)
            close(outs[i]);
        if (saids[i] >= 0)
            close(saids[i]);
    }
    return child > 0 ? 0 : cs_fail(err, failed, "a child can't be started: %s", strerror(failed));
}
