/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/perf/timer_rings.h"
#include "sampler/perf/process_filter.h"
#include "sampler/perf/target.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

struct opening {
    struct perf_event_attr attr;
    const pid_t *threads;
    int n_threads;
    unsigned pages;
    const char *what;
    const struct cs_process_filter *filter;
};

static int open_on_cpu(struct cs_timer_rings *rings, int i, int cpu, struct opening *o, struct cs_error *err)
{
    int first = -1;
    for (int t = 0; t < o->n_threads; t++) {
        o->attr.inherit = o->threads[t] != -1;
        int fd = (int)syscall(SYS_perf_event_open, &o->attr, o->threads[t], cpu, -1, PERF_FLAG_FD_CLOEXEC);
        if (fd < 0 && errno == ESRCH)
            continue;
        if (fd < 0)
            return cs_fail(err, errno, "no timer for %s on thread %d: %s", o->what, (int)o->threads[t],
                           strerror(errno));
        rings->fds[rings->n_fds++] = fd;
        int filtered = o->filter ? cs_process_filter_attach(o->filter, fd) : 0;
        if (filtered < 0)
            return cs_fail(err, -filtered, "the timer ticks of %s can't be kept to some processes: %s",
                           o->what, strerror(-filtered));
        if (first < 0) {
            int rc = cs_ring_open(&rings->rings[i], fd, o->pages);
            if (rc < 0)
                return cs_fail(err, -rc, "no buffer of %u KB for the timer ticks of %s: %s%s", o->pages * 4,
                               o->what, strerror(-rc),
                               rc == -EPERM ? " (raise /proc/sys/kernel/perf_event_mlock_kb)" : "");
            first = fd;
        } else if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, first)) {
            return cs_fail(err, errno, "the timer ticks of %s can't share a buffer: %s", o->what,
                           strerror(errno));
        }
    }
    rings->polled[i].fd = first;
    rings->polled[i].events = POLLIN;
    return 0;
}

int cs_timer_rings_open(enum cs_sampler_target target, pid_t pid, const struct cs_process_filter *filter,
                        uint64_t period_ns, const struct perf_event_attr *attr, unsigned pages,
                        const char *what, struct cs_timer_rings **out, struct cs_error *err)
{
    static const pid_t everybody = -1;
    struct opening o = {.attr = *attr, .pages = pages, .what = what, .filter = filter};
    pid_t *threads = NULL;
    int *cpus = NULL, n = 1, rc = 0;
    struct cs_timer_rings *rings = calloc(1, sizeof *rings);
    *out = NULL;
    o.attr.type = PERF_TYPE_SOFTWARE;
    o.attr.size = sizeof o.attr;
    o.attr.config = PERF_COUNT_SW_CPU_CLOCK;
    o.attr.sample_period = period_ns;
    o.attr.exclude_kernel = 1;
    o.attr.exclude_hv = 1;
    /* What a shell started before we came isn't inherited. */
    if (target != CS_TARGET_ALL && !filter && (n = cs_threads_below(pid, &threads, 0)) == 0) {
        free(rings);
        free(threads);
        return cs_fail(err, ESRCH, "there is no process %d to follow", (int)pid);
    }
    o.threads = threads ? threads : &everybody;
    o.n_threads = n;
    int n_cpus = cs_online_cpus(&cpus);
    if (rings && n_cpus > 0) {
        rings->rings = calloc((size_t)n_cpus, sizeof *rings->rings);
        rings->polled = calloc((size_t)n_cpus + 1, sizeof *rings->polled);
        rings->fds = calloc((size_t)n_cpus * (size_t)n, sizeof *rings->fds);
    }
    if (!rings || n_cpus <= 0 || !rings->rings || !rings->polled || !rings->fds)
        rc = cs_fail(err, ENOMEM, "out of memory for the timer ticks of %s", what);
    for (int i = 0; !rc && i < n_cpus; i++) {
        rings->n_cpus = i + 1;
        rc = open_on_cpu(rings, i, cpus[i], &o, err);
    }
    free(cpus);
    free(threads);
    if (rc)
        cs_timer_rings_close(rings);
    else
        *out = rings;
    return rc;
}

bool cs_timer_rings_wait(struct cs_timer_rings *rings, int wake_fd, int timeout_ms)
{
    struct pollfd *wake = &rings->polled[rings->n_cpus];
    wake->fd = wake_fd;
    wake->events = POLLIN;
    if (poll(rings->polled, (nfds_t)rings->n_cpus + 1, timeout_ms) <= 0)
        return false;
    for (int i = 0; i < rings->n_cpus; i++)
        if (rings->polled[i].revents & (POLLHUP | POLLERR))
            rings->polled[i].fd = -1; /* the event's thread and all its children have ended */
    return true;
}

void cs_timer_rings_close(struct cs_timer_rings *rings)
{
    if (!rings)
        return;
    for (int i = 0; rings->rings && i < rings->n_cpus; i++)
        cs_ring_close(&rings->rings[i]);
    for (int i = 0; i < rings->n_fds; i++)
        close(rings->fds[i]);
    free(rings->rings);
    free(rings->polled);
    free(rings->fds);
    free(rings);
}
