/* SPDX-License-Identifier: GPL-2.0-or-later */
/* prof --wall: threads' time whole, on and off the CPU. */
#pragma once

#include "cli/command/parsed.h"
#include "cli/profile/profile.h"

/* Prints it; returns an exit code. */
int wall_report(const struct parsed *args, struct profile *profile, const char *store, size_t top);
