/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/observe/own_session.h"

#include "cli/command/command.h"
#include "cli/command/interrupt.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t child; /* for the signal handler */

static void hand_on(void)
{
    int saved = errno;
    if (child > 0)
        kill(child, interrupt_number());
    errno = saved;
}

bool own_session_parent(int *exit_code)
{
    sigset_t all, before;
    int status = 0;
    pid_t parent = getpid();
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before); /* none comes between the fork and the handler */
    child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        sigprocmask(SIG_SETMASK, &before, NULL);
        if (getppid() != parent)
            raise(SIGTERM);
        return false;
    }
    if (child > 0)
        interrupt_catch(hand_on);
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (child < 0)
        return false;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFSIGNALED(status))
        remark("the observer was ended by signal %d", WTERMSIG(status));
    *exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return true;
}
