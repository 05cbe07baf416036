/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bounds of a cause come from all bursts of a side together, so they don't say what the next recording would show. Each recording
 * by itself does: addresses are random in each, and so is what bursts met. */
#include "cli/gate/causes/surely_grew.h"
#include "analysis/statistics/significance.h"
#include "cli/gate/causes/cause_compare.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RANGE_MIN 0.05 /* one standard error, as a share of what is asked for: equal values are no proof */

static const char *const recorded[] = {"d-cache", "dtlb", GATE_MEMORY, "false-sharing", "true-sharing"};
#define N_RECORDED (sizeof recorded / sizeof recorded[0])

bool gate_cause_is_recorded(const char *cause)
{
    for (size_t i = 0; i < N_RECORDED; i++)
        if (strcmp(cause, recorded[i]) == 0)
            return true;
    return false;
}

double gate_cause_chance(const struct gate_run *run, size_t n, double least, bool hashed)
{
    const unsigned needed = hashed ? GATE_RECORDINGS_MIN_HASHED : GATE_RECORDINGS_MIN;
    struct gate_estimate e;
    const bool known = gate_estimate(run, n, GATE_DIFFERENCE, RANGE_MIN * fabs(least), &e);
    return known && e.runs[0] >= needed && e.runs[1] >= needed && e.change > 0 && e.change >= least
               ? fmax(e.chance / 2, DBL_MIN) /* one-sided */
               : 1;
}

void gate_cause_settle(struct gate *gate, size_t looked_at)
{
    double chance[GATE_GUILTY_MAX], rate[GATE_GUILTY_MAX];
    size_t n = 0, at = 0;
    for (size_t i = 0; i < gate->n_guilty; i++)
        if (gate->guilty[i].cause_chance > 0)
            chance[n++] = gate->guilty[i].cause_chance;
    const bool known = n && cs_false_discovery(chance, n, looked_at > n ? looked_at : n, rate) == 0;
    for (size_t i = 0; known && i < gate->n_guilty; i++)
        if (gate->guilty[i].cause_chance > 0)
            gate->guilty[i].sure_cause = rate[at++] < GATE_CHANCE;
}
