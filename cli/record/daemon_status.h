/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The daemon's answer to "status" for people and for programs. */
#pragma once

#include "cli/output/output.h"

/* `text`: lines of "key value". Changes it. Returns an exit code. */
int daemon_status_print(const struct parsed *args, char *text);
