/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "observer/source/events.h"
#include "observer/source/core_events.h"
#include "observer/source/readable.h"
#include "store/base/array.h"
#include "store/base/kernel_files.h"

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

#define OWN_MAX (2 * CS_COUNTERS_MAX) /* of each event of the core: the whole, and the observer's part */

struct group {
    int fds[OWN_MAX];   /* the first is the leader */
    uint64_t waited_ns; /* enabled but not counting, so far */
    bool counted;       /* at all */
};

struct cs_events {
    const struct cs_observe_event *events; /* as long as the coordinator's options */
    unsigned n;
    bool core; /* rdpmc: of the core's counters the observer's own share is taken off */
    bool own, user_only;
    CS_ARRAY(struct group) threads; /* of the target */
    /* Own counters: with `core` those of the core, then the observer's share of those that are sums. */
    struct group mine;
    struct perf_event_mmap_page *pages[OWN_MAX];
    struct cs_pmc hardware[OWN_MAX];    /* those that rdpmc can read */
    uint32_t sequence[CS_COUNTERS_MAX]; /* of their pages, when they were read last */
    unsigned n_mine;
    int share[CS_COUNTERS_MAX]; /* of an event, which own counter is the observer's share; -1: none */
    bool readable;
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
        return cs_fail(
            err, code,
            "%s cannot be counted now: busy, somebody else (a profiler, a watchdog) holds the counters",
            event->name);
    case EINVAL:
        return cs_fail(
            err, code,
            "%s cannot be counted: the kernel refuses it with these modifiers, or together with the others",
            event->name);
    case EMFILE:
        return cs_fail(err, code,
                       "%s cannot be counted for this number of threads: too many open files (ulimit -n)",
                       event->name);
    default:
        return cs_fail(err, code, "%s cannot be counted: %s", event->name, strerror(code));
    }
}

/* The counters of this processor are taken: what came before goes, what is left goes in a run of its own. */
static int does_not_fit(const struct cs_events *e, const struct cs_observe_event *event, struct cs_error *err)
{
    char before[160] = "";
    size_t used = 0;
    for (unsigned i = 0; i < e->n && &e->events[i] != event && used < sizeof before; i++)
        used +=
            (size_t)snprintf(before + used, sizeof before - used, "%s%s", i ? "," : "", e->events[i].name);
    if (!used)
        return cs_fail(err, ENOSPC,
                       "%s needs two free counters, one of the core and one of the observer. Something else "
                       "holds counters: a profiler, or the NMI watchdog",
                       event->name);
    return cs_fail(err, ENOSPC,
                   "%s doesn't fit with the others: an event of the core takes two counters. Use observe -e "
                   "%s, and then -e %s",
                   event->name, before, event->name);
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
    for (unsigned i = 0; i < OWN_MAX; i++)
        g->fds[i] = -1;
    g->waited_ns = 0;
    g->counted = false;
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

/* One counter of the observer's thread; a page is mapped where rdpmc might read it. */
static int open_mine(struct cs_events *e, unsigned slot, const struct cs_observe_event *event, bool any,
                     struct cs_error *err)
{
    struct perf_event_attr attr = counting(event, false);
    if (any && !cs_core_event(&attr))
        return cs_fail(err, EINVAL, "%s can't be counted for both hardware threads of a core", event->name);
    if (e->core && !any && cs_core_event(&attr)) /* encoded like the core's */
        attr.config &= ~(uint64_t)CS_PMC_ANY_THREAD;
    int leader = slot ? e->mine.fds[0] : -1, fd = -1;
    if (!of_the_kernel(&attr) && CS_PMC_USER_ACCESS) {
        struct perf_event_attr readable = attr;
        readable.config1 |= CS_PMC_USER_ACCESS;
        fd = open_one(e, &readable, 0, leader);
    }
    if (fd < 0)
        fd = open_one(e, &attr, 0, leader);
    if (fd < 0 && slot && (errno == EINVAL || errno == ENOSPC) && e->core)
        return does_not_fit(e, event, err);
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

static void close_mine(struct cs_events *e)
{
    for (unsigned i = 0; i < OWN_MAX; i++)
        if (e->pages[i])
            munmap(e->pages[i], (size_t)sysconf(_SC_PAGESIZE));
    memset(e->pages, 0, sizeof e->pages);
    close_group(&e->mine, OWN_MAX);
    for (unsigned i = 0; i < OWN_MAX; i++)
        e->mine.fds[i] = -1;
}

/* All own counters, in one group. */
static int open_all_mine(struct cs_events *e, struct cs_error *err)
{
    int rc = 0;
    for (unsigned i = 0; rc == 0 && i < e->n && e->n_mine; i++)
        rc = open_mine(e, i, &e->events[i], e->core, err);
    for (unsigned i = 0; rc == 0 && i < e->n && e->core; i++)
        if (e->share[i] >= 0)
            rc = open_mine(e, (unsigned)e->share[i], &e->events[i], false, err);
    return rc;
}

/* Pinned events of others may hold all counters: then a group opens, and never counts. */
static bool never_counts(const struct group *g)
{
    uint64_t seen[3 + OWN_MAX] = {0}; /* n, enabled, running, values */
    for (volatile unsigned i = 0; i < 200000; i++)
        ;
    return read(g->fds[0], seen, sizeof seen) > 0 && seen[1] > 0 && seen[2] == 0;
}

/* Whether the events exist, and can be counted together, asked of ourselves: a target isn't started to be told that
 * they don't. */
static int probe(struct cs_events *e, struct cs_error *err)
{
    struct group g;
    int rc = e->core ? open_all_mine(e, err) : open_group(e, 0, &g, err);
    const bool open = rc == 0;
    if (open && never_counts(e->core ? &e->mine : &g))
        rc = refused(e->events, EBUSY, err);
    if (e->core)
        close_mine(e);
    else if (open)
        close_group(&g, e->n);
    return rc;
}

static int check_any_thread(const struct cs_observe_event *events, unsigned n, bool smt, struct cs_error *err)
{
    const char *why;
    for (unsigned i = 0; i < n; i++) {
        if (events[i].any_thread != events[0].any_thread)
            return cs_fail(err, EINVAL,
                           "%s and %s can't be observed together: the core's counters have one, system calls "
                           "the other. Use observe -e %s, and then -e %s",
                           events[0].name, events[i].name, events[0].name, events[i].name);
        if (events[i].any_thread && !cs_events_any_thread(&why))
            return cs_fail(err, EOPNOTSUPP,
                           "%s: %s; without :t the target's own counter is read, by a system call a sample",
                           events[i].name, why);
        if (events[i].any_thread && !smt)
            return cs_fail(
                err, EINVAL,
                "%s: the core's counters are seen from its own second hardware thread only: give --smt",
                events[i].name);
    }
    return 0;
}

/* Of the core's events, which are the observer's in part. */
static void share_out(struct cs_events *e)
{
    e->n_mine = e->core || e->own ? e->n : 0;
    for (unsigned i = 0; i < e->n; i++) {
        e->share[i] = e->core ? -1 : (int)i;
        struct perf_event_attr attr = e->events[i].attr;
        if (e->core && cs_core_event(&attr) && cs_core_event_is_sum(&attr))
            e->share[i] = (int)e->n_mine++;
    }
}

int cs_events_open(const struct cs_observe_event *events, unsigned n, bool smt, bool own,
                   struct cs_events **out, struct cs_error *err)
{
    bool core = n && events[0].any_thread;
    int rc = check_any_thread(events, n, smt, err);
    if (rc < 0)
        return rc;
    if (n * (own ? 2 : 1) > CS_COUNTERS_MAX)
        return cs_fail(err, E2BIG, "at most %d counters fit in a sample: %d events%s", CS_COUNTERS_MAX,
                       own ? CS_COUNTERS_MAX / 2 : CS_COUNTERS_MAX,
                       own ? ", each with the observer's own share" : "");
    struct cs_events *e = calloc(1, sizeof *e);
    if (!e)
        return cs_fail(err, ENOMEM, "no memory for events");
    e->events = events;
    e->n = n;
    e->core = core;
    e->own = own;
    for (unsigned i = 0; i < OWN_MAX; i++)
        e->mine.fds[i] = -1;
    share_out(e);
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
    close_mine(e);
    cs_array_free(&e->threads);
    free(e);
}

unsigned cs_events_counters(const struct cs_events *e)
{
    return e->n * (e->own ? 2 : 1);
}

/* "instructions" of "instructions:t", "instructions:u" of "instructions:ut": what is left is the program's own. */
static void without_any_thread(const char *name, char *to, size_t size)
{
    const char *modifiers = strrchr(name, ':');
    size_t n = modifiers ? (size_t)(modifiers - name) : strlen(name);
    snprintf(to, size, "%.*s", (int)n, name);
    if (!modifiers || strspn(modifiers + 1, "ukhpt") != strlen(modifiers + 1)) {
        snprintf(to, size, "%s", name);
        return;
    }
    bool first = true;
    for (const char *at = modifiers + 1; *at && n + 3 < size; at++) {
        if (*at == 't')
            continue;
        if (first)
            to[n++] = ':';
        first = false;
        to[n++] = *at;
        to[n] = '\0';
    }
}

void cs_events_name(const struct cs_events *e, unsigned counter, char *to, size_t size)
{
    char name[41];
    without_any_thread(e->events[counter % e->n].name, name, sizeof name);
    snprintf(to, size, "%s%s", name, counter >= e->n ? CS_EVENT_OWN_SUFFIX : "");
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
    pid_t *tids;
    const int n = cs_tasks_of(process, &tids);
    int rc = 0;
    for (int i = 0; rc == 0 && i < n; i++) {
        rc = add_thread(e, tids[i], err);
        if (rc == -ESRCH) /* it ended meanwhile */
            rc = 0;
    }
    free(tids);
    if (rc == 0 && e->threads.n == 0)
        rc = cs_fail(err, ESRCH, "process %d ended before its events could be counted", (int)process);
    return rc;
}

/* Which own counter counts the observer's part of an event; cycles of the core are all the observer's, too. */
static unsigned own_counter(const struct cs_events *e, unsigned event)
{
    return e->share[event] >= 0 ? (unsigned)e->share[event] : event;
}

int cs_events_open_own(struct cs_events *e, struct cs_pmc hardware[CS_COUNTERS_MAX], struct cs_error *err)
{
    unsigned readable = 0;
    int rc = open_all_mine(e, err);
    if (rc < 0)
        return rc;
    for (unsigned i = 0; i < e->n_mine; i++)
        readable += cs_pmc_readable(e->pages[i]);
    e->readable = e->n_mine && readable == e->n_mine;
    if (!e->readable && e->core)
        return cs_fail(err, EOPNOTSUPP,
                       "the core's counters can only be read from user space, which isn't allowed here. See "
                       "/sys/bus/event_source/devices/cpu/rdpmc or kernel.perf_user_access");
    for (unsigned i = 0; i < e->n_mine && e->readable; i++)
        e->hardware[i] = (struct cs_pmc){.page = e->pages[i], .width = e->pages[i]->pmc_width};
    for (unsigned i = 0; i < e->n && e->core; i++) {
        e->hardware[i].sequence = &e->sequence[i];
        if (e->share[i] >= 0)
            e->hardware[i].own = &e->hardware[e->share[i]];
    }
    for (unsigned i = 0; i < cs_events_counters(e) && hardware && e->core; i++)
        hardware[i] = i < e->n ? e->hardware[i] : e->hardware[own_counter(e, i - e->n)];
    return 0;
}

/* Adds a group's counters; false when it didn't count all the time. */
static bool read_group(struct group *g, unsigned n, uint64_t *sums)
{
    struct {
        uint64_t n, enabled_ns, running_ns, values[OWN_MAX];
    } seen;
    ssize_t bytes = read(g->fds[0], &seen, sizeof seen);
    if (bytes < (ssize_t)((3 + n) * sizeof(uint64_t)))
        return false;
    for (unsigned i = 0; i < n; i++)
        sums[i] += seen.values[i];
    uint64_t waited = seen.enabled_ns - seen.running_ns;
    bool complete = waited == g->waited_ns;
    g->waited_ns = waited;
    g->counted |= seen.running_ns > 0;
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
    if (!e->readable)
        return complete & read_group(&e->mine, e->n, counters + e->n);
    for (unsigned i = 0; i < e->n; i++)
        counters[e->n + i] = cs_pmc_read(&e->hardware[i], &complete);
    return complete;
}

bool cs_events_never_counted(const struct cs_events *e)
{
    bool waited = false, counted = false;
    for (size_t i = 0; i < e->threads.n; i++) {
        waited |= e->threads.at[i].waited_ns > 0;
        counted |= e->threads.at[i].counted;
    }
    return waited && !counted;
}

bool cs_events_own(const struct cs_events *e, unsigned event, uint64_t *events)
{
    bool complete = true;
    if (!e->core || event >= e->n || e->share[event] < 0)
        return false;
    *events = cs_pmc_read(&e->hardware[e->share[event]], &complete);
    return complete;
}
