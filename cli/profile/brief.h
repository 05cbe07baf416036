/* SPDX-License-Identifier: GPL-2.0-or-later */
/* prof --brief-calls: the list that the compiler plugins' brief=@FILE takes. */
#ifndef CS_CLI_PROFILE_BRIEF_H
#define CS_CLI_PROFILE_BRIEF_H

#include "cli/command/command.h"
#include "cli/profile/profile.h"

/* Prints it; returns an exit code. */
int brief_report(const struct parsed *args, struct profile *p, const char *store);

#endif
