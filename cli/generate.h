/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line: main, the table of subcommands, and what the build makes from it.
 *
 * Files of this module:
 *   main        finds the subcommand, prints help
 *   commands    the table of subcommands
 *   tasks       what each subcommand is for, and examples
 *   man         man pages from the table
 *   completion  shell completion from the table
 *   generate    what main asks of the two
 *
 * What the build makes from the table of subcommands: man pages and shell completion. */
#pragma once

#include "cli/command/parsed.h"

int print_man(const char *name);
/* "bash" or "zsh". */
int print_completion(const char *shell);
/* Names of procedures and images of a store that begin with `prefix`, one a line: what the shells ask for. */
int print_procedures(const char *prefix, const char *store);
