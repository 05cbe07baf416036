/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "observer/source/events.h"
#include "observer/source/readable.h"
#include "store/base/array.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PMU_SENTENCE                                                                                         \
    "%s cannot be counted: this machine shows no such counter (`cyclescope doctor` tells why); what can be " \
    "observed "                                                                                              \
    "here: the program's signals (-s), its threads and system calls (-s os:thread,os:syscall), and what "    \
    "the kernel "                                                                                            \
    "counts (-e task-clock,page-faults,context-switches)"

struct group {
    int fds[CS_COUNTERS_MAX]; /* the first is the leader */
    uint64_t waited_ns;       /* enabled but not counting, so far */
};

struct cs_events {
    const struct cs_observe_event *events; /* as long as the coordinator's options */
    unsigned n;
    bool core; /* rdpmc: the core's and the observer's own counters */
    bool own, user_only;
    CS_ARRAY(struct group) threads; /* of the target */
    struct group mine;
    struct perf_event_mmap_page *pages[CS_COUNTERS_MAX];
    struct cs_pmc hardware[CS_COUNTERS_MAX]; /* own counters that rdpmc can read */
    unsigned n_hardware;
};

bool cs_events_any_thread(const char **why)
{
    return cs_pmc_any_thread(why);
}

static bool of_the_kernel(const struct perf_event_attr *attr)
{
    return attr->type == PERF_TYPE_SOFTWARE;
}

static void close_group(struct group *g, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (g->fds[i] >= 0)
            close(g->fds[i]);
}

static int refused(const struct cs_observe_event *event, int code, struct cs_error *err)
{
    switch (code) {
    case ENOENT:
    case EOPNOTSUPP:
    case ENODEV:
        return cs_fail(err, code, PMU_SENTENCE, event->name);
    case EACCES:
    case EPERM:
        return cs_fail(err, code,
                       "%s may not be counted by you: it needs root or CAP_PERFMON here (sysctl "
                       "kernel.perf_event_paranoid)",
                       event->name);
    case EBUSY:
    case ENOSPC:
        return cs_fail(err, code,
                       "%s cannot be counted now: somebody else (a profiler, a watchdog) holds the counters",
                       event->name);
    case EINVAL:
        return cs_fail(
            err, code,
            "%s cannot be counted: the kernel refuses it with these modifiers, or beside the others",
            event->name);
    case EMFILE:
        return cs_fail(err, code, "%s cannot be counted for so many threads: too many open files (ulimit -n)",
                       event->name);
    default:
        return cs_fail(err, code, "%s cannot be counted: %s", event->name, strerror(code));
    }
}

static int open_one(struct cs_events *e, const struct perf_event_attr *attr, pid_t tid, int leader)
{
    struct perf_event_attr copy = *attr;
    copy.exclude_kernel |= e->user_only;
    copy.exclude_hv |= e->user_only;
    int fd = (int)syscall(SYS_perf_event_open, &copy, tid, -1, leader, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0 && (errno == EACCES || errno == EPERM) && !copy.exclude_kernel && leader < 0) {
        copy = *attr;
        copy.exclude_kernel = copy.exclude_hv = 1;
        fd = (int)syscall(SYS_perf_event_open, &copy, tid, -1, leader, PERF_FLAG_FD_CLOEXEC);
        e->user_only = fd >= 0;
    }
    return fd;
}

static struct perf_event_attr counting(const struct cs_observe_event *event, bool of_target)
{
    struct perf_event_attr attr = event->attr;
    attr.size = sizeof attr;
    attr.disabled = 0;
    attr.inherit = of_target;
    attr.sample_period = 0;
    attr.freq = 0;
    attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    return attr;
}

/* The whole group for one thread, or nothing. */
static int open_group(struct cs_events *e, pid_t tid, struct group *g, struct cs_error *err)
{
    *g = (struct group){.fds = {-1, -1, -1, -1}};
    for (unsigned i = 0; i < e->n; i++) {
        struct perf_event_attr attr = counting(&e->events[i], true);
        g->fds[i] = open_one(e, &attr, tid, i ? g->fds[0] : -1);
        if (g->fds[i] < 0) {
            int code = errno;
            close_group(g, e->n);
            return refused(&e->events[i], code, err);
        }
    }
    return 0;
}

/* Whether the events exist, asked of ourselves: a target isn't started to be told that they don't. */
static int probe(struct cs_events *e, struct cs_error *err)
{
    struct group g;
    int rc = open_group(e, 0, &g, err);
    if (rc == 0)
        close_group(&g, e->n);
    return rc;
}

static int check_any_thread(const struct cs_observe_event *events, unsigned n, bool smt, struct cs_error *err)
{
    const char *why;
    for (unsigned i = 0; i < n; i++) {
        if (events[i].any_thread != events[0].any_thread)
            return cs_fail(err, EINVAL,
                           "%s and %s: events of the core (:t) and of the target alone are read in different "
                           "ways; observe them one after the other",
                           events[0].name, events[i].name);
        if (events[i].any_thread && !cs_events_any_thread(&why))
            return cs_fail(err, EOPNOTSUPP,
                           "%s: %s; without :t the target's own counter is read, by a system call a sample",
                           events[i].name, why);
        if (events[i].any_thread && !smt)
            return cs_fail(err, EINVAL,
                           "%s: the core's counters are seen from its own second hardware thread only: "
                           "give --smt",
                           events[i].name);
    }
    return 0;
}

int cs_events_open(const struct cs_observe_event *events, unsigned n, bool smt, bool own,
                   struct cs_events **out, struct cs_error *err)
{
    bool core = n && events[0].any_thread;
    int rc = check_any_thread(events, n, smt, err);
    if (rc < 0)
        return rc;
    if (n * (core || own ? 2 : 1) > CS_COUNTERS_MAX)
        return cs_fail(err, E2BIG, "at most %d counters fit in a sample: %d events%s", CS_COUNTERS_MAX,
                       core || own ? CS_COUNTERS_MAX / 2 : CS_COUNTERS_MAX,
                       core || own ? ", each with the observer's own share" : "");
    struct cs_events *e = calloc(1, sizeof *e);
    if (!e)
        return cs_fail(err, ENOMEM, "no memory for events");
    e->events = events;
    e->n = n;
    e->core = core;
    e->own = own || core;
    for (unsigned i = 0; i < CS_COUNTERS_MAX; i++)
        e->mine.fds[i] = -1;
    rc = probe(e, err);
    if (rc < 0) {
        cs_events_close(e);
        return rc;
    }
    *out = e;
    return 0;
}

void cs_events_close(struct cs_events *e)
{
    if (!e)
        return;
    for (size_t i = 0; i < e->threads.n; i++)
        close_group(&e->threads.at[i], e->n);
    for (unsigned i = 0; i < CS_COUNTERS_MAX; i++)
        if (e->pages[i])
            munmap(e->pages[i], (size_t)sysconf(_SC_PAGESIZE));
    close_group(&e->mine, CS_COUNTERS_MAX);
    cs_array_free(&e->threads);
    free(e);
}

unsigned cs_events_counters(const struct cs_events *e)
{
    return e->n * (e->own ? 2 : 1);
}

void cs_events_name(const struct cs_events *e, unsigned counter, char *to, size_t size)
{
    const char *name = e->events[counter % e->n].name;
    bool own = counter >= e->n;
    size_t length = strlen(name);
    if (own && e->core) /* its own share of what `name:t` counts */
        length = (size_t)(strrchr(name, ':') - name);
    snprintf(to, size, "%.*s%s", (int)(length < 40 ? length : 40), name, own ? CS_EVENT_OWN_SUFFIX : "");
}

bool cs_events_by_read(const struct cs_events *e)
{
    return !e->core;
}

bool cs_events_user_only(const struct cs_events *e)
{
    return e->user_only;
}

static int add_thread(struct cs_events *e, pid_t tid, struct cs_error *err)
{
    struct group g;
    int rc = open_group(e, tid, &g, err);
    if (rc < 0)
        return rc;
    if (cs_array_reserve(&e->threads, e->threads.n + 1) < 0) {
        close_group(&g, e->n);
        return cs_fail(err, ENOMEM, "no memory for the events of %zu threads", e->threads.n + 1);
    }
    e->threads.at[e->threads.n++] = g;
    return 0;
}

int cs_events_open_target(struct cs_events *e, pid_t process, pid_t thread, struct cs_error *err)
{
    if (e->core)
        return 0;
    if (thread)
        return add_thread(e, thread, err);
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)process);
    DIR *tasks = opendir(path);
    if (!tasks)
        return cs_fail(err, ESRCH, "process %d ended before its events could be counted", (int)process);
    struct dirent *entry;
    int rc = 0;
    while (rc == 0 && (entry = readdir(tasks))) {
        pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (tid <= 0)
            continue;
        rc = add_thread(e, tid, err);
        if (rc == -ESRCH) /* it ended meanwhile */
            rc = 0;
    }
    closedir(tasks);
    if (rc == 0 && e->threads.n == 0)
        rc = cs_fail(err, ESRCH, "process %d ended before its events could be counted", (int)process);
    return rc;
}

/* One counter of the observer's thread; a page is mapped where rdpmc might read it. */
static int open_mine(struct cs_events *e, unsigned slot, const struct cs_observe_event *event, bool any,
                     struct cs_error *err)
{
    struct perf_event_attr attr = counting(event, false);
    if (e->core && !any)
        attr.config &= ~(uint64_t)CS_PMC_ANY_THREAD;
    int leader = slot ? e->mine.fds[0] : -1, fd = -1;
    if (!of_the_kernel(&attr) && CS_PMC_USER_ACCESS) {
        struct perf_event_attr readable = attr;
        readable.config1 |= CS_PMC_USER_ACCESS;
        fd = open_one(e, &readable, 0, leader);
    }
    if (fd < 0)
        fd = open_one(e, &attr, 0, leader);
    if (fd < 0)
        return refused(event, errno, err);
    e->mine.fds[slot] = fd;
    if (of_the_kernel(&attr))
        return 0;
    void *page = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, fd, 0);
    if (page != MAP_FAILED)
        e->pages[slot] = page;
    return 0;
}

int cs_events_open_own(struct cs_events *e, struct cs_pmc hardware[CS_COUNTERS_MAX], struct cs_error *err)
{
    unsigned n = e->core ? 2 * e->n : e->own ? e->n : 0, rdpmc = 0;
    int rc = 0;
    for (unsigned i = 0; rc == 0 && e->n && i < n; i++)
        rc = open_mine(e, i, &e->events[i % e->n], e->core && i < e->n, err);
    for (unsigned i = 0; rc == 0 && i < n; i++)
        rdpmc += cs_pmc_readable(e->pages[i]);
    if (rc < 0)
        return rc;
    if (n && rdpmc == n) {
        for (unsigned i = 0; i < n; i++)
            e->hardware[i] = (struct cs_pmc){e->pages[i], e->pages[i]->pmc_width};
        e->n_hardware = n;
    } else if (e->core) {
        return cs_fail(
            err, EOPNOTSUPP,
            "counters may not be read from user space here (/sys/bus/event_source/devices/cpu/rdpmc, "
            "kernel.perf_user_access), and the core's can't be read otherwise");
    }
    if (hardware)
        memcpy(hardware, e->hardware, sizeof e->hardware);
    return 0;
}

/* Adds a group's counters; false when it didn't count all the time. */
static bool read_group(struct group *g, unsigned n, uint64_t *sums)
{
    struct {
        uint64_t n, enabled_ns, running_ns, values[CS_COUNTERS_MAX];
    } seen;
    ssize_t bytes = read(g->fds[0], &seen, sizeof seen);
    if (bytes < (ssize_t)((3 + n) * sizeof(uint64_t)))
        return false;
    for (unsigned i = 0; i < n; i++)
        sums[i] += seen.values[i];
    uint64_t waited = seen.enabled_ns - seen.running_ns;
    bool complete = waited == g->waited_ns;
    g->waited_ns = waited;
    return complete;
}

bool cs_events_read(struct cs_events *e, uint64_t counters[CS_COUNTERS_MAX])
{
    bool complete = true;
    memset(counters, 0, cs_events_counters(e) * sizeof *counters);
    for (size_t i = 0; i < e->threads.n; i++)
        complete &= read_group(&e->threads.at[i], e->n, counters);
    if (!e->own)
        return complete;
    if (!e->n_hardware)
        return complete & read_group(&e->mine, e->n, counters + e->n);
    for (unsigned i = 0; i < e->n; i++)
        counters[e->n + i] = cs_pmc_read(&e->hardware[i], &complete);
    return complete;
}
