/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of subcommands, in the order in which --help lists them. */
#include "cli/command/command.h"

#include <stddef.h>

/* One a line, so that branches merge. */
/* clang-format off */
#define EACH_COMMAND(of) \
    of(doctor) \
    of(observe) \
    of(record) \
    of(count) \
    of(daemon) \
    of(hist) \
    of(timeline) \
    of(tags) \
    of(prof) \
    of(explain) \
    of(calc) \
    of(list) \
    of(callers) \
    of(callees) \
    of(tree) \
    of(waits) \
    of(phases) \
    of(sum) \
    of(stats) \
    of(diff) \
    of(gate) \
    of(edges) \
    of(accuracy) \
    of(cfg) \
    of(top) \
    of(report) \
    of(signals) \
    of(store) \
    of(import) \
    of(export) \
    of(fleet) \
    of(mcp)
/* clang-format on */

#define DECLARED(name) extern const struct command command_##name;
EACH_COMMAND(DECLARED)

#define LISTED(name) &command_##name,
const struct command *const commands[] = {EACH_COMMAND(LISTED) NULL};
