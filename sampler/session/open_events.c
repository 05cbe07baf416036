/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens events on threads and CPUs and attaches each to the driver. Where the kernel may not be sampled, user
 * code alone is, with one remark. */
#include "sampler/session/open_events.h"
#include "sampler/perf/event_groups.h"
#include "sampler/perf/process_filter.h"
#include "sampler/session/remarks.h"
#include "store/base/array.h"

#include <assert.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* An event that two groups name is counted once: twice in one profile it would be twice as many. */
static int parse_one(struct cs_session_events *events, const char *name, struct cs_error *err)
{
    for (unsigned e = 0; e < events->n_asked; e++)
        if (strcmp(events->asked[e].name, name) == 0)
            return 0;
    if (events->n_asked == CS_SAMPLER_EVENTS_MAX)
        return cs_fail(err, EINVAL, "more than %d events", CS_SAMPLER_EVENTS_MAX);
    struct cs_event *event = &events->asked[events->n_asked];
    int rc = cs_event_parse(name, event, err);
    if (rc == 0 && event->any_thread)
        return cs_fail(err, EINVAL,
                       "event %s: `:t` counts both hardware threads of a core, which a sample can't tell "
                       "apart: leave :t out, or use `observe`",
                       name);
    events->n_asked += rc == 0;
    return rc;
}

/* Instructions beside the default cycles: their ratio is measured where no other event shares the counters with them. */
static int add_instructions(struct cs_session_events *events, const struct cs_sampler_config *config,
                            struct cs_error *err)
{
    char both[512];
    struct cs_error refused;
    if (cs_event_group("@ipc", 1, "", both, sizeof both, &refused) == 0 && strchr(both, ','))
        return parse_one(events, "instructions", err);
    cs_session_remark(
        config,
        "CPI isn't measured: the counters don't hold instructions next to cycles now. `record -e cycles` and "
        "`record -e instructions` count them one after the other, `cyclescope doctor` tells why");
    return 0;
}

int cs_session_events_parse(struct cs_session_events *events, const struct cs_sampler_config *config,
                            struct cs_error *err)
{
    if (config->n_events == 0) {
        char why[200];
        events->n_asked = 1;
        int rc = cs_event_default(&events->asked[0], why, sizeof why, err);
        if (why[0] && rc == 0)
            cs_session_remark(config, "%s", why);
        return rc == 0 && !why[0] && config->cpi ? add_instructions(events, config, err) : rc;
    }
    events->n_asked = 0;
    for (unsigned e = 0; e < config->n_events; e++) {
        char list[512];
        int rc = 0;
        snprintf(list, sizeof list, "%s", config->events[e]);
        if (list[0] == '@')
            rc = cs_event_group(config->events[e], 1, "", list, sizeof list, err);
        char *rest = list, *one;
        while (rc == 0 && (one = strsep(&rest, config->events[e][0] == '@' ? "," : "")))
            rc = parse_one(events, one, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

void cs_session_events_prepare(struct cs_session_events *events, const struct cs_sampler_config *config)
{
    for (unsigned e = 0; e < events->n_asked; e++) {
        struct perf_event_attr *attr = &events->asked[e].attr;
        attr->read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
        bool of_threads = config->target != CS_TARGET_ALL && !events->filter;
        attr->inherit = of_threads;
        attr->enable_on_exec = of_threads && config->target == CS_TARGET_COMMAND;
        attr->exclude_guest = 1;
        attr->exclude_hv = 1;
        events->driver->prepare(events->state, attr);
    }
}

static int open_one(struct cs_session_events *events, const struct cs_sampler_config *config, pid_t tid,
                    unsigned e, unsigned c, struct cs_error *err)
{
    struct cs_event *event = &events->asked[e];
    event->attr.exclude_kernel |= events->user_only;
    int fd = cs_event_open(event, tid, events->cpus.cpu[c].number, err);
    if (fd < 0 && (err->code == EACCES || err->code == EPERM) && !event->attr.exclude_kernel && tid != -1) {
        events->user_only = true;
        event->attr.exclude_kernel = 1;
        fd = cs_event_open(event, tid, events->cpus.cpu[c].number, err);
        if (fd >= 0)
            cs_session_remark(config,
                              "the kernel may not be sampled by you (perf_event_paranoid): user code only");
    }
    if (fd < 0)
        return fd;
    if (cs_array_room(events->open, events->n_open, events->open_capacity) < 0) {
        close(fd);
        return cs_fail(err, ENOMEM, "out of memory for the events");
    }
    events->open[events->n_open++] = (struct cs_session_event){fd, (uint16_t)e, (uint16_t)c};
    int rc = events->driver->attach(events->state, fd, e, c, err);
    if (rc >= 0 && events->driver == &cs_driver_bpf && events->sideband)
        cs_sideband_hear(events->sideband, fd, c);
    return rc;
}

int cs_session_events_open(struct cs_session_events *events, const struct cs_sampler_config *config,
                           pid_t tid, struct cs_error *err)
{
    int rc = 0;
    for (unsigned e = 0; rc >= 0 && e < events->n_asked; e++)
        for (unsigned c = 0; rc >= 0 && c < events->cpus.n; c++)
            if (events->cpus.cpu[c].online)
                rc = open_one(events, config, tid, e, c, err);
    return rc < 0 ? rc : 0;
}

int cs_session_events_open_on(struct cs_session_events *events, const struct cs_sampler_config *config,
                              unsigned cpu_index, struct cs_error *err)
{
    int rc = 0;
    for (unsigned e = 0; rc >= 0 && e < events->n_asked; e++)
        rc = open_one(events, config, -1, e, cpu_index, err);
    return rc < 0 ? rc : 0;
}

void cs_session_events_close_on(struct cs_session_events *events, unsigned cpu_index)
{
    size_t kept = 0;
    events->driver->detach(events->state, cpu_index);
    for (size_t i = 0; i < events->n_open; i++) {
        if (events->open[i].cpu_index != cpu_index) {
            events->open[kept++] = events->open[i];
            continue;
        }
        cs_session_events_read(&events->open[i], events->closed);
        close(events->open[i].fd);
    }
    events->n_open = kept;
}

int cs_session_events_enable(const struct cs_session_events *events, size_t from, size_t to, bool on)
{
    assert(from <= to && to <= events->n_open);
    int rc = 0;
    for (size_t i = from; i < to; i++)
        if (ioctl(events->open[i].fd, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0) != 0 && !rc)
            rc = -errno;
    return rc;
}

void cs_session_events_period(const struct cs_session_events *events, unsigned event, uint64_t period)
{
    assert(event < events->n_asked && period > 0);
    for (size_t i = 0; i < events->n_open; i++)
        if (events->open[i].event == event)
            (void)ioctl(events->open[i].fd, PERF_EVENT_IOC_PERIOD, &period);
    if (cs_event_is_clock(&events->asked[event]) && events->driver->clock_period)
        events->driver->clock_period(events->state, event, period);
}

void cs_session_events_read(const struct cs_session_event *one, struct cs_session_event_reading *sums)
{
    struct cs_session_event_reading r;
    if (read(one->fd, &r, sizeof r) != (ssize_t)sizeof r)
        return;
    sums[one->event].value += r.value;
    sums[one->event].enabled_ns += r.enabled_ns;
    sums[one->event].running_ns += r.running_ns;
}

void cs_session_events_close(struct cs_session_events *events)
{
    for (size_t i = 0; i < events->n_open; i++)
        close(events->open[i].fd);
    if (events->state)
        events->driver->close(events->state);
    cs_process_filter_close(events->filter);
    free(events->open);
    free(events->opened_on);
    cs_cpus_close(&events->cpus);
}
