/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Chooses the timers' driver where no event can be opened, and says so in one sentence. */
#include "sampler/session/by_timers.h"
#include "sampler/timers/timers.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define PROCESSES_MAX 64
#define STOPS_BUDGET 0.02 /* a stop takes long where many want the CPUs */

bool cs_session_by_timers(const struct cs_sampler_config *config, char *why, size_t size)
{
    assert(size > 0);
    if (config->driver == CS_SAMPLER_DRIVER_TIMERS || config->driver == CS_SAMPLER_DRIVER_STOPS) {
        snprintf(why, size, "as asked");
        return true;
    }
    return config->driver == CS_SAMPLER_DRIVER_AUTO && cs_timers_needed(why, size);
}

/* Asked is a rate, a period, or a budget, which a measured cost turns into a rate. */
static void choose_rate(struct cs_session_events *events, struct cs_sampler_config *config)
{
    double ticks = cs_timers_ticks();
    bool stops = events->driver == &cs_driver_stops;
    if (stops && config->budget <= 0 && !config->period && config->frequency_hz <= 0)
        config->budget = STOPS_BUDGET;
    if (config->budget > 0)
        config->frequency_hz = stops ? ticks : config->budget / cs_timers_sample_seconds();
    else if (config->period)
        config->frequency_hz = 1e9 / (double)config->period;
    events->budget_of_stops = stops ? config->budget : 0;
    config->budget = 0;
    config->period = 0;
    if (config->frequency_hz <= 0 || config->frequency_hz > ticks)
        config->frequency_hz = ticks;
}

static void say_how(const struct cs_session_events *events, const struct cs_sampler_config *config,
                    const char *why)
{
    if (events->driver == &cs_driver_timers)
        cs_session_remark(config,
                          "sampling by timers of the command's own threads, user code only, %.0f times a "
                          "second of CPU time (%s)",
                          config->frequency_hz, why);
    else if (events->budget_of_stops > 0)
        cs_session_remark(config,
                          "sampling by stopping a running thread for a moment (ptrace), user code only, as "
                          "often as %.2g %% of its time allow (%s)",
                          100 * events->budget_of_stops, why);
    else
        cs_session_remark(config,
                          "sampling by stopping a running thread for a moment (ptrace), user code only, %.0f "
                          "times a second of CPU time (%s)",
                          config->frequency_hz, why);
}

int cs_session_by_timers_parse(struct cs_session_events *events, struct cs_sampler_config *config,
                               const char *why, struct cs_error *err)
{
    for (unsigned e = 0; e < config->n_events; e++)
        if (e ||
            (strcmp(config->events[e], "cpu-clock") != 0 && strcmp(config->events[e], "task-clock") != 0))
            return cs_fail(err, ENOTSUP, "%s: without perf_event_open there is only cpu-clock (%s)",
                           config->events[e], why);
    if (config->target == CS_TARGET_ALL)
        return cs_fail(err, EPERM,
                       "the whole machine can't be sampled here (%s). Use record -- COMMAND, which has its "
                       "own timers, or record -p PID, which stops it for moments",
                       why);
    if (config->target == CS_TARGET_PID && config->driver == CS_SAMPLER_DRIVER_TIMERS)
        return cs_fail(err, EINVAL, "timers are of a command's own threads; for -p there is --driver stops");
    if (config->label == CS_LABEL_THREAD)
        return cs_fail(err, ENOTSUP, "threads can't be distinguished here (%s)", why);
    if (config->n_more_pids >= PROCESSES_MAX)
        return cs_fail(err, EINVAL, "at most %d processes at once without perf_event_open", PROCESSES_MAX);
    events->driver = config->target == CS_TARGET_PID || config->driver == CS_SAMPLER_DRIVER_STOPS
                         ? &cs_driver_stops
                         : &cs_driver_timers;
    choose_rate(events, config);
    say_how(events, config, why);
    events->n_asked = 1;
    events->user_only = true;
    int rc = cs_event_parse(config->n_events ? config->events[0] : "cpu-clock", &events->asked[0], err);
    events->asked[0].attr.exclude_kernel = 1;
    return rc;
}

int cs_session_by_timers_open(struct cs_sampler *s, struct cs_error *err)
{
    pid_t pids[PROCESSES_MAX] = {s->config.pid};
    int rc = 0;
    cs_timers_connect(s->events.state, s->places.maps, s->rate.periods[0].mean);
    if (s->config.target == CS_TARGET_COMMAND) {
        char *const *environment = cs_timers_environment(s->events.state);
        rc = cs_waiting_command_open(&s->target.command, s->config.command,
                                     environment[0] ? environment : NULL, err);
        pids[0] = s->target.command.pid;
    }
    if (s->config.n_more_pids)
        memcpy(pids + 1, s->config.more_pids, s->config.n_more_pids * sizeof *pids);
    if (rc == 0 && s->events.driver == &cs_driver_stops)
        rc = cs_timers_follow(s->events.state, pids, 1 + s->config.n_more_pids, s->events.budget_of_stops,
                              err);
    return rc;
}
