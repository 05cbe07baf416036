/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether timers are needed, and how fast they can be. */
#include "sampler/timers/timers.h"
#include "store/base/kernel_files.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

bool cs_timers_needed(char *why, size_t size)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
                                   .size = sizeof attr,
                                   .config = PERF_COUNT_SW_TASK_CLOCK,
                                   .sample_period = 1000000,
                                   .disabled = 1,
                                   .exclude_kernel = 1,
                                   .exclude_hv = 1};
    const int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC), code = errno;
    if (fd >= 0) {
        close(fd);
        return false;
    }
    if (code != EPERM && code != EACCES && code != ENOSYS)
        return false; /* opening the real events will say what is wrong */
    const long level = cs_kernel_number(0, "/proc/sys/kernel/perf_event_paranoid");
    if (level > 2 && code == EACCES)
        snprintf(why, size, "perf_event_paranoid is %ld", level);
    else
        snprintf(why, size, "%s, as seccomp profiles of containers have it",
                 code == ENOSYS ? "there is no perf_event_open" : "perf_event_open is refused");
    return true;
}

double cs_timers_ticks(void)
{
    struct timespec tick;
    if (clock_getres(CLOCK_MONOTONIC_COARSE, &tick) != 0 || tick.tv_nsec <= 0)
        return 100;
    return 1e9 / (double)tick.tv_nsec;
}
