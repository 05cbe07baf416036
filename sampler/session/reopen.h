/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Gives the events' attributes of now to threads that inherited older ones. Where it can't be done all is as
 * before. */
#pragma once

#include "sampler/images/maps.h"
#include "sampler/session/open_events.h"

/* `root`: the process that was chosen; all that it started have inherited its events. */
void cs_session_events_reopen(struct cs_session_events *events, const struct cs_sampler_config *config,
                              const struct cs_maps *maps, pid_t root);
