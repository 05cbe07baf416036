/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --variable NAME[+OFFSET][/BYTES][:counter]: what the user writes, and where it lies in a process. */
#pragma once

#include "cli/command/command.h"
#include "observer/observer.h"

/* Reads all of them into `options`; an exit code, it has printed why. */
int variables_options(const struct parsed *args, struct cs_observe_options *options);
