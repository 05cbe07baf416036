/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One counter by another: instructions per cycle (IPC), cycles per instruction (CPI), misses per instruction. Pure.
 *
 * A ratio's value in an interval is the quotient of two counters' events there. Over many intervals it is the quotient
 * of the sums, which is the mean weighted by what it is per (cycles, for IPC). */
#pragma once

#include "observer/sample/sample.h"
#include "store/base/error.h"

#include <stddef.h>

struct cs_ratio {
    unsigned of, per; /* counters */
};

/* "IPC", "CPI", or "A/B" with counters' names, of which a part after "::" and modifiers may be left out. False: there
 * are no such counters. */
bool cs_ratio_parse(const char *text, const char *const *counters, unsigned n, struct cs_ratio *out);
/* "IPC" or "CPI" where the counters are instructions and cycles, else "A/B". */
void cs_ratio_name(const struct cs_ratio *ratio, const char *const *counters, char *to, size_t size);
/* What a report multiplies it by: 1 for IPC and CPI, 1000 for others, which are then "A per 1000 B". */
double cs_ratio_scale(const struct cs_ratio *ratio, const char *const *counters);

/* Those of a run: IPC wherever its counters are, then those asked for. -ENOENT or -E2BIG with a sentence. */
int cs_ratios_choose(const char *const *asked, unsigned n_asked, const char *const *counters, unsigned n,
                     struct cs_ratio ratios[CS_RATIOS_MAX], unsigned *n_ratios, struct cs_error *err);
