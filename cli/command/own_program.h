/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Our own program as a child, with other arguments: what reads hostile data, or takes long, fails there and not here. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct own_program {
    const char *const *argv; /* "cyclescope", then its arguments; NULL at the end */
    int in, out, said;       /* its standard descriptors; -1: nothing */
    bool group;              /* a process group of its own, which is killed when we end */
    unsigned cpu_seconds;    /* after these it is killed; 0: never */
    const char *cache;       /* folder for its cache; NULL: as ours */
};

/* What to execute: its own file, or what a tarball's launcher says. */
const char *own_program_path(void);
/* Its PID, or negative errno. One that can't be executed ends with 127. */
pid_t own_program_start(const struct own_program *program);
/* waitpid's status. */
int own_program_end(pid_t pid);
