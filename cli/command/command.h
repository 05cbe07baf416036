/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A subcommand is a file with one constant entry on top; the table in commands.c lists them. Option parsing,
 * --help, the man page and shell completion come from the same entries. Only cli/ prints, and only here live
 * globals. */
#ifndef CS_CLI_COMMAND_H
#define CS_CLI_COMMAND_H

#include "store/error.h"

#include <stdbool.h>

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

/* Where the profile store is: --store (readers) or --output (writers), else $CYCLESCOPE_STORE, else
 * ./cyclescope.store. Never NULL. */
const char *store_location(const struct parsed *args);
/* For the option tables of readers and of writers. */
#define OPTION_STORE                                                                                         \
    {                                                                                                        \
        "store", 0, "DIR", "profile store to read (else $CYCLESCOPE_STORE, ./cyclescope.store)"              \
    }
#define OPTION_OUTPUT                                                                                        \
    {                                                                                                        \
        "output", 'o', "DIR", "profile store to add to (else $CYCLESCOPE_STORE, ./cyclescope.store)"         \
    }

/* Print "cyclescope NAME: sentence" on standard error; return CS_EXIT_FAILED / CS_EXIT_USAGE. */
int failed(const struct cs_error *err);
int failed_with(const char *format, ...) __attribute__((format(printf, 1, 2)));
int usage_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

extern const struct command *const commands[]; /* NULL-terminated */

#endif
