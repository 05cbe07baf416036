/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a session is made of. Internal: session.c opens and runs it, collect.c brings samples in and places
 * them, merge.c puts them into the store, rate.c keeps the period, reopen.c gives it to all. */
#ifndef CS_SAMPLER_SESSION_H
#define CS_SAMPLER_SESSION_H

#include "sampler/rate/budget.h"
#include "sampler/rate/cost.h"
#include "sampler/driver/driver.h"
#include "sampler/perf/events.h"
#include "sampler/images/images.h"
#include "sampler/images/jit.h"
#include "sampler/images/kernel_image.h"
#include "sampler/images/maps.h"
#include "sampler/rate/period.h"
#include "sampler/session/profiles.h"
#include "sampler/sampler.h"
#include "sampler/images/sideband.h"
#include "sampler/perf/target.h"

struct cs_open_event { /* one descriptor: an event on a CPU, of a thread or of all */
    int fd;
    uint8_t event, cpu_index;
};

struct cs_event_reading { /* TOTAL_TIME_ENABLED | TOTAL_TIME_RUNNING */
    uint64_t value, enabled_ns, running_ns;
};

struct cs_sampler {
    struct cs_sampler_config config;
    struct cs_event events[CS_EVENTS_MAX];
    unsigned n_events;
    struct cs_period periods[CS_EVENTS_MAX];
    bool by_frequency[CS_EVENTS_MAX]; /* the kernel adapts the period (counted events with a rate) */

    int *cpus;
    unsigned n_cpus;
    struct cs_open_event *open;
    size_t n_open, room_open;
    size_t n_first;      /* of them, the session's first, which are off when others have replaced them */
    unsigned n_reopened; /* times */
    pid_t *opened_on;    /* threads that have events of their own, sorted; none: the first ones do */
    int n_opened_on;
    struct cs_event_reading closed[CS_EVENTS_MAX]; /* sums over events that were closed */
    struct cs_command command;
    int target_fd; /* pidfd of CS_TARGET_PID */
    bool ended, stopped, user_only;

    const struct cs_driver *driver;
    struct cs_driver_state *state;
    struct cs_generations *generations;
    struct cs_images *images;
    struct cs_maps *maps;
    struct cs_kernel *kernel;
    struct cs_jit *jit;
    struct cs_sideband *sideband;
    struct cs_profiles *profiles;
    struct cs_mapped_image *unknown_image;

    uint64_t next_drain_ns, next_redraw_ns, horizon_ns;
    unsigned early_drains; /* of a session's first second */
    double rate_hz;
    bool rate_changed; /* threads that inherited their events don't know yet */

    struct cs_budget budget;
    struct cs_cost cost; /* of a sample */
    double cost_seconds; /* its upper bound; read by other threads */
    uint64_t next_budget_ns, next_calibration_ns;
    double seldom_seconds; /* CPU time of calibrations and merges that is not charged yet */
    uint64_t window_ns, window_samples, window_held_ns; /* at the start of the budget's window */
    double window_collector;
    double asked_seconds, asked_samples; /* since the last merge; samples: of a CPU that is always busy */

    /* accounts */
    uint64_t unknown[CS_UNKNOWN_N];
    uint64_t delivered_by_event[CS_EVENTS_MAX];
    uint64_t dropped; /* placed, but no memory to keep them: told as lost */
    uint64_t merged, merges, merge_failures;
    uint64_t counted[CS_SAMPLER_COUNTERS];                         /* already in the store */
    uint64_t enabled_ns[CS_EVENTS_MAX], running_ns[CS_EVENTS_MAX]; /* at the last merge */
    double collector_seconds_at_start;
    uint64_t held_ns;
    pid_t scanned[64]; /* PIDs whose maps were read in this drain because something was missing */
    unsigned n_scanned;
    char *stack_text; /* of the chain at hand */
    size_t stack_room;
    uint64_t map_records_lost_said;
};

void cs_sampler_say(struct cs_sampler *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* session.c: all events of one thread (or of all processes, -1) on all CPUs, not enabled yet. */
int cs_session_open_events(struct cs_sampler *s, pid_t tid, struct cs_error *err);

/* reopen.c: gives the events' attributes of now to threads that inherited older ones. Where it can't be done
 * all is as before. */
void cs_session_reopen_events(struct cs_sampler *s);

/* collect.c */
int cs_collect_open(struct cs_sampler *s, struct cs_error *err); /* after the sideband's rings are open */
/* Places an entry; what can't be is at its cause in "[unknown]": then -(1 + cause). */
int cs_collect_find(struct cs_sampler *s, const struct cs_drained *entry, struct cs_found *found);
int cs_collect_drain(struct cs_sampler *s, enum cs_drain how, struct cs_error *err);
double cs_thread_cpu_seconds(void);

/* rate.c */
int cs_rate_init(struct cs_sampler *s,
                 struct cs_error *err);   /* before events are opened: their first period */
void cs_rate_start(struct cs_sampler *s); /* sampling begins */
uint64_t cs_rate_due(const struct cs_sampler *s);
void cs_rate_tick(struct cs_sampler *s, uint64_t now_ns); /* when that has come */
/* CPU time of what happens seldom (a merge, a calibration): the budget pays for it over a minute, or the rate
 * would drop after each. */
void cs_rate_seldom(struct cs_sampler *s, double cpu_seconds);
/* Mean period of a clock that the budget moves, over the time since this was last asked. */
double cs_rate_mean_period_ns(struct cs_sampler *s);

#endif
