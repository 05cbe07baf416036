/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A session: opens the events on the target, lets it run, polls, ends. */
#include "sampler/session/session.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define SIDEBAND_PAGES 64 /* 256 KB a CPU */
#define SIDEBAND_PAGES_SMALL 16
#define KEEP_NS (10 * 1000000000ULL)
#define DRAIN_SAMPLES 2000.0 /* a quarter of a log */
#define DRAIN_SECONDS_LEAST 0.05
#define DRAIN_SECONDS_MOST 1.0

static int add_open(struct cs_sampler *s, struct cs_open_event add)
{
    if (s->n_open == s->room_open) {
        size_t room = s->room_open ? 2 * s->room_open : 64;
        struct cs_open_event *more = realloc(s->open, room * sizeof *more);
        if (!more)
            return -ENOMEM;
        s->open = more;
        s->room_open = room;
    }
    s->open[s->n_open++] = add;
    return 0;
}

int cs_session_open_events(struct cs_sampler *s, pid_t tid, struct cs_error *err)
{
    for (unsigned e = 0; e < s->n_events; e++)
        for (unsigned c = 0; c < s->n_cpus; c++) {
            struct cs_event *event = &s->events[e];
            event->attr.exclude_kernel |= s->user_only;
            int fd = cs_event_open(event, tid, s->cpus[c], err);
            if (fd < 0 && (err->code == EACCES || err->code == EPERM) && !event->attr.exclude_kernel &&
                tid != -1) {
                s->user_only = true;
                event->attr.exclude_kernel = 1;
                fd = cs_event_open(event, tid, s->cpus[c], err);
                if (fd >= 0)
                    cs_sampler_say(s, "the kernel may not be sampled by you (perf_event_paranoid): user code "
                                      "only");
            }
            if (fd < 0)
                return fd;
            if (add_open(s, (struct cs_open_event){fd, (uint8_t)e, (uint8_t)c}) < 0) {
                close(fd);
                return cs_fail(err, ENOMEM, "out of memory for the events");
            }
            int rc = s->driver->attach(s->state, fd, e, c, err);
            if (rc < 0)
                return rc;
        }
    return 0;
}

static int follow(struct cs_sampler *s, pid_t tid, struct cs_error *err)
{
    for (unsigned c = 0; c < s->n_cpus; c++) {
        int rc = cs_sideband_follow(s->sideband, tid, c, SIDEBAND_PAGES, err);
        if (rc == -EPERM && c == 0 && s->config.target != CS_TARGET_ALL) /* over the locked-memory limit */
            rc = cs_sideband_follow(s->sideband, tid, c, SIDEBAND_PAGES_SMALL, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* New threads may appear while the known ones are opened: until a pass finds none. */
static int open_process(struct cs_sampler *s, struct cs_error *err)
{
    pid_t *threads = NULL, *done = NULL;
    int n_done = 0, n, rc = 0;
    for (bool found = true; rc >= 0 && found;) {
        found = false;
        free(threads);
        n = cs_threads_of(s->config.pid, &threads, err);
        if (n < 0) {
            rc = n;
            break;
        }
        for (int i = 0; rc >= 0 && i < n; i++) {
            int k = 0;
            while (k < n_done && done[k] != threads[i])
                k++;
            if (k < n_done)
                continue;
            found = true;
            rc = follow(s, threads[i], err);
            if (rc >= 0)
                rc = cs_session_open_events(s, threads[i], err);
            if (rc == -ESRCH && threads[i] != s->config.pid)
                rc = 0; /* this thread has just ended */
            pid_t *more = realloc(done, (size_t)(n_done + 1) * sizeof *more);
            if (!more) {
                rc = cs_fail(err, ENOMEM, "out of memory for the threads");
                break;
            }
            done = more;
            done[n_done++] = threads[i];
        }
    }
    free(threads);
    free(done);
    return rc;
}

static int parse_events(struct cs_sampler *s, struct cs_error *err)
{
    const struct cs_sampler_config *c = &s->config;
    if (c->n_events > CS_EVENTS_MAX)
        return cs_fail(err, EINVAL, "%u events are more than %d", c->n_events, CS_EVENTS_MAX);
    s->n_events = c->n_events ? c->n_events : 1;
    if (c->n_events == 0) {
        char why[200];
        int rc = cs_event_default(&s->events[0], why, sizeof why, err);
        if (why[0] && rc == 0)
            cs_sampler_say(s, "%s", why);
        return rc;
    }
    for (unsigned e = 0; e < c->n_events; e++) {
        int rc = cs_event_parse(c->events[e], &s->events[e], err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static void prepare_attributes(struct cs_sampler *s)
{
    for (unsigned e = 0; e < s->n_events; e++) {
        struct perf_event_attr *attr = &s->events[e].attr;
        attr->read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
        attr->inherit = s->config.target != CS_TARGET_ALL;
        attr->enable_on_exec = s->config.target == CS_TARGET_COMMAND;
        attr->exclude_guest = 1;
        attr->exclude_hv = 1;
        s->driver->prepare(s->state, attr);
    }
}

/* A software event is counted in the midst of the kernel's work, which an interrupt (disabling the event is
 * one) finds half done. */
static bool in_interrupts(const struct cs_sampler *s)
{
    for (unsigned e = 0; e < s->n_events; e++)
        if (!cs_event_is_clock(&s->events[e]) && s->events[e].attr.type != PERF_TYPE_HARDWARE &&
            s->events[e].attr.type != PERF_TYPE_RAW)
            return false;
    return true;
}

static int open_driver(struct cs_sampler *s, struct cs_error *err)
{
    struct cs_driver_config config = {.n_cpus = s->n_cpus,
                                      .cpus = s->cpus,
                                      .n_events = s->n_events,
                                      .stacks = s->config.stacks,
                                      .in_interrupts = in_interrupts(s),
                                      .keep_ns =
                                          s->config.resolve_ms ? s->config.resolve_ms * 1000000ULL : KEEP_NS,
                                      .generations = s->generations};
    if (s->config.stacks && s->config.driver == CS_DRIVER_BPF)
        return cs_fail(err, EINVAL, "call chains come through the ring driver only");
    if (s->config.driver != CS_DRIVER_RING && !s->config.stacks) {
        s->driver = &cs_driver_bpf;
        int rc = s->driver->open(&config, &s->state, err);
        if (rc == 0 || s->config.driver == CS_DRIVER_BPF)
            return rc;
        if (rc != -EPERM && rc != -EACCES)
            cs_sampler_say(s, "%s: samples come through rings instead", err->text);
    }
    s->driver = &cs_driver_ring;
    return s->driver->open(&config, &s->state, err);
}

static int open_target(struct cs_sampler *s, struct cs_error *err)
{
    int rc;
    switch (s->config.target) {
    case CS_TARGET_ALL:
        rc = follow(s, -1, err);
        if (rc >= 0)
            rc = cs_session_open_events(s, -1, err);
        if (rc >= 0)
            (void)cs_maps_scan_all(s->maps, 0);
        return rc;
    case CS_TARGET_PID:
        s->target_fd = cs_pidfd(s->config.pid);
        if (s->target_fd < 0)
            return cs_fail(err, ESRCH, "there is no process %d", (int)s->config.pid);
        rc = open_process(s, err);
        if (rc >= 0)
            (void)cs_maps_scan(s->maps, s->config.pid, 0);
        return rc;
    case CS_TARGET_COMMAND:
        rc = cs_command_open(&s->command, s->config.command, err);
        if (rc >= 0)
            rc = follow(s, s->command.pid, err);
        if (rc >= 0)
            rc = cs_session_open_events(s, s->command.pid, err);
        if (rc >= 0 && (s->opened_on = malloc(sizeof *s->opened_on)) != NULL)
            s->opened_on[s->n_opened_on++] = s->command.pid;
        return rc;
    }
    return -EINVAL;
}

static int start(struct cs_sampler *s, struct cs_error *err)
{
    if (s->config.target == CS_TARGET_COMMAND)
        return cs_command_go(&s->command, s->config.command[0], err);
    for (size_t i = 0; i < s->n_open; i++)
        if (ioctl(s->open[i].fd, PERF_EVENT_IOC_ENABLE, 0) != 0)
            return cs_fail(err, errno, "an event can't be started: %s", strerror(errno));
    return 0;
}

/* Rarely, because each costs some 50 µs whatever it finds; often enough that no log fills up, even if every
 * sample evicts an entry. */
static uint64_t drain_interval_ns(const struct cs_sampler *s)
{
    double seconds = DRAIN_SAMPLES / (s->rate_hz * s->n_events);
    if (s->config.resolve_ms && seconds > (double)s->config.resolve_ms * 1e-3)
        seconds = (double)s->config.resolve_ms * 1e-3;
    return (uint64_t)(1e9 * (seconds < DRAIN_SECONDS_LEAST  ? DRAIN_SECONDS_LEAST
                             : seconds > DRAIN_SECONDS_MOST ? DRAIN_SECONDS_MOST
                                                            : seconds));
}

/* The first drains come soon, twice as late each time: who asks where an address lies (bursts do, at once)
 * should not have to wait for a new program's images. */
static uint64_t next_drain_ns(struct cs_sampler *s)
{
    uint64_t settled = drain_interval_ns(s), ns = (uint64_t)(1e9 * DRAIN_SECONDS_LEAST) << s->early_drains;
    if (ns >= settled)
        return cs_now_ns() + settled;
    s->early_drains++;
    return cs_now_ns() + ns;
}

int cs_sampler_open(const struct cs_sampler_config *config, struct cs_sampler **out, struct cs_error *err)
{
    struct cs_sampler *s = calloc(1, sizeof *s);
    if (!s)
        return cs_fail(err, ENOMEM, "out of memory for the sampler");
    s->config = *config;
    s->target_fd = -1;
    s->command = (struct cs_command){.pid = -1, .go = -1, .failed = -1, .pidfd = -1, .status = -1};
    s->collector_seconds_at_start = cs_thread_cpu_seconds();
    int rc = parse_events(s, err);
    if (rc >= 0) {
        int n = cs_online_cpus(&s->cpus);
        s->n_cpus = n > 0 ? (unsigned)n : 0;
        s->generations = cs_generations_open();
        s->sideband = n > 0 ? cs_sideband_open(s->n_cpus, s->cpus) : NULL;
        rc = s->generations && s->sideband ? 0 : cs_fail(err, ENOMEM, "out of memory for the sampler");
    }
    if (rc >= 0)
        rc = open_driver(s, err);
    if (rc >= 0) {
        prepare_attributes(s);
        rc = cs_rate_init(s, err);
    }
    if (rc >= 0)
        rc = cs_collect_open(s, err);
    if (rc >= 0)
        rc = open_target(s, err);
    if (rc >= 0 && !s->user_only && !s->events[0].attr.exclude_kernel && cs_kernel_reason(s->kernel)[0])
        cs_sampler_say(s, "%s", cs_kernel_reason(s->kernel));
    if (rc >= 0 && s->config.ready)
        rc = s->config.ready(s->config.arg, s, err);
    if (rc >= 0)
        rc = start(s, err);
    if (rc < 0) {
        cs_sampler_close(s);
        return rc;
    }
    cs_rate_start(s);
    s->next_drain_ns = next_drain_ns(s);
    *out = s;
    return 0;
}

/* ---- running ---- */

static bool target_ended(struct cs_sampler *s)
{
    if (s->config.target == CS_TARGET_COMMAND)
        return cs_command_ended(&s->command);
    struct pollfd gone = {.fd = s->target_fd, .events = POLLIN};
    return s->target_fd >= 0 && poll(&gone, 1, 0) == 1;
}

/* Waits for: a ring half full, the target's end, the caller's descriptor, the next thing due. */
static void wait_for(struct cs_sampler *s, int timeout_ms, uint64_t now)
{
    struct pollfd *fds = malloc((2UL * s->n_cpus + 3) * sizeof *fds);
    nfds_t n = 0;
    uint64_t due = s->next_drain_ns < cs_rate_due(s) ? s->next_drain_ns : cs_rate_due(s);
    int until_due = due <= now                     ? 0
                    : due - now > 1000000000000ULL ? 1000000
                                                   : (int)((due - now) / 1000000 + 1);
    if (!fds)
        return;
    for (unsigned i = 0; i < s->n_cpus; i++) {
        int ring = s->driver->fd(s->state, i);
        if (cs_sideband_fd(s->sideband, i) >= 0)
            fds[n++] = (struct pollfd){.fd = cs_sideband_fd(s->sideband, i), .events = POLLIN};
        if (ring >= 0)
            fds[n++] = (struct pollfd){.fd = ring, .events = POLLIN};
    }
    nfds_t rings = n;
    if (s->config.wake_fd > 0)
        fds[n++] = (struct pollfd){.fd = s->config.wake_fd, .events = POLLIN};
    if (s->target_fd >= 0 || s->command.pidfd >= 0)
        fds[n++] =
            (struct pollfd){.fd = s->target_fd >= 0 ? s->target_fd : s->command.pidfd, .events = POLLIN};
    else if (s->config.target == CS_TARGET_COMMAND && until_due > 50)
        until_due = 50; /* no pidfd on this kernel: look often */
    int timeout = timeout_ms < until_due ? timeout_ms : until_due;
    if (poll(fds, n, timeout) > 0)
        for (nfds_t i = 0; i < rings; i++)
            if (fds[i].revents & POLLIN)
                s->next_drain_ns = 0;
    free(fds);
}

int cs_sampler_poll(struct cs_sampler *s, int timeout_ms, struct cs_error *err)
{
    if (s->stopped || s->ended)
        return 0;
    wait_for(s, timeout_ms, cs_now_ns());
    uint64_t now = cs_now_ns();
    if (now >= cs_rate_due(s))
        cs_rate_tick(s, now);
    if (now >= s->next_drain_ns) {
        int rc = cs_collect_drain(s, CS_DRAIN_SOME, err);
        if (rc < 0)
            return rc;
        s->next_drain_ns = next_drain_ns(s);
    }
    s->ended = s->config.target != CS_TARGET_ALL && target_ended(s);
    return !s->ended;
}

void cs_sampler_keep_up(struct cs_sampler *s)
{
    struct cs_error ignored; /* the next poll meets it again */
    if (s->stopped || s->ended || cs_now_ns() < s->next_drain_ns)
        return;
    (void)cs_collect_drain(s, CS_DRAIN_SOME, &ignored);
    s->next_drain_ns = next_drain_ns(s);
}

int cs_sampler_stop(struct cs_sampler *s, struct cs_error *err)
{
    if (s->stopped)
        return 0;
    for (size_t i = 0; i < s->n_open; i++)
        (void)ioctl(s->open[i].fd, PERF_EVENT_IOC_DISABLE, 0);
    s->stopped = true;
    return cs_collect_drain(s, CS_DRAIN_LAST, err);
}

void cs_sampler_close(struct cs_sampler *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->n_open; i++)
        close(s->open[i].fd);
    if (s->state)
        s->driver->close(s->state);
    cs_sideband_close(s->sideband);
    cs_profiles_close(s->profiles);
    cs_kernel_close(s->kernel);
    cs_jit_close(s->jit);
    free(s->stack_text);
    cs_maps_close(s->maps);
    cs_images_close(s->images);
    cs_generations_close(s->generations);
    cs_command_close(&s->command);
    if (s->target_fd >= 0)
        close(s->target_fd);
    free(s->open);
    free(s->opened_on);
    free(s->cpus);
    free(s);
}

/* ---- what it tells ---- */

void cs_sampler_statistics(struct cs_sampler *s, struct cs_sampler_statistics *out)
{
    struct cs_driver_counts counts;
    s->driver->counts(s->state, &counts);
    *out = (struct cs_sampler_statistics){
        .driver = s->driver->name,
        .delivered = counts.delivered,
        .lost = counts.lost + s->dropped,
        .entries = counts.entries,
        .map_records_lost = cs_sideband_lost(s->sideband),
        .merged = s->merged,
        .pending = cs_profiles_pending(s->profiles),
        .images = cs_images_count(s->images),
        .processes = cs_maps_processes(s->maps),
        .merges = s->merges,
        .merge_failures = s->merge_failures,
        .rate_hz = s->rate_hz,
        .sample_cost_us = cs_cost_upper(&s->cost) * 1e6,
        .loss = s->budget.loss,
        .collector_cpu_seconds = cs_thread_cpu_seconds() - s->collector_seconds_at_start,
        .held_ns = __atomic_load_n(&s->held_ns, __ATOMIC_RELAXED),
    };
    for (unsigned c = 0; c < CS_UNKNOWN_N; c++)
        out->unknown += s->unknown[c];
}

uint64_t cs_sampler_unknown(const struct cs_sampler *s, enum cs_unknown cause)
{
    return s->unknown[cause];
}
unsigned cs_sampler_events(const struct cs_sampler *s)
{
    return s->n_events;
}
const char *cs_sampler_event(const struct cs_sampler *s, unsigned event)
{
    return event < s->n_events ? s->events[event].name : "";
}
pid_t cs_sampler_child(const struct cs_sampler *s)
{
    return s->command.pid;
}
int cs_sampler_child_status(const struct cs_sampler *s)
{
    return s->command.status;
}

void cs_sampler_held(struct cs_sampler *s, uint64_t ns)
{
    __atomic_fetch_add(&s->held_ns, ns, __ATOMIC_RELAXED);
}

double cs_sampler_sample_cost(const struct cs_sampler *s)
{
    double seconds;
    __atomic_load(&s->cost_seconds, &seconds, __ATOMIC_RELAXED);
    return seconds;
}

double cs_sampler_burst_allowance(const struct cs_sampler *s)
{
    /* A command's bursts cost what they are charged; the whole machine's, more. */
    double part = s->config.target == CS_TARGET_ALL ? CS_BUDGET_MARGIN * 2 / 3 : 0.75;
    return s->config.budget > 0 ? s->config.budget * part : 0;
}

int cs_sampler_locate(struct cs_sampler *s, pid_t pid, uint64_t addr, uint64_t time_ns,
                      const struct cs_image **image, uint64_t *offset)
{
    struct cs_found found;
    int rc = cs_maps_find(s->maps, pid, addr, time_ns, time_ns, &found);
    if (rc == 0) {
        *image = &found.image->image;
        *offset = found.offset;
    }
    return rc;
}
