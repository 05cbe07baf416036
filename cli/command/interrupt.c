/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/command/interrupt.h"

#include <signal.h>
#include <stdbool.h>

static volatile sig_atomic_t came;
static void (*told)(void);

static void note(int number)
{
    came = number;
    if (told)
        told();
}

static void nothing(int number)
{
    (void)number;
}

void interrupt_catch(void (*also)(void))
{
    told = also;
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    struct sigaction before, action = {.sa_handler = note};
    for (unsigned i = 0; i < sizeof ends / sizeof *ends; i++) {
        bool nohup =
            sigaction(ends[i], NULL, &before) == 0 && before.sa_handler == SIG_IGN && ends[i] == SIGHUP;
        if (!nohup) /* a shell's `&` ignores SIGINT too, but who then sends it by PID means it */
            sigaction(ends[i], &action, NULL);
    }
    action.sa_handler = nothing; /* not SIG_IGN, which a started program would inherit */
    sigaction(SIGPIPE, &action, NULL);
}

int interrupt_number(void)
{
    return came;
}
