/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One event a thread and CPU (the kernel lets inherited events be read through a ring only if they are bound
 * to a CPU), one ring a CPU. Moments are rare, so only the latest counts: an older one is a thread that has
 * long gone on. */
#include "sampler/burst_moments.h"
#include "sampler/ring.h"
#include "sampler/target.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

struct cs_moments {
    int n_cpus, n_fds;
    struct cs_ring *rings;
    struct pollfd *polled; /* a ring each, then the wake descriptor */
    int *fds;              /* all events */
};

static int open_event(pid_t tid, int cpu, uint64_t period_ns)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof attr,
        .config = PERF_COUNT_SW_CPU_CLOCK,
        .sample_period = period_ns,
        .sample_type = PERF_SAMPLE_TID,
        .wakeup_events = 1,
        .inherit = tid != -1,
        .exclude_kernel = 1,
        .exclude_hv = 1,
        .disabled = 0,
    };
    return (int)syscall(SYS_perf_event_open, &attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static int open_on_cpu(struct cs_moments *moments, int i, int cpu, const pid_t *threads, int n,
                       uint64_t period_ns, struct cs_error *err)
{
    int first = -1;
    for (int t = 0; t < n; t++) {
        int fd = open_event(threads[t], cpu, period_ns);
        if (fd < 0 && errno == ESRCH)
            continue;
        if (fd < 0)
            return cs_fail(err, errno, "no timer for bursts on thread %d: %s", (int)threads[t],
                           strerror(errno));
        moments->fds[moments->n_fds++] = fd;
        if (first < 0) {
            int rc = cs_ring_open(&moments->rings[i], fd, 2);
            if (rc < 0)
                return cs_fail(err, -rc, "no buffer for the moments of bursts: %s", strerror(-rc));
            first = fd;
        } else if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, first)) {
            return cs_fail(err, errno, "the moments of bursts can't share a buffer: %s", strerror(errno));
        }
    }
    moments->polled[i].fd = first;
    moments->polled[i].events = POLLIN;
    return 0;
}

int cs_moments_open(enum cs_target target, pid_t pid, uint64_t period_ns, struct cs_moments **out,
                    struct cs_error *err)
{
    static const pid_t everybody = -1;
    pid_t *threads = NULL;
    int *cpus = NULL, n = 1, rc = 0;
    struct cs_moments *moments = calloc(1, sizeof *moments);
    *out = NULL;
    /* What a shell started before we came isn't inherited. */
    if (target != CS_TARGET_ALL && (n = cs_threads_below(pid, &threads, 0)) == 0) {
        free(moments);
        free(threads);
        return cs_fail(err, ESRCH, "there is no process %d to follow", (int)pid);
    }
    int n_cpus = cs_online_cpus(&cpus);
    if (moments && n_cpus > 0) {
        moments->rings = calloc((size_t)n_cpus, sizeof *moments->rings);
        moments->polled = calloc((size_t)n_cpus + 1, sizeof *moments->polled);
        moments->fds = calloc((size_t)n_cpus * (size_t)n, sizeof *moments->fds);
    }
    if (!moments || n_cpus <= 0 || !moments->rings || !moments->polled || !moments->fds)
        rc = cs_fail(err, ENOMEM, "out of memory for the moments of bursts");
    for (int i = 0; !rc && i < n_cpus; i++) {
        moments->n_cpus = i + 1;
        rc = open_on_cpu(moments, i, cpus[i], threads ? threads : &everybody, n, period_ns, err);
    }
    free(cpus);
    free(threads);
    if (rc)
        cs_moments_close(moments);
    else
        *out = moments;
    return rc;
}

int cs_moments_wait(struct cs_moments *moments, int wake_fd, int timeout_ms, struct cs_moment *moment)
{
    struct pollfd *wake = &moments->polled[moments->n_cpus];
    int found = 0;
    wake->fd = wake_fd;
    wake->events = POLLIN;
    if (poll(moments->polled, (nfds_t)moments->n_cpus + 1, timeout_ms) <= 0)
        return 0;
    for (int i = 0; i < moments->n_cpus; i++) {
        struct cs_ring *ring = &moments->rings[i];
        const struct perf_event_header *header;
        if (!ring->page)
            continue;
        if (moments->polled[i].revents & (POLLHUP | POLLERR))
            moments->polled[i].fd = -1; /* the event's thread and all its children have ended */
        cs_ring_snapshot(ring);
        while ((header = cs_ring_next(ring)) != NULL)
            if (header->type == PERF_RECORD_SAMPLE && header->size >= sizeof *header + 8) {
                uint32_t ids[2];
                memcpy(ids, header + 1, sizeof ids);
                moment->pid = (pid_t)ids[0];
                moment->tid = (pid_t)ids[1];
                found = 1;
            }
        cs_ring_release(ring);
    }
    return found;
}

void cs_moments_close(struct cs_moments *moments)
{
    if (!moments)
        return;
    for (int i = 0; i < moments->n_cpus; i++)
        cs_ring_close(&moments->rings[i]);
    for (int i = 0; i < moments->n_fds; i++)
        close(moments->fds[i]);
    free(moments->rings);
    free(moments->polled);
    free(moments->fds);
    free(moments);
}
