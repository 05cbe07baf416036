/* SPDX-License-Identifier: GPL-2.0-or-later */
/* waits --critical-path: what a thread's time was really spent on. */
#pragma once

#include "cli/command/command.h"

/* From the options store, process, epoch, of and no-inlines. Returns the exit code. */
int critical_path_report(const struct parsed *args);
