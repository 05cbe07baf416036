/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a hot loop's time lost when a thing was removed from it. Registers and memory are made up in an experiment. So it
 * speaks only for a loop that takes as long by itself as in the program. Pure. */
#pragma once

#include "analysis/culprit/account/cycle_account.h"

struct cs_culprit_removed {
    enum cs_experiment_variant what;
    double cycles, without; /* a turn by itself */
    double share;           /* of the procedure's samples, in this loop */
    double saves;           /* of the procedure's time; below 0 where it takes longer */
};

/* The thing that this cause is the cost of, removed from the loop that has most of the samples. false: there is no such loop. For
 * CS_N_CAUSES: whatever saves most, if that is much. */
bool cs_culprit_removed(const struct cs_cycle_account *account, enum cs_culprit_cause cause,
                        struct cs_culprit_removed *out);
/* The cause can't be one: nearly all of the procedure is that loop, and it is as fast without it. */
bool cs_culprit_refuted(const struct cs_cycle_account *account, enum cs_culprit_cause cause);
