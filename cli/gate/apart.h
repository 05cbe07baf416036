/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs that didn't take turns: what all functions share may be the machine's. A neighbour on the same core, or in the same
 * cache, makes a program up to twice as slow, and a short loop less. */
#pragma once

#include "cli/gate/verdict/verdict.h"

/* The largest factor of all functions that is taken for the machine's (comparison.h). */
double gate_apart_factor(const struct gate_run *cpu, size_t n);
/* The pace by such runs is no verdict if the machine may have made the change. */
void gate_apart_doubt(struct gate_check *pace);
