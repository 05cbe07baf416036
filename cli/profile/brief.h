/* SPDX-License-Identifier: GPL-2.0-or-later */
/* prof --brief-calls: the list that the compiler plugins' brief=@FILE takes. */
#pragma once

#include "cli/command/command.h"
#include "cli/profile/profile.h"

/* Prints it; returns an exit code. */
int brief_report(const struct parsed *args, struct profile *p, const char *store);
