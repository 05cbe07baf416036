/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What main shares with the option parser and the messages; subcommands see command.h only. */
#pragma once

#include "cli/command/command.h"

#define GIVEN_MAX 256
#define OPTIONS_MAX 64

struct parsed {
    struct {
        const char *name, *value;
    } given[GIVEN_MAX];
    unsigned n_given;
    char **operands;
    int n_operands;
};

/* Options that every subcommand has. */
extern const struct option_entry common_options[];

/* Parses argv (argv[0] is the subcommand) by the entry. 0, or negative after a usage error was printed.
 * parsed_fini in both cases. */
int parse_options(const struct command *command, int argc, char **argv, struct parsed *args);
void parsed_fini(struct parsed *args);

/* The subcommand's name in front of every message. */
void messages_name(const char *subcommand);
