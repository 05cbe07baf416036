/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bounds of a cause come from all bursts of a side together, so they don't say what the next recording would show. Each recording
 * by itself does: addresses are random in each, and so is what bursts met. The chance of the mean's growth is multiplied by the
 * number of causes and functions (Bonferroni), so the rate of false discoveries is below GATE_CHANCE. */
#include "cli/gate/causes/surely_grew.h"
#include "cli/gate/causes/cause_compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RANGE_MIN 0.05 /* one standard error, as a share of what is asked for: equal values are no proof */

static const char *const recorded[] = {"d-cache",      "dtlb",          GATE_MEMORY,   "mispredict",
                                       "return-stack", "false-sharing", "true-sharing"};
#define N_RECORDED (sizeof recorded / sizeof recorded[0])

bool gate_cause_is_recorded(const char *cause)
{
    for (size_t i = 0; i < N_RECORDED; i++)
        if (strcmp(cause, recorded[i]) == 0)
            return true;
    return false;
}

bool gate_cause_surely_grew(const struct gate_run *run, size_t n, double least, bool hashed)
{
    const unsigned needed = hashed ? GATE_RECORDINGS_MIN_HASHED : GATE_RECORDINGS_MIN;
    struct gate_run *beyond = calloc(n + 1, sizeof *beyond);
    struct gate_estimate e;
    for (size_t i = 0; beyond && i < n; i++) {
        beyond[i] = run[i];
        beyond[i].value -= run[i].side ? least : 0;
        beyond[i].machine = (double)NAN;
    }
    const bool known = beyond && gate_estimate(beyond, n, GATE_DIFFERENCE, RANGE_MIN * fabs(least), &e);
    free(beyond);
    return known && e.runs[0] >= needed && e.runs[1] >= needed && e.change > 0 &&
           e.chance * (double)(N_RECORDED * GATE_CAUSES_ASKED) < GATE_CHANCE;
}
