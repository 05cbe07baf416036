/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The clock by which a subcommand waits and measures itself. Any thread. */
#ifndef CS_CLI_COMMAND_SECONDS_H
#define CS_CLI_COMMAND_SECONDS_H

/* Of CLOCK_MONOTONIC: two readings are that far apart. */
double seconds_now(void);

#endif
