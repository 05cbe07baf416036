/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The daemon's own state, shared by daemon.c (the loop), session.c (the sampling session, merges) and
 * status.c (what it tells about itself). For these three only. The main thread's. */
#pragma once

#include "sampler/burst/burst.h"
#include "sampler/daemon/account.h"
#include "sampler/daemon/control.h"
#include "sampler/daemon/daemon.h"
#include "sampler/daemon/desk.h"
#include "sampler/daemon/due.h"
#include "sampler/daemon/log.h"
#include "sampler/daemon/settings.h"
#include "sampler/placing/intervals.h"
#include "sampler/sampler.h"

struct cs_daemon {
    const struct cs_daemon_start *start;
    struct cs_daemon_settings settings;
    struct cs_daemon_log log;
    struct cs_daemon_control control;
    struct cs_daemon_due due;
    struct cs_daemon_desk *desk;
    int epoll, signals, wake; /* the epoll set holds signals and the desk's wake; the session wakes by it */

    struct cs_store *store;
    struct cs_sampler *sampler; /* NULL between a failure and the next try */
    struct cs_intervals *intervals;
    struct cs_burst *burst; /* NULL: none asked for, or not possible here */
    struct cs_paths *paths; /* the same */
    char event_texts[CS_DAEMON_SETTING_TEXT_MAX];
    const char *events[CS_SAMPLER_EVENTS_MAX];
    unsigned n_events;

    struct cs_sampler_statistics before;         /* sums of sessions that were closed */
    uint64_t dropped;                            /* samples given up because memory and disk were both full */
    struct cs_counter owed[CS_SAMPLER_COUNTERS]; /* of closed sessions, not in the store yet */
    unsigned n_owed;
    uint64_t sessions, session_failures, next_session_ns, session_began_ns;
    uint64_t started_ns, last_merge_ns, last_merge_took_ns, last_gc_ns, epochs_removed;
    uint64_t pressed_ns;            /* last merge for want of memory */
    uint64_t own_at_begin;          /* bytes of memory when the session began; 0: not looked at yet */
    uint64_t memory_ns;             /* last look */
    uint64_t resident_peak;         /* bytes, as looked at */
    double cpu_at_check, cpu_share; /* of one CPU, over the last merge interval */
    uint64_t check_ns;
    struct cs_rate_cost cost; /* of a sample, as the last session knew it */
    struct cs_cpu_account cpu;
    struct cs_disk_account disk;
    enum cs_disk_state disk_state, session_disk_state; /* as of the last merge; when the session began */
    uint64_t resting_until_ns;                         /* 0: it doesn't rest */
    pid_t sender;                                      /* sends to a server just now, 0 = none */
    uint64_t last_send_ns, sends, send_failures;
    char last_failure[256];
    bool stopping;
};

/* session.c */
int cs_daemon_session_open(struct cs_daemon *daemon, struct cs_error *err);
/* Merges what can be merged; the rest is given up and counted. */
void cs_daemon_session_close(struct cs_daemon *daemon);
int cs_daemon_epoch(struct cs_daemon *daemon, struct cs_error *err);
int cs_daemon_merge(struct cs_daemon *daemon, struct cs_error *err);
void cs_daemon_statistics(struct cs_daemon *daemon, struct cs_sampler_statistics *out);

/* status.c */
void cs_daemon_status(struct cs_daemon *daemon, char text[CS_DAEMON_CONTROL_ANSWER_MAX]);
/* Bytes of memory this process has resident; 0 = not known. *own: of these what is neither a page of a file nor shared; may be
 * NULL. */
uint64_t cs_daemon_resident_bytes(uint64_t *own);
/* CPU time of this process and of all that it started. */
double cs_daemon_cpu_seconds(void);
