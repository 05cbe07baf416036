/* SPDX-License-Identifier: GPL-2.0-or-later */
/* timeline without a log: what the threads of a recording with waits did over time. */
#pragma once

#include "cli/command/command.h"

/* `to_seconds` 0: to the end. Returns an exit code. */
int thread_lines_report(const struct parsed *args, double from_seconds, double to_seconds);
