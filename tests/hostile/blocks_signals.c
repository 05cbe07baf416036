/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocks every signal for seconds at a time while it computes, then looks whether one is pending that nobody sent, and lets
 * it come: a trap of a profiler's that is left over kills it.   Usage: blocks_signals SECONDS BLOCKED-SECONDS */
#include "hostile.h"

#include <signal.h>

int main(int argc, char **argv)
{
    double blocked = argument_seconds(argc, argv, 2, 2);
    sigset_t all, none, pending;
    sigfillset(&all);
    sigemptyset(&none);
    for (double until = seconds_now() + argument_seconds(argc, argv, 1, 10); seconds_now() < until;) {
        burn(0.02);
        sigprocmask(SIG_SETMASK, &all, NULL);
        burn(blocked);
        sigpending(&pending);
        if (sigismember(&pending, SIGTRAP))
            puts("a trap that nobody sent is pending");
        sigprocmask(SIG_SETMASK, &none, NULL);
    }
    return unharmed();
}
