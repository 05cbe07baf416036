/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a reader has to know of how the verdict came about: the machine, what all functions share, what wasn't counted. */
#pragma once

#include "cli/gate/evidence.h"

/* After the checks and the rows of what grew. `explained`: more than the time changed, or a note says that it didn't. */
void gate_say_notes(struct gate *gate, const struct gate_evidence *evidence, bool explained);
