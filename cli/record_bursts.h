/* SPDX-License-Identifier: GPL-2.0-or-later */
/* record's part for bursts: its options, when they are on, what is said at the end. */
#ifndef CS_CLI_RECORD_BURSTS_H
#define CS_CLI_RECORD_BURSTS_H

#include "cli/command/command.h"
#include "sampler/burst/burst.h"

#define OPTIONS_BURSTS                                                                                       \
    {"bursts", 0, NULL,                                                                                      \
     "follow threads through bursts of instructions, for edge profiles (default with -- COMMAND)"},          \
        {"no-bursts", 0, NULL, "don't"},                                                                     \
        {"burst-rate", 0, "HZ", "bursts a second of each busy CPU (else by the budget)"},                    \
    {                                                                                                        \
        "burst-length", 0, "N", "instructions of a burst (16000)"                                            \
    }

/* *out stays NULL, with a remark on stderr where one is due, when there are to be none. 0 or negative errno:
 * only an explicit --bursts can fail. */
int record_bursts_open(const struct parsed *args, const struct cs_sampler_config *config,
                       struct cs_sampler *sampler, struct cs_burst **out, struct cs_error *err);
void record_bursts_summary(struct cs_burst *burst);

#endif
