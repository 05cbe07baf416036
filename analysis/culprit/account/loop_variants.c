/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hot loops that were run by themselves are run again, each time without one thing. Branches within lead elsewhere with made-up
 * values, so a loop that has some is left out. */
#include "analysis/culprit/account/account_model.h"
#include "analysis/culprit/account/cycle_account_internal.h"

#include <assert.h>
#include <math.h>

uint8_t account_loop(const struct accounting *x, const struct cs_schedule_path *path, double samples,
                     double cycles)
{
    struct cs_cycle_account *a = x->a;
    if (a->n_loops == CS_ACCOUNT_LOOPS_MAX || !(cycles > 0) || account_branches(path) > 1 ||
        samples < CS_MODEL_VARIANT_SHARE * (double)a->samples)
        return 0;
    struct cs_cycle_account_loop *loop = &a->loops[a->n_loops++];
    *loop = (struct cs_cycle_account_loop){.cycles = cycles};
    for (int k = 0; k < CS_N_EXPERIMENT_VARIANTS; k++) {
        struct cs_experiment_result result;
        loop->without[k].why = cs_experiments_without(x->e->experiments, (enum cs_experiment_variant)k,
                                                      path->ops, path->n, &result);
        loop->without[k].cycles = loop->without[k].why == CS_EXPERIMENT_DONE ? result.cycles : 0;
    }
    return (uint8_t)a->n_loops;
}

double cs_cycle_account_turn(const struct cs_cycle_account *a, unsigned k, double *share)
{
    double turn = 0, samples = 0;
    assert(k < a->n_loops);
    for (uint32_t b = 0; b < a->cfg->n_blocks; b++)
        if (a->blocks[b].loop == k + 1) {
            turn += a->blocks[b].actual;
            samples += a->blocks[b].attributed;
        }
    *share = a->samples ? samples / (double)a->samples : 0;
    return a->loops[k].whole ? turn : (double)NAN;
}
