/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The events of `observe -e`: names, groups by question, and how they can be read on this machine. */
#pragma once

#include "observer/observer.h"

#define OBSERVE_EVENTS_BYTES 1024

/* Fills options->events from a list; the names stand in `buffer` (OBSERVE_EVENTS_BYTES). With `t` at one of them, all are
 * read from the core's counters from its other hardware thread, and options->smt is set; where the processor can't do that,
 * by system calls, with a remark. An exit code: it has printed why. */
int observe_events(const char *list, struct cs_observe_options *options, char *buffer);
