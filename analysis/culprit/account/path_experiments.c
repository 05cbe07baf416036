/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Paths that were run by themselves take the cycles that they took there; the scheduling model has only how these are
 * spread. */
#include "analysis/culprit/account/account_model.h"
#include "analysis/culprit/account/cycle_account_internal.h"
#include "analysis/culprit/classify/model.h"

#include <assert.h>
#include <math.h>

/* What a branch fused with is marked as one, too. */
unsigned account_branches(const struct cs_schedule_path *path)
{
    unsigned n = 0;
    for (size_t i = 0; i < path->n; i++)
        n += path->ops[i].flags & (CS_ISA_OP_BRANCH | CS_ISA_OP_JUMP) &&
             !(i + 1 < path->n && cs_isa_op_fused(&path->ops[i], &path->ops[i + 1]));
    return n;
}

/* Values decide what these take. And a branch within, whose condition is made up, may have been mispredicted: 14 cycles of a
 * turn of 2, where a search in a sorted array was run. */
bool account_by_values(const struct cs_schedule_path *path)
{
    for (size_t i = 0; i < path->n; i++)
        if (path->ops[i].flags & (CS_ISA_OP_DIVIDE | CS_ISA_OP_FDIVIDE | CS_ISA_OP_LOCK | CS_ISA_OP_GATHER))
            return true;
    return account_branches(path) > 1 || cs_experiments_forwards(path->ops, path->n);
}

enum cs_experiment_why account_experiment(struct cs_experiments *experiments,
                                          const struct cs_schedule_path *path, double modelled,
                                          double *cycles)
{
    struct cs_experiment_result result;
    const enum cs_experiment_why why = cs_experiments_run(experiments, path->ops, path->n, &result);
    assert(why < CS_N_EXPERIMENT_WHY);
    *cycles = why == CS_EXPERIMENT_DONE ? result.cycles : 0;
    /* Of so much more the model has too little to share it among causes: it lacks the x87 stack's chains. */
    return why == CS_EXPERIMENT_DONE && result.cycles > modelled &&
                   (result.cycles > CS_MODEL_EXPERIMENT_MOST * modelled || account_by_values(path))
               ? CS_EXPERIMENT_VALUES
               : why;
}

/* Less than the model has: static stalls go first. More: each part grows, so that the shares of causes stay. */
void account_scale_path(struct cs_schedule_step *steps, size_t n, double cycles)
{
    double total = 0, execution = 0;
    for (size_t i = 0; i < n; i++) {
        total += steps[i].m;
        execution += steps[i].execution;
    }
    if (!(total > 0) || !(cycles > 0))
        return;
    const double stalls = total - execution, left = fmax(cycles - execution, 0);
    const double stall = cycles > total ? cycles / total
                         : stalls > 0   ? left / stalls
                                        : 1,
                 own = cycles > total ? cycles / total : fmin(1, cycles / execution);
    for (size_t i = 0; i < n; i++) {
        struct cs_schedule_step *s = &steps[i];
        s->execution *= own;
        s->dependency *= stall;
        s->port *= stall;
        s->divider *= stall;
        s->front *= stall;
        s->m = s->execution + s->dependency + s->port + s->divider + s->front;
    }
}
