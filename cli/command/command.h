/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options and messages of subcommands.
 *
 * Files of this module:
 *   command         what a subcommand is, and how it reads its options
 *   shared_options  options of several subcommands, each said once
 *   options         parsing by the entries
 *   parsed          what main shares with the parser
 *   recordings      which epochs of a store a report reads
 *   time_range      and which times
 *   figures         numbers for people
 *   messages        errors, on standard error
 *   own_program     our own program as a child
 *   interrupt       signals that end a subcommand that runs for long
 *
 * A subcommand is a file with one constant entry on top; the table in commands.c lists them. Option parsing,
 * --help, the man page and shell completion come from the same entries. Only cli/ prints, and only here live
 * globals.
 */
#pragma once

#include "cli/command/shared_options.h"
#include "store/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { CS_EXIT_OK = 0, CS_EXIT_FAILED = 1, CS_EXIT_USAGE = 2 };

struct option_entry {
    const char *name;     /* long name without dashes */
    char letter;          /* short form, 0 = none */
    const char *argument; /* metavariable, NULL = a switch */
    const char *help;     /* one line */
};

struct parsed; /* options and operands of one call */

struct command {
    const char *name, *operands;           /* e.g. "record", "[-- COMMAND [ARG...]]" */
    const char *summary;                   /* one line */
    const char *details;                   /* paragraphs for --help and the man page, NULL = none */
    const struct option_entry *options;    /* ends with a NULL name; --help and --json handled by main */
    int (*run)(const struct parsed *args); /* returns an exit code */
};

/* Value of an option: NULL when absent, "" for a switch that was given. */
const char *option(const struct parsed *args, const char *name);
bool option_given(const struct parsed *args, const char *name);
/* i-th value of an option given several times, NULL at the end. */
const char *option_nth(const struct parsed *args, const char *name, unsigned i);
/* Whole number or decimal with optional suffix k, M, G; exits with a usage error sentence otherwise. */
double option_number(const struct parsed *args, const char *name, double fallback, double least, double most);
/* Operands: what is left after the options; after "--" everything. */
int operand_count(const struct parsed *args);
const char *operand(const struct parsed *args, int i);
char **operand_vector(const struct parsed *args); /* NULL-terminated */

/* Where the profile store is: --store (or a store among the operands, where only a FUNCTION is expected), else
 * $CYCLESCOPE_STORE, else ./cyclescope.store. Never NULL. */
const char *store_location(const struct parsed *args);
/* All values of an option, with commas between them; NULL when it is absent or `size` too small. */
const char *option_joined(const struct parsed *args, const char *name, char *to, size_t size);
/* Which of `choices` (NULL-terminated) an option names, `fallback` when it is absent; exits with a usage error
 * sentence otherwise. */
unsigned option_choice(const struct parsed *args, const char *name, const char *const *choices,
                       unsigned fallback);
/* A time in seconds: "90", "10m", "24h", "90d", "100ms"; exits with a usage error sentence otherwise. */
double option_seconds(const struct parsed *args, const char *name, double fallback);

/* Print "cyclescope NAME: sentence" on standard error, cleaned (store/base/text.h): a line, whatever the names in it
 * hold. failed and usage_error return CS_EXIT_FAILED / CS_EXIT_USAGE. */
int failed(const struct cs_error *err);
int failed_with(const char *format, ...) __attribute__((format(printf, 1, 2)));
int usage_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void remark(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A line of progress stands on the terminal, where what is said next replaces it; or none does any more. Any thread. */
void messages_over_line(bool stands);
/* A line without a name in front, cleaned too: for what isn't worth a document (output.h). */
void report_line(FILE *to, const char *format, ...) __attribute__((format(printf, 2, 3)));

extern const struct command *const commands[]; /* NULL-terminated */
