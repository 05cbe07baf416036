/* SPDX-License-Identifier: GPL-2.0-or-later */
/* record's part for paths: its options, when they are on, what is said at the end. */
#ifndef CS_CLI_RECORD_PATHS_H
#define CS_CLI_RECORD_PATHS_H

#include "cli/command/command.h"
#include "cli/record/follow_paths.h"

#define OPTIONS_PATHS                                                                                        \
    {"paths", 0, NULL,                                                                                       \
     "interpret short paths from registers at timer samples (default where there are no bursts)"},           \
        {"no-paths", 0, NULL, "don't"},                                                                      \
    {                                                                                                        \
        "path-rate", 0, "HZ", "such samples a second of each busy CPU (251, or by the budget)"               \
    }

struct recorded_paths {
    struct cs_paths *paths; /* NULL: there are none */
    struct path_follower *follower;
};

/* `bursts`: there are bursts, so that paths must be asked for. 0 or negative errno: only an explicit --paths
 * can fail. */
int record_paths_open(const struct parsed *args, const struct cs_sampler_config *config,
                      struct cs_sampler *sampler, bool bursts, struct recorded_paths *out,
                      struct cs_error *err);
void record_paths_summary(const struct recorded_paths *paths);
void record_paths_close(struct recorded_paths *paths);

#endif
