/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/perf/timer_rings.h"
#include "sampler/perf/process_filter.h"
#include "sampler/perf/target.h"
#include "store/base/clock.h"

#include <assert.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOOK_NS 1000000000ULL

static const pid_t everybody = -1;

static void close_on(struct cs_timer_rings *rings, int i)
{
    if (rings->rings[i].page)
        cs_ring_close(&rings->rings[i]);
    rings->polled[i].fd = -1;
    for (int *fd = rings->fds + i * rings->n_threads, *end = fd + rings->n_threads; fd < end; fd++) {
        if (*fd >= 0)
            close(*fd);
        *fd = -1;
    }
}

static int open_on(struct cs_timer_rings *rings, int i, const pid_t *threads, struct cs_error *err)
{
    int first = -1;
    for (int t = 0; t < rings->n_threads; t++) {
        rings->attr.inherit = threads[t] != -1;
        int fd = (int)syscall(SYS_perf_event_open, &rings->attr, threads[t], rings->cpus.cpu[i].number, -1,
                              PERF_FLAG_FD_CLOEXEC);
        if (fd < 0 && errno == ESRCH)
            continue;
        if (fd < 0)
            return cs_fail(err, errno, "no timer for %s on thread %d: %s", rings->what, (int)threads[t],
                           strerror(errno));
        rings->fds[i * rings->n_threads + t] = fd;
        int filtered = rings->filter ? cs_process_filter_attach(rings->filter, fd) : 0;
        if (filtered < 0)
            return cs_fail(err, -filtered, "the timer ticks of %s can't be kept to some processes: %s",
                           rings->what, strerror(-filtered));
        if (first < 0) {
            int rc = cs_ring_open(&rings->rings[i], fd, rings->pages);
            if (rc < 0)
                return cs_fail(err, -rc, "no buffer of %u KB for the timer ticks of %s: %s%s",
                               rings->pages * 4, rings->what, strerror(-rc),
                               rc == -EPERM ? " (raise /proc/sys/kernel/perf_event_mlock_kb)" : "");
            first = fd;
        } else if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, first)) {
            return cs_fail(err, errno, "the timer ticks of %s can't share a buffer: %s", rings->what,
                           strerror(errno));
        }
    }
    rings->polled[i].fd = first;
    rings->polled[i].events = POLLIN;
    return 0;
}

/* Who can't be followed on a CPU that came is tried again. */
static void follow_cpus(struct cs_timer_rings *rings)
{
    uint64_t now = cs_monotonic_ns();
    struct cs_error ignored;
    if (now < rings->next_look_ns)
        return;
    rings->next_look_ns = now + LOOK_NS;
    if (!cs_cpus_look(&rings->cpus))
        return;
    for (int i = 0; i < rings->n_cpus; i++) {
        struct cs_cpu *cpu = &rings->cpus.cpu[i];
        if (cpu->gone)
            close_on(rings, i);
        if (cpu->online && rings->fds[i] < 0 && open_on(rings, i, &everybody, &ignored) < 0) {
            close_on(rings, i);
            cpu->online = false;
        }
    }
}

int cs_timer_rings_open(enum cs_sampler_target target, pid_t pid, const struct cs_process_filter *filter,
                        uint64_t period_ns, const struct perf_event_attr *attr, unsigned pages,
                        const char *what, struct cs_timer_rings **out, struct cs_error *err)
{
    assert(period_ns > 0 && pages > 0 && (pages & (pages - 1)) == 0);
    pid_t *threads = NULL;
    int n = 1, rc = 0;
    *out = NULL;
    /* What a shell started before we came isn't inherited. */
    if (target != CS_TARGET_ALL && !filter && (n = cs_threads_below(pid, &threads, 0)) == 0) {
        free(threads);
        return cs_fail(err, ESRCH, "there is no process %d to follow", (int)pid);
    }
    struct cs_timer_rings *rings = calloc(1, sizeof *rings);
    if (rings && cs_cpus_open(&rings->cpus) == 0) {
        rings->n_cpus = (int)rings->cpus.n;
        rings->n_threads = n;
        rings->rings = calloc(rings->cpus.n, sizeof *rings->rings);
        rings->polled = calloc(rings->cpus.n + 1, sizeof *rings->polled);
        rings->fds = malloc(rings->cpus.n * (size_t)n * sizeof *rings->fds);
    }
    if (!rings || !rings->rings || !rings->polled || !rings->fds) {
        if (rings)
            rings->n_cpus = 0; /* nothing is open */
        rc = cs_fail(err, ENOMEM, "out of memory for the timer ticks of %s", what);
    } else {
        memset(rings->fds, 0xff, rings->cpus.n * (size_t)n * sizeof *rings->fds);
        for (int i = 0; i < rings->n_cpus; i++)
            rings->polled[i].fd = -1;
        rings->attr = *attr;
        rings->attr.type = PERF_TYPE_SOFTWARE;
        rings->attr.size = sizeof rings->attr;
        rings->attr.config = PERF_COUNT_SW_CPU_CLOCK;
        rings->attr.sample_period = period_ns;
        rings->attr.exclude_kernel = 1;
        rings->attr.exclude_hv = 1;
        rings->pages = pages;
        rings->filter = filter;
        rings->what = what;
        rings->next_look_ns = threads ? UINT64_MAX : cs_monotonic_ns() + LOOK_NS;
    }
    for (int i = 0; !rc && i < rings->n_cpus; i++)
        if (rings->cpus.cpu[i].online)
            rc = open_on(rings, i, threads ? threads : &everybody, err);
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
    follow_cpus(rings);
    if (poll(rings->polled, (nfds_t)rings->n_cpus + 1, timeout_ms) <= 0)
        return false;
    for (int i = 0; i < rings->n_cpus; i++)
        if (rings->polled[i].revents & (POLLHUP | POLLERR))
            rings->polled[i].fd = -1; /* the event's thread and all its children have ended */
    return true;
}

void cs_timer_rings_enable(struct cs_timer_rings *rings)
{
    rings->attr.disabled = 0;
    for (int i = 0; i < rings->n_cpus * rings->n_threads; i++)
        if (rings->fds[i] >= 0)
            ioctl(rings->fds[i], PERF_EVENT_IOC_ENABLE, 0);
}

void cs_timer_rings_close(struct cs_timer_rings *rings)
{
    if (!rings)
        return;
    for (int i = 0; i < rings->n_cpus; i++)
        close_on(rings, i);
    cs_cpus_close(&rings->cpus);
    free(rings->rings);
    free(rings->polled);
    free(rings->fds);
    free(rings);
}
