/* SPDX-License-Identifier: GPL-2.0-or-later */
/* doctor --events: the events that can be counted here, with a line of what each means. */
#pragma once

#include "cli/command/parsed.h"

/* Those whose name or meaning has `pattern` in it (NULL: all), in any case. An exit code; it has printed why. */
int doctor_events(const struct parsed *args, const char *pattern);
