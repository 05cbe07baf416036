/* SPDX-License-Identifier: GPL-2.0-or-later */
/* doctor: what this machine can measure, what it can't, why, and how to enable it. */
#include "cli/command.h"

#include <stdio.h>
#include <unistd.h>

static int run(const struct parsed *args)
{
    (void)args;
    printf("%ld CPUs online\n", sysconf(_SC_NPROCESSORS_ONLN));
    return CS_EXIT_OK;
}

static const struct option_entry options[] = {{NULL, 0, NULL, NULL}};

extern const struct command command_doctor;
const struct command command_doctor = {
    "doctor", "",      "what this machine can measure, what it can't, why, and how to enable it",
    NULL,     options, run,
};
