/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One sampling session, from its opening to the merge. Internal to the module (and the benchmarks).
 *
 * Lower files first; nothing calls upwards.
 *
 * Files of this module:
 *   remarks         sentences for the session's user
 *   open_events     the events and their descriptors
 *   by_timers       a session without perf_event_open
 *   reopen          new periods for threads that inherited their events
 *   rate_control    the period, drawn anew from time to time, and the budget
 *   other_rights    processes that became somebody else's
 *   hotplug         CPUs that come and go
 *   collect         a drain: records applied, entries placed and counted
 *   session         opens, polls, stops and closes
 *   merge           puts what is in memory into the store
 *   statistics      what a session tells about itself */
#pragma once

#include "sampler/images/sideband.h"
#include "sampler/perf/target.h"
#include "sampler/placing/attributes.h"
#include "sampler/placing/chains.h"
#include "sampler/placing/contexts.h"
#include "sampler/placing/held_rows.h"
#include "sampler/placing/profiles.h"
#include "sampler/placing/resolve.h"
#include "sampler/placing/stack_copies.h"
#include "sampler/placing/waits.h"
#include "sampler/session/open_events.h"
#include "sampler/session/rate_control.h"
#include "sampler/session/remarks.h"
#include "store/base/clock.h"

struct cs_session_target { /* who is sampled, as config.target says */
    struct cs_waiting_command command;
    int pidfd; /* of CS_TARGET_PID */
    bool ended, stopped;
};

/* Invariant: delivered = placed + unknown. */
struct cs_session_accounts {
    uint64_t unknown[CS_UNKNOWN_N];
    uint64_t delivered_by_event[CS_SAMPLER_EVENTS_MAX];
    uint64_t chain_ends[CS_CHAIN_ENDS],
        chain_frames; /* of samples by stops: other drivers count, or can't tell */
    uint64_t dropped; /* placed, but no memory to keep them: counted as lost */
    uint64_t merged, merges, merge_failures;
    uint64_t counted[CS_SAMPLER_COUNTERS];                                 /* already in the store */
    struct cs_session_event_reading merged_reading[CS_SAMPLER_EVENTS_MAX]; /* at the last merge */
    uint64_t sideband_lost_seen, sideband_lost_told, sideband_told_ns;
    uint64_t filtered_told;
    uint64_t interpreters_told, interpreters_told_ns;
    uint64_t conflicts_told, conflicts_told_ns;
    double collector_seconds_at_start;
};

struct cs_sampler {
    struct cs_sampler_config config;
    struct cs_session_target target;
    struct cs_session_events events;
    struct cs_session_rate rate;
    struct cs_session_places places;
    struct cs_held_rows held;
    uint64_t keep_ns; /* rows wait so long to be placed, in the kernel or here */
    struct cs_session_accounts accounts;
    struct cs_session_profiles *profiles;
    struct cs_session_contexts *contexts; /* NULL: no chains were asked for */
    struct cs_session_chains *chains;     /* NULL: none, or the driver needs no help; so are the two below */
    struct cs_image_tables *tables;
    struct cs_stack_copies *copies;
    struct cs_wait_kernel wait_kernel;
    struct cs_session_waits *waits; /* NULL: not asked, or not to be had */
    struct cs_attribute_kernel attribute_kernel;
    struct cs_session_attributes *attributes; /* NULL: not asked */
    struct cs_generations *generations;
    struct cs_sideband *sideband;
    uint64_t next_drain_ns, drained_ns, horizon_ns, looked_ns;
    bool records_wait; /* of processes and mappings: a ring fills up */
    bool hotplug_told; /* that a CPU can't be sampled */
    bool other_rights_told;
    uint64_t next_rights_ns;
    unsigned early_drains; /* of a session's first second */
};

/* collect.c: hands on what the driver has, and moves the horizon. */
/* Code takes the place of other code so often that rows must be short. */
bool cs_session_code_is_replaced(const struct cs_sampler *s);
int cs_session_drain(struct cs_sampler *s, enum cs_driver_drain how, struct cs_error *err);
/* The kernel's records up to `line_ns` alone: files are looked at while they are there, at a tenth of a drain's cost. */
int cs_session_take_records(struct cs_sampler *s, uint64_t line_ns, struct cs_error *err);

/* collect.c: what runs is looked for in /proc: records of it are missing. */
void cs_session_look_anew(struct cs_sampler *s, uint64_t line_ns);

/* hotplug.c: after cs_cpus_look() and a drain: events of CPUs that have gone are closed, those of CPUs that came are
 * opened. */
void cs_session_hotplug(struct cs_sampler *s);

/* statistics.c: samples that could not be placed, all causes. */
uint64_t cs_session_unknown_samples(const struct cs_session_accounts *accounts);
