/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which part of a store is read, by time: --from, --until, --last, and ranges A..B. */
#pragma once

#include "cli/command/command.h"
#include "store/times.h"

/* What --epoch, --from, --until and --last choose, as recordings_open takes it: NULL is the newest recording. Valid
 * until the next call. Exits with a usage error sentence. */
const char *recording_asked(const struct parsed *args);
/* The same for an option whose value is FROM..TO. NULL: it isn't given. */
#define TIME_RANGE_MAX 64
const char *time_range_asked(const struct parsed *args, const char *name, char text[TIME_RANGE_MAX]);
