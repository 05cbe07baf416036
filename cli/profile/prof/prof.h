/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The subcommand prof: the table of samples, and two other forms of it.
 *
 * Files of this module:
 *   prof   the subcommand
 *   brief  --brief-calls: functions that are over soon, as the compiler plugins' brief=@FILE takes them
 *   wall   --wall: threads' time whole, on and off the CPU */
#pragma once

#include "cli/command/parsed.h"
#include "cli/profile/profile.h"

/* Each prints its form and returns an exit code. */
int brief_report(const struct parsed *args, struct profile *p, const char *store);
int wall_report(const struct parsed *args, struct profile *profile, const char *store, size_t top);
