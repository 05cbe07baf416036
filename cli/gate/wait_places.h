/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The source lines of the waits that grew. */
#pragma once

#include "cli/gate/evidence.h"
#include "cli/profile/lines/wait_lines.h"

/* Of each row of a wait the line where it grew most, where the chains tell. */
void gate_find_wait_lines(struct gate *gate, const struct gate_evidence *evidence);

/* The line of `side[1]` that has at least half of `growth_ns`, a run, whichever line of the base it was. `runs`: of each side.
 * As many lines on both sides are the same ones in their order. NULL: there is none. Both sides are sorted by it. */
const struct wait_line *gate_wait_line_grown(struct wait_lines side[2], const size_t runs[2],
                                             double growth_ns);
