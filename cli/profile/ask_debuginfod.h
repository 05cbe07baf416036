/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before a report: images that lack their file or their names, the most sampled first, are asked for where DEBUGINFOD_URLS names a
 * server. A minute at most (DEBUGINFOD_MAXTIME seconds, if that is set); who gave no answer isn't asked again. */
#pragma once

#include "cli/profile/profile.h"

void ask_debuginfod(const struct profile *profile);
