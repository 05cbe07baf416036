/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of subcommands, in the order in which --help lists them. */
#include "cli/command/command.h"

#include <stddef.h>

extern const struct command command_doctor;
extern const struct command command_observe;
extern const struct command command_record;
extern const struct command command_daemon;
extern const struct command command_hist;
extern const struct command command_timeline;
extern const struct command command_tags;
extern const struct command command_prof;
extern const struct command command_explain;
extern const struct command command_calc;
extern const struct command command_list;
extern const struct command command_callers;
extern const struct command command_callees;
extern const struct command command_tree;
extern const struct command command_waits;
extern const struct command command_phases;
extern const struct command command_sum;
extern const struct command command_stats;
extern const struct command command_diff;
extern const struct command command_top;
extern const struct command command_edges;
extern const struct command command_accuracy;
extern const struct command command_cfg;
extern const struct command command_report;
extern const struct command command_signals;
extern const struct command command_store;
extern const struct command command_import;
extern const struct command command_export;
extern const struct command command_fleet;
extern const struct command command_mcp;
extern const struct command command_gate;

/* One a line, so that branches merge. */
/* clang-format off */
const struct command *const commands[] = {
    &command_doctor,
    &command_observe,
    &command_record,
    &command_daemon,
    &command_hist,
    &command_timeline,
    &command_tags,
    &command_prof,
    &command_explain,
    &command_calc,
    &command_list,
    &command_callers,
    &command_callees,
    &command_tree,
    &command_waits,
    &command_phases,
    &command_sum,
    &command_stats,
    &command_diff,
    &command_gate,
    &command_edges,
    &command_accuracy,
    &command_cfg,
    &command_top,
    &command_report,
    &command_signals,
    &command_store,
    &command_import,
    &command_export,
    &command_fleet,
    &command_mcp,
    NULL,
};
