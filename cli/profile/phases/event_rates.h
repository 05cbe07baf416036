/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rates of one event over another by procedure and over time: sprof-1998 figures 7 to 9, misses an instruction of the top five
 * functions. And the curve that stands for a series in text. */
#pragma once

#include "cli/output/output.h"
#include "cli/profile/phases/interval_matrix.h"

/* Eighth blocks: the mean of `shares` (1 = full height) over the intervals of each of at most `most` columns; `to` has room for
 * 3 bytes a column and one more. */
void curve_draw(char *to, const double *shares, size_t n, size_t most);

/* A table "rates" of the whole program and of the `top` procedures (0 = all) with most of the event `below`: events of `above` for
 * each of `below` (each ms of a clock), over all and by interval. 0 or -ENOMEM. */
int event_rates_print(struct output *out, const struct interval_matrix *above,
                      const struct interval_matrix *below, size_t top);
