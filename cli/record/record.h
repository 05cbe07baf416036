/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Recording: record, count, daemon.
 *
 * Files of this module:
 *   record         the subcommand record
 *   record_bursts  its bursts
 *   record_target  whom to record
 *   record_summary  what a recording saw, and the line while it runs
 *   record_paths   its paths
 *   record_charged  CPU time by the kernel's account, and by samples
 *   record_exact   what a command used, counted and not sampled
 *   count          the subcommand count
 *   follow_paths   joins noted register values with the interpreter
 *   daemon         the subcommand daemon
 *   daemon_status  the daemon's answer, for people and programs
 *
 * record's parts for bursts and for paths: when they are on, and what is reported at the end. */
#pragma once

#include "cli/output/output.h"
#include "cli/record/follow_paths.h"
#include "cli/record/record_charged.h"
#include "sampler/burst/burst.h"

/* *out stays NULL, with a remark on stderr where one is due, when there are to be none. 0 or negative errno:
 * only an explicit --bursts can fail. */
int record_bursts_open(const struct parsed *args, const struct cs_sampler_config *config,
                       struct cs_sampler *sampler, struct cs_burst **out, struct cs_error *err);
/* There are to be some. */
bool record_bursts_wanted(const struct parsed *args, const struct cs_sampler_config *config);
void record_bursts_summary(struct cs_burst *burst);
struct json_t *record_bursts_json(struct cs_burst *burst); /* NULL = none: null */

/* Reads -a, -p and the command into `config`, which then points into `pids`. An exit code; it has said why. */
int record_target(const struct parsed *args, struct cs_sampler_config *config, pid_t pids[RECORD_PIDS_MAX]);

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

/* A recording that is over and in the store. */
struct recorded {
    struct cs_sampler *sampler;
    const struct cs_sampler_config *config;
    struct cs_burst *burst; /* NULL = none */
    const struct recorded_paths *paths;
    const struct charged *charged;
    const char *store, *epoch;
    double seconds;       /* it took */
    double burst_rate_hz; /* that was asked for; 0: none */
    int exit_code;
    bool verbose; /* how it was made, too */
};
void record_summary(const struct recorded *recorded);
void record_summary_json(const struct recorded *recorded, FILE *to);

/* The line while it runs: `of` seconds, 0 = until the target ends. */
bool record_status_wanted(const struct cs_sampler_config *config);
void record_status(struct cs_sampler *sampler, struct cs_burst *burst, double seconds, double of);
void record_status_end(void);
