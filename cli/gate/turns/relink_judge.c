/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Student's test of the mean over layouts, as a logarithm of the ratio. Its range has both the runs' noise and what layouts differ by.
 *
 * A base that isn't relinked has one layout, by chance. It may be a fast one: so a growth that stays isn't the head's for sure. It may
 * be a slow one: so one that goes away may hide a loss. How much layouts differ by is what the head's do. */
#include "cli/gate/turns/relink.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define LAYOUTS_MIN 4
#define STAYS_CHANCE 0.01
#define LEFT_MAX 0.5 /* of the change: more than half of it has to go away */

struct mean {
    double value, error;
    double spread; /* of layouts, without the runs' noise: standard deviation */
    unsigned n;
};

/* `sign` -1: of a head that is faster, so that all else is as if it were slower. */
static struct mean mean_of(const struct gate *gate, double sign)
{
    struct mean m = {.n = (unsigned)gate->n_layouts};
    double squares = 0;
    for (size_t i = 0; i < gate->n_layouts; i++)
        m.value += sign * log1p(gate->layout[i].estimate.change) / m.n;
    for (size_t i = 0; i < gate->n_layouts; i++)
        squares += pow(sign * log1p(gate->layout[i].estimate.change) - m.value, 2);
    m.error = m.n > 1 ? sqrt(squares / (m.n - 1) / m.n) : (double)INFINITY;
    /* Layouts that agree by chance are no surer than their runs. */
    double noise = 0;
    for (size_t i = 0; i < gate->n_layouts; i++)
        noise += pow(gate->layout[i].estimate.error / m.n, 2);
    m.spread = m.n > 1 ? sqrt(fmax(squares / (m.n - 1) - noise * m.n, 0)) : 0;
    m.error = fmax(m.error, sqrt(noise));
    return m;
}

void gate_judge_layouts(struct gate *gate)
{
    struct gate_check *pace = gate_find(gate, "pace");
    if (!pace || !pace->known)
        return;
    if (gate->n_layouts < LAYOUTS_MIN) {
        gate_note(gate,
                  "Layout: --relink made %zu other files of the head, and at least %d are needed to tell. "
                  "Does it use CYCLESCOPE_LAYOUT?",
                  gate->n_layouts, LAYOUTS_MIN);
        return;
    }
    const double was = pace->estimate.change, sign = was < 0 ? -1 : 1;
    const struct mean m = mean_of(gate, sign);
    const double around = gate_student(0.05, m.n - 1) * m.error,
                 surely = m.value - gate_student(STAYS_CHANCE, m.n - 1) * m.error,
                 hidden = gate->base_relinked
                              ? around
                              : gate_student(0.05, m.n - 1) * sqrt(m.error * m.error + m.spread * m.spread);
    char text[4][32], all[200];
    snprintf(all, sizeof all, "relinked %u times, %s differ by %s in the mean (%s to %s)", m.n,
             gate->base_relinked ? "base and head" : "the head and the one base",
             gate_percent(expm1(sign * m.value), text[0]),
             gate_percent(expm1(sign * m.value - around), text[1]),
             gate_percent(expm1(sign * m.value + around), text[2]));
    gate_percent(was, text[3]);
    if (surely > log1p(gate->limits.ignore_below / 100) && gate->base_relinked) {
        gate->unproven = false;
        pace->verdict = was < 0 ? GATE_FASTER : GATE_SLOWER;
        snprintf(pace->sentence, sizeof pace->sentence, "%s, and not by layout: %s", text[3], all);
    } else if (m.value + around < LEFT_MAX * sign * log1p(was) &&
               m.value + hidden < log1p(gate->limits.must_see / 100)) {
        gate->unproven = false;
        pace->verdict = GATE_LAYOUT;
        snprintf(pace->sentence, sizeof pace->sentence, "%s, and layout made it: %s", text[3], all);
    } else {
        gate_note(gate, "Layout: can't tell. R%s.%s", all + 1,
                  gate->base_relinked
                      ? ""
                      : " The base's layout may be a fast one, or a slow one: relink it, too.");
    }
}
