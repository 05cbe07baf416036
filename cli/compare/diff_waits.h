/* SPDX-License-Identifier: GPL-2.0-or-later */
/* diff --waits: which waits grew. */
#pragma once

#include "cli/command/command.h"
#include "cli/compare/comparison.h"

struct diff_side {
    const char *store, *epoch; /* epoch: as recordings_open takes it; NULL: every one is a run */
    bool implied;              /* nobody asked for that one */
};

/* Options and sides are diff's. An exit code. */
int diff_waits(const struct parsed *args, const struct diff_side side[2]);
