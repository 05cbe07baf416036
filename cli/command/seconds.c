/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/command/seconds.h"

#include <time.h>

double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}
