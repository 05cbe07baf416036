/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The events of a session: what is asked for, and the descriptors that are open, one an event, CPU and
 * thread. The driver that takes their samples belongs to them, because each descriptor is attached to it.
 *
 * Invariant: `open` holds every descriptor that counts; what was counted by one that was closed is in
 * `closed`. One owner. */
#pragma once

#include "sampler/driver/driver.h"
#include "sampler/images/sideband.h"
#include "sampler/perf/events.h"
#include "sampler/sampler.h"

struct cs_session_event { /* one descriptor: an event on a CPU, of a thread or of all */
    int fd;
    uint16_t event, cpu_index;
};

struct cs_session_event_reading { /* TOTAL_TIME_ENABLED | TOTAL_TIME_RUNNING */
    uint64_t value, enabled_ns, running_ns;
};

struct cs_session_events {
    struct cs_event asked[CS_SAMPLER_EVENTS_MAX];
    unsigned n_asked;
    struct cs_cpus cpus;
    bool user_only;         /* the kernel may not be sampled by us */
    double budget_of_stops; /* of the driver "stops": share of the time of what is sampled; 0: none asked */
    struct cs_process_filter
        *filter; /* events are of CPUs, these processes count; NULL: events are of threads, or of
                                       * all */

    const struct cs_driver *driver;
    struct cs_sideband *sideband; /* the session's; NULL: not yet */
    struct cs_driver_state *state;

    struct cs_session_event *open;
    size_t n_open, open_capacity;
    struct cs_session_event_reading closed[CS_SAMPLER_EVENTS_MAX]; /* sums over events that were closed */

    /* reopen.c's */
    size_t n_first;      /* of the open ones, the first, which are off when others have replaced them */
    unsigned n_reopened; /* times */
    pid_t *opened_on;    /* threads that have events of their own, sorted; none: the first ones do */
    int n_opened_on;
};

/* Names to events; none: the machine's default, with a remark where that is no counter. */
int cs_session_events_parse(struct cs_session_events *events, const struct cs_sampler_config *config,
                            struct cs_error *err);
/* What all descriptors have in common; the driver is open by now. */
void cs_session_events_prepare(struct cs_session_events *events, const struct cs_sampler_config *config);
/* All events of one thread (or of all processes, -1) on all CPUs, not enabled yet. */
int cs_session_events_open(struct cs_session_events *events, const struct cs_sampler_config *config,
                           pid_t tid, struct cs_error *err);
/* Those of all processes, on a CPU that came online, not enabled yet; and those of a CPU that has gone. */
int cs_session_events_open_on(struct cs_session_events *events, const struct cs_sampler_config *config,
                              unsigned cpu_index, struct cs_error *err);
void cs_session_events_close_on(struct cs_session_events *events, unsigned cpu_index);
/* Of descriptors `from` up to `to` (exclusive). 0 or -errno of the first failure. */
int cs_session_events_enable(const struct cs_session_events *events, size_t from, size_t to, bool on);
/* PERF_EVENT_IOC_PERIOD: a period, or a rate where the kernel keeps the rate. */
void cs_session_events_period(const struct cs_session_events *events, unsigned event, uint64_t period);
/* Adds a descriptor's reading to sums by event. */
void cs_session_events_read(const struct cs_session_event *one, struct cs_session_event_reading *sums);
void cs_session_events_close(struct cs_session_events *events);
