/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whom to record: a command, processes, or everything. */
#include "cli/record/record.h"

#include <stdlib.h>

#define PID_MAX 4194304 /* the kernel's */

/* -p may be given several times, and be a list. */
static int parse_pids(const struct parsed *args, struct cs_sampler_config *config, pid_t *pids)
{
    const char *text;
    unsigned n = 0;
    for (unsigned i = 0; (text = option_nth(args, "pid", i)) != NULL; i++)
        for (const char *at = text; *at; at += *at == ',') {
            char *end;
            long pid = strtol(at, &end, 10);
            if (end == at || (*end && *end != ',') || pid < 1 || pid > PID_MAX || (*end == ',' && !end[1]))
                return usage_error(
                    "--pid %s: expected a number from 1 to %d, or several with commas between them", text,
                    PID_MAX);
            if (n > RECORD_PIDS_MAX)
                return usage_error("at most %d processes at once", RECORD_PIDS_MAX + 1);
            if (n++ == 0)
                config->pid = (pid_t)pid;
            else
                pids[n - 2] = (pid_t)pid;
            at = end;
        }
    if (!n)
        return usage_error("--pid: expected a number");
    config->target = CS_TARGET_PID;
    config->more_pids = pids;
    config->n_more_pids = n - 1;
    return CS_EXIT_OK;
}

int record_target(const struct parsed *args, struct cs_sampler_config *config, pid_t pids[RECORD_PIDS_MAX])
{
    int n = option_given(args, "whole-machine") + option_given(args, "pid") + (operand_count(args) > 0);
    if (n != 1)
        return usage_error("give one of -a (everything), -p PID, or -- COMMAND");
    if (option_given(args, "whole-machine")) {
        config->target = CS_TARGET_ALL;
    } else if (option_given(args, "pid")) {
        return parse_pids(args, config, pids);
    } else {
        config->target = CS_TARGET_COMMAND;
        config->command = operand_vector(args);
    }
    return CS_EXIT_OK;
}
