/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/gate/apart.h"
#include "cli/compare/comparison.h"

#include <math.h>
#include <stdio.h>

#define FACTOR_APART 2.0
#define MACHINE_ALIKE 0.01 /* change of the calibration loop */

double gate_apart_factor(const struct gate_run *cpu, size_t n)
{
    struct gate_estimate pace;
    return gate_estimate(cpu, n, GATE_RATIO, 0, &pace) && !pace.in_turn ? FACTOR_APART
                                                                        : COMPARISON_COMMON_FACTOR;
}

void gate_apart_doubt(struct gate_check *pace)
{
    const struct gate_estimate *s = &pace->estimate;
    const bool alike = fabs(s->machine) < MACHINE_ALIKE; /* not if it is unknown */
    const double most = alike ? COMPARISON_COMMON_FACTOR : FACTOR_APART, factor = 1 + s->change;
    if (!pace->known || s->in_turn || factor > most || factor < 1 / most || pace->verdict == GATE_CANT_TELL ||
        (pace->verdict == GATE_SAME && alike))
        return;
    char change[32];
    pace->verdict = GATE_CANT_TELL;
    snprintf(pace->sentence, sizeof pace->sentence,
             "%s in all, but base and head didn't take turns: the machine may have changed; runs in turn "
             "would tell",
             gate_percent(s->change, change));
}
