/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Chooses the timers' driver where no event can be opened, and says so in one sentence. */
#include "sampler/session/by_timers.h"
#include "sampler/timers/timers.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SAMPLE_SECONDS 10e-6 /* of a signal, its handler and the new timer: assumed, not measured yet */

bool cs_session_by_timers(const struct cs_sampler_config *config, char *why, size_t size)
{
    if (config->driver == CS_SAMPLER_DRIVER_TIMERS) {
        snprintf(why, size, "as asked");
        return true;
    }
    return config->driver == CS_SAMPLER_DRIVER_AUTO && cs_timers_needed(why, size);
}

int cs_session_by_timers_parse(struct cs_session_events *events, struct cs_sampler_config *config,
                               const char *why, struct cs_error *err)
{
    double ticks = cs_timers_ticks();
    for (unsigned e = 0; e < config->n_events; e++)
        if (e ||
            (strcmp(config->events[e], "cpu-clock") != 0 && strcmp(config->events[e], "task-clock") != 0))
            return cs_fail(err, ENOTSUP, "%s: without perf_event_open there is only cpu-clock (%s)",
                           config->events[e], why);
    if (config->target != CS_TARGET_COMMAND)
        return cs_fail(err, EPERM,
                       "no process that runs can be sampled here (%s); a command can, by its own timers: "
                       "record -- COMMAND",
                       why);
    if (config->label == CS_LABEL_THREAD)
        return cs_fail(err, ENOTSUP, "threads can't be told apart here (%s)", why);
    if (config->budget > 0)
        config->frequency_hz = config->budget / SAMPLE_SECONDS;
    else if (config->period)
        config->frequency_hz = 1e9 / (double)config->period;
    config->budget = 0;
    config->period = 0;
    if (config->frequency_hz <= 0 || config->frequency_hz > ticks)
        config->frequency_hz = ticks;
    cs_session_remark(
        config,
        "sampling by timers of the command's own threads, user code only, %.0f times a second of CPU "
        "time (%s)",
        config->frequency_hz, why);
    events->n_asked = 1;
    events->user_only = true;
    events->driver = &cs_driver_timers;
    int rc = cs_event_parse(config->n_events ? config->events[0] : "cpu-clock", &events->asked[0], err);
    events->asked[0].attr.exclude_kernel = 1;
    return rc;
}

int cs_session_by_timers_open(struct cs_sampler *s, struct cs_error *err)
{
    cs_timers_connect(s->events.state, s->places.maps, s->rate.periods[0].mean);
    return cs_waiting_command_open(&s->target.command, s->config.command,
                                   cs_timers_environment(s->events.state), err);
}
