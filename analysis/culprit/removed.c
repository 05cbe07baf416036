/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/culprit/removed.h"
#include "analysis/culprit/verdict_model.h"

#include <math.h>

static bool belongs(enum cs_experiment_variant what, enum cs_culprit_cause cause)
{
    static const enum cs_culprit_cause causes[CS_N_EXPERIMENT_VARIANTS] = {
        [CS_EXPERIMENT_NO_LOCK] = CS_CAUSE_LOCK,
        [CS_EXPERIMENT_NO_DIVISION] = CS_CAUSE_DIVIDER,
        [CS_EXPERIMENT_NO_CHAIN] = CS_CAUSE_DEPENDENCY,
        [CS_EXPERIMENT_NO_FORWARD] = CS_CAUSE_FORWARD,
    };
    if (cause == CS_N_CAUSES || what == CS_EXPERIMENT_ALIGNED)
        return cause == CS_N_CAUSES;
    return causes[what] == cause ||
           (what == CS_EXPERIMENT_NO_FORWARD && cause == CS_CAUSE_DEPENDENCY); /* a chain through memory */
}

bool cs_culprit_removed(const struct cs_cycle_account *a, enum cs_culprit_cause cause,
                        struct cs_culprit_removed *out)
{
    *out = (struct cs_culprit_removed){.saves = cause == CS_N_CAUSES ? CS_MODEL_REMOVED_MUCH : 0};
    unsigned at = 0;
    for (unsigned k = 0; k < a->n_loops; k++) {
        const struct cs_cycle_account_loop *loop = &a->loops[k];
        double share;
        const double turn = cs_cycle_account_turn(a, k, &share);
        if (!(fabs(turn / loop->cycles - 1) <= CS_MODEL_TURN_OFF))
            continue;
        for (int w = 0; w < CS_N_EXPERIMENT_VARIANTS; w++) {
            const enum cs_experiment_variant what = (enum cs_experiment_variant)w;
            const double without = loop->without[w].cycles, saves = share * (1 - without / loop->cycles);
            if (without > 0 && belongs(what, cause) &&
                (cause == CS_N_CAUSES ? saves > out->saves
                                      : share > out->share || (k == at && saves > out->saves))) {
                *out = (struct cs_culprit_removed){what, loop->cycles, without, share, saves};
                at = k;
            }
        }
    }
    return out->share > 0;
}

bool cs_culprit_refuted(const struct cs_cycle_account *a, enum cs_culprit_cause cause)
{
    struct cs_culprit_removed removed;
    return cause != CS_N_CAUSES && cs_culprit_removed(a, cause, &removed) &&
           removed.share >= CS_MODEL_REFUTED_SHARE &&
           removed.without >= (1 - CS_MODEL_REFUTED_SAVES) * removed.cycles;
}
