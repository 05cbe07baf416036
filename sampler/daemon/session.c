/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The daemon's sampling session: opened, merged, closed and opened again without a sample unaccounted for. */
#include "sampler/daemon/state.h"
#include "store/base/clock.h"

#include <assert.h>
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

static void session_notifies(void *arg, const char *sentence)
{
    cs_daemon_log_write(&((struct cs_daemon *)arg)->log, sentence);
}

static void session_placed(void *arg, const struct cs_sampler_placed *placed)
{
    struct cs_daemon *daemon = arg;
    if (daemon->intervals)
        cs_intervals_add(daemon->intervals, placed, cs_sampler_event(daemon->sampler, placed->event));
}

/* "a,b{c,d},e" to its three names: commas within braces belong to a name. */
static void split_events(struct cs_daemon *daemon)
{
    memcpy(daemon->event_texts, daemon->settings.events, sizeof daemon->event_texts);
    daemon->n_events = 0;
    int depth = 0;
    char *begin = daemon->event_texts;
    for (char *c = begin; begin && daemon->n_events < CS_SAMPLER_EVENTS_MAX; c++) {
        depth += (*c == '{') - (*c == '}');
        if (*c && (*c != ',' || depth > 0))
            continue;
        bool last = !*c;
        *c = '\0';
        if (*begin)
            daemon->events[daemon->n_events++] = begin;
        begin = last ? NULL : c + 1;
    }
}

/* A daemon without bursts is still a daemon. */
static void open_bursts(struct cs_daemon *daemon, const struct cs_sampler_config *config)
{
    struct cs_error err;
    struct cs_burst_config bursts = {.sampler = daemon->sampler,
                                     .target = config->target,
                                     .pid = config->pid,
                                     .real_time_too = daemon->settings.burst_real_time,
                                     .runners_bytes = (uint64_t)daemon->settings.burst_bytes};
    if (daemon->settings.bursts && cs_burst_open(&bursts, &daemon->burst, &err) < 0) {
        daemon->burst = NULL;
        cs_daemon_notify(&daemon->log, "no bursts: %s", err.text);
    }
}

static void open_paths(struct cs_daemon *daemon, const struct cs_sampler_config *config)
{
    struct cs_error err;
    struct cs_paths_config paths = {.sampler = daemon->sampler,
                                    .target = config->target,
                                    .pid = config->pid,
                                    .follow = daemon->start->follow_path,
                                    .arg = daemon->start->follow_arg};
    if (daemon->settings.paths && paths.follow && cs_paths_open(&paths, &daemon->paths, &err) < 0) {
        daemon->paths = NULL;
        cs_daemon_notify(&daemon->log, "no paths: %s", err.text);
    }
}

int cs_daemon_session_open(struct cs_daemon *daemon, struct cs_error *err)
{
    assert(!daemon->sampler);
    const struct cs_daemon_settings *settings = &daemon->settings;
    split_events(daemon);
    bool fixed = settings->frequency_hz > 0 || settings->period > 0;
    struct cs_sampler_config config = {
        .events = daemon->events,
        .n_events = daemon->n_events,
        .budget = fixed ? 0 : settings->budget,
        .cost = daemon->cost,
        .frequency_hz = settings->frequency_hz,
        .period = (uint64_t)settings->period,
        .target = settings->pid > 0 ? CS_TARGET_PID : CS_TARGET_ALL,
        .pid = (pid_t)settings->pid,
        .store = daemon->store,
        .keep_code_max = (uint64_t)settings->keep_code_bytes,
        .jit_bytes_max = cs_memory_jit_bytes(cs_daemon_memory_bytes(settings)),
        .driver = settings->driver,
        .bursts = settings->bursts,
        .chains = settings->chains && daemon->disk_state == CS_DISK_ROOM,
        .waits = settings->waits && daemon->disk_state == CS_DISK_ROOM,
        .waits_by_name = true,
        .tables_cpu_max = cs_cpu_account_tables(&daemon->cpu),
        .waits_cpu_max = cs_cpu_account_waits(&daemon->cpu),
        .label = settings->label == CS_LABEL_PROCESS ? CS_LABEL_LASTING : settings->label,
        .attribute = settings->attribute,
        .resolve_ms = settings->intervals_s > 0 ? (uint64_t)(settings->intervals_s * 250) + 1 : 0,
        .wake_fd = daemon->epoll,
        .arg = daemon,
        .notify = session_notifies,
        .placed = settings->intervals_s > 0 ? session_placed : NULL,
    };
    if (settings->intervals_s > 0 &&
        cs_intervals_open((uint64_t)(settings->intervals_s * 1000), (uint64_t)settings->intervals_bytes,
                          &daemon->intervals) < 0)
        return cs_fail(err, ENOMEM, "not enough memory for intervals");
    int rc = cs_sampler_open(&config, &daemon->sampler, err);
    if (rc == -EACCES || rc == -EPERM) {
        struct cs_error why = *err;
        cs_fail(err, -rc, "%.400s; --pid PID profiles a process of yours and what it starts", why.text);
    }
    if (rc < 0) {
        cs_intervals_close(daemon->intervals);
        daemon->intervals = NULL;
        daemon->sampler = NULL;
        return rc;
    }
    daemon->sessions++;
    daemon->own_at_begin = 0;
    daemon->session_began_ns = cs_monotonic_ns();
    open_bursts(daemon, &config);
    open_paths(daemon, &config);
    return 0;
}

void cs_daemon_statistics(struct cs_daemon *daemon, struct cs_sampler_statistics *out)
{
    const struct cs_sampler_statistics *before = &daemon->before;
    *out = (struct cs_sampler_statistics){.driver = "none"};
    if (daemon->sampler)
        cs_sampler_statistics(daemon->sampler, out);
    out->delivered += before->delivered;
    out->unknown += before->unknown;
    out->lost += before->lost;
    out->map_records_lost += before->map_records_lost;
    out->mappings_cut += before->mappings_cut;
    out->images_cut += before->images_cut;
    out->interpreters_cut += before->interpreters_cut;
    out->image_conflicts += before->image_conflicts;
    out->jit_cut += before->jit_cut;
    out->entries += before->entries;
    out->merged += before->merged;
    out->merges += before->merges;
    out->merge_failures += before->merge_failures;
    out->collector_cpu_seconds += before->collector_cpu_seconds;
}

/* What a session that is closed had counted and could not write; the next merge that succeeds does. */
static void owe(struct cs_daemon *daemon, const char *name, uint64_t n)
{
    unsigned i = 0;
    while (i < daemon->n_owed && strcmp(daemon->owed[i].name, name) != 0)
        i++;
    if (i == daemon->n_owed)
        daemon->owed[daemon->n_owed++] = (struct cs_counter){name, 0};
    daemon->owed[i].n += n;
}

static int pay_owed(struct cs_daemon *daemon, struct cs_error *err)
{
    int rc = daemon->n_owed ? cs_store_count_all(daemon->store, daemon->owed, daemon->n_owed, err) : 0;
    if (rc == 0)
        daemon->n_owed = 0;
    return rc;
}

void cs_daemon_session_close(struct cs_daemon *daemon)
{
    struct cs_error err;
    if (!daemon->sampler)
        return;
    if (daemon->burst)
        cs_burst_stop(daemon->burst);
    if (daemon->paths)
        cs_paths_stop(daemon->paths);
    if (cs_sampler_stop(daemon->sampler, &err) < 0)
        cs_daemon_notify(&daemon->log, "%s", err.text);
    cs_daemon_merge(daemon, &err);
    struct cs_sampler_statistics sums;
    cs_daemon_statistics(daemon, &sums);
    if (sums.pending) {
        cs_daemon_notify(&daemon->log,
                         "%llu samples are lost: they could not be written and the session ends",
                         (unsigned long long)sums.pending);
        daemon->dropped += sums.pending;
        owe(daemon, "lost", sums.pending);
    }
    struct cs_counter rest[CS_SAMPLER_COUNTERS];
    size_t n = cs_sampler_uncounted(daemon->sampler, rest);
    for (size_t i = 0; i < n; i++)
        owe(daemon, rest[i].name, rest[i].n);
    (void)pay_owed(daemon, &err);
    daemon->before = sums;
    daemon->cost = cs_sampler_measured_cost(daemon->sampler);
    cs_intervals_close(daemon->intervals);
    daemon->intervals = NULL;
    cs_burst_close(daemon->burst);
    daemon->burst = NULL;
    cs_paths_close(daemon->paths);
    daemon->paths = NULL;
    cs_sampler_close(daemon->sampler);
    daemon->sampler = NULL;
    malloc_trim(0);
}

int cs_daemon_epoch(struct cs_daemon *daemon, struct cs_error *err)
{
    struct utsname host;
    char meta[CS_DAEMON_SETTING_TEXT_MAX + 512], events[CS_DAEMON_SETTING_TEXT_MAX];
    uname(&host);
    snprintf(events, sizeof events, "%s", daemon->settings.events);
    for (char *c = events; *c; c++)
        if (*c == '"' || *c == '\\' || (unsigned char)*c < ' ')
            *c = '_';
    snprintf(meta, sizeof meta,
             "{\"writer\":\"daemon\",\"command\":\"daemon\",\"events\":\"%s\",\"budget\":%g,\"kernel\":\"%"
             "s\",\"machine\":\"%s\"}",
             events, daemon->settings.budget, host.release, host.machine);
    int rc = cs_store_epoch(daemon->store, meta, err);
    cs_disk_account_epoch(&daemon->disk);
    if (rc == 0 && daemon->intervals)
        cs_intervals_epoch(daemon->intervals);
    return rc;
}

static int merge_once(struct cs_daemon *daemon, struct cs_error *err)
{
    int rc = cs_sampler_merge(daemon->sampler, err);
    if (rc == 0)
        rc = pay_owed(daemon, err);
    if (rc == 0 && daemon->intervals)
        rc = cs_intervals_merge(daemon->intervals, daemon->store, daemon->sampler, err);
    if (rc == 0 && daemon->burst)
        rc = cs_burst_merge(daemon->burst, daemon->store, err);
    if (rc == 0 && daemon->paths)
        rc = cs_paths_merge(daemon->paths, daemon->store, err);
    return rc;
}

static void note_disk(struct cs_daemon *daemon, uint64_t now)
{
    const enum cs_disk_state before = daemon->disk_state;
    daemon->disk_state =
        cs_disk_account_update(&daemon->disk, (double)now / 1e9, cs_store_epoch_bytes(daemon->store));
    if (daemon->disk_state > before)
        cs_daemon_notify(&daemon->log, "the store has grown by %s of the %.0f MB that a day may take: %s",
                         daemon->disk_state == CS_DISK_LEAN ? "three quarters" : "all",
                         daemon->disk.bytes_max / 1e6,
                         daemon->disk_state == CS_DISK_LEAN ? "without call chains and waits from now on"
                                                            : "nothing is sampled until the day ends");
}

int cs_daemon_merge(struct cs_daemon *daemon, struct cs_error *err)
{
    uint64_t began = cs_monotonic_ns();
    if (!daemon->sampler)
        return pay_owed(daemon, err);
    int rc = merge_once(daemon, err);
    if (rc == -ENOENT || rc == -EBADMSG || rc == -EPROTONOSUPPORT || rc == -EINVAL || rc == -ENOTDIR) {
        /* The epoch is gone or can't be added to: another one can. */
        struct cs_error why = *err;
        rc = cs_daemon_epoch(daemon, err);
        if (rc == 0)
            rc = merge_once(daemon, err);
        cs_daemon_notify(&daemon->log, "%s; a new epoch was begun", why.text);
    }
    uint64_t now = cs_monotonic_ns();
    cs_daemon_due_merged(&daemon->due, now, rc == 0);
    if (rc < 0) {
        cs_daemon_notify(&daemon->log, "%s; the samples stay in memory for the next try", err->text);
        snprintf(daemon->last_failure, sizeof daemon->last_failure, "%.255s", err->text);
    } else {
        note_disk(daemon, now);
        daemon->last_merge_ns = now;
        daemon->last_merge_took_ns = now - began;
    }
    return rc;
}
