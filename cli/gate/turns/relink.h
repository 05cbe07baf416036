/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Is a change of time one of layout? Base and head are linked again with other layouts, by a command of the user's, and timed in
 * pairs. A layout's difference goes away in the mean of other layouts; a loss of the program's stays. They are a sample of layouts:
 * what they differ by is in the range of the mean. Of a gate that looks slower, half of what layout does is the base's luck in the
 * mean. So where the base keeps its layout, that the growth stays is no evidence. */
#pragma once

#include "cli/gate/turns/turns.h"
#include "cli/gate/verdict/verdict.h"

/* Has the time changed, and the work not, as far as the runs say? */
bool gate_may_be_layout(const struct gate *gate);
/* Runs `relink` with CYCLESCOPE_LAYOUT=1, 2, ..., and in the end with 0; as long in all as the runs in turn took. Sets the verdict on
 * pace where the evidence suffices. 0, or negative errno with its sentence. */
int gate_relink(struct gate *gate, const struct gate_turns *turns, char **relink, struct cs_error *err);
/* The verdict by what was timed: for gate_relink, and its test. */
void gate_judge_layouts(struct gate *gate);
