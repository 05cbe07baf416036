/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What each subcommand is for, and examples of it: for --help and the man pages. */
#pragma once

struct task {
    const char *name, *what;
};
/* In the order of --help; ends with a NULL name. */
extern const struct task tasks[];

/* NULL where the table lacks the subcommand (a test says so). Lines of "command\n    what it does\n". */
const char *task_of(const char *subcommand);
const char *examples_of(const char *subcommand);
