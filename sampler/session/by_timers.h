/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A session without perf_event_open: a command's own timers. */
#pragma once

#include "sampler/session/session.h"

/* Asked for, or all that this process may have; `why` is the reason then. */
bool cs_session_by_timers(const struct cs_sampler_config *config, char *why, size_t size);
/* The one event that there is then, its rate bounded by the kernel's ticks; in place of cs_session_events_parse. */
int cs_session_by_timers_parse(struct cs_session_events *events, struct cs_sampler_config *config,
                               const char *why, struct cs_error *err);
/* The command, waiting; places are open. */
int cs_session_by_timers_open(struct cs_sampler *s, struct cs_error *err);
