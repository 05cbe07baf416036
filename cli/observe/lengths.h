/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tags --lengths: how long values of a tag stood. */
#pragma once

#include "cli/command/command.h"

/* Returns an exit code; it has printed. */
int lengths_print(const struct parsed *args);
