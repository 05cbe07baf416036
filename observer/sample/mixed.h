/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Does a tag's rate hold other tags' events? An interval whose ends have the same tag may hold a visit to other tags that
 * nobody saw. Their number follows from how often two neighbours differ: two states, the tag and the rest, each left at
 * random. Pure. */
#pragma once

#include "observer/sample/sink.h"

#define CS_RATES_MIXED 0.05 /* of a rate: more of it than this is other tags' */
#define CS_RATES_FEW 30     /* intervals: a rate of fewer is none */

enum cs_rates_usable { CS_RATES_OK, CS_RATES_TOO_FEW, CS_RATES_ARE_MIXED };

struct cs_rates_mixed {
    enum cs_rates_usable usable;
    double shorter; /* if mixed: a period of this part of the run's would do */
};

/* `samples`: those in which the target ran. */
struct cs_rates_mixed cs_rates_mixed(const struct cs_sink *sink, const struct cs_tag_row *row,
                                     uint64_t samples);
