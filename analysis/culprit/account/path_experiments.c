/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Paths that were run by themselves take the cycles that they took there; the scheduling model has only how these are
 * spread. */
#include "analysis/culprit/account/cycle_account_internal.h"
#include "analysis/culprit/classify/model.h"

#include <assert.h>
#include <math.h>

static bool same_place(const struct cs_isa_memory *a, const struct cs_isa_memory *b)
{
    const int64_t apart = a->displacement - b->displacement;
    return a->base == b->base && a->index == b->index && a->scale == b->scale && apart < 64 && apart > -64;
}

/* Whether what is stored on the path is loaded on it, as far as operands tell. Addresses are made up in an experiment: there
 * it may be, and in the program not, or the other way round. */
static bool through_memory(const struct cs_schedule_path *path)
{
    struct cs_isa_insn store, load;
    for (size_t i = 0; i < path->n; i++) {
        if (!(path->ops[i].flags & CS_ISA_OP_STORE))
            continue;
        cs_isa_decode(CS_ISA_X86_64, path->ops[i].bytes, path->ops[i].length, path->ops[i].offset, &store);
        for (size_t k = 0; k < path->n; k++) {
            if (!(path->ops[k].flags & CS_ISA_OP_LOAD))
                continue;
            cs_isa_decode(CS_ISA_X86_64, path->ops[k].bytes, path->ops[k].length, path->ops[k].offset, &load);
            for (unsigned a = 0; a < store.n_memory; a++)
                for (unsigned b = 0; b < load.n_memory; b++)
                    if (store.memory[a].writes && load.memory[b].reads &&
                        same_place(&store.memory[a], &load.memory[b]))
                        return true;
        }
    }
    return false;
}

/* Values decide what these take. And a branch within, whose condition is made up, may have been mispredicted: 14 cycles of a
 * turn of 2, where a search in a sorted array was run. */
bool account_by_values(const struct cs_schedule_path *path)
{
    unsigned branches = 0;
    for (size_t i = 0; i < path->n; i++) {
        if (path->ops[i].flags & (CS_ISA_OP_DIVIDE | CS_ISA_OP_FDIVIDE | CS_ISA_OP_LOCK | CS_ISA_OP_GATHER))
            return true;
        /* What a branch fused with is marked as one, too. */
        branches += path->ops[i].flags & (CS_ISA_OP_BRANCH | CS_ISA_OP_JUMP) &&
                    !(i + 1 < path->n && cs_isa_op_fused(&path->ops[i], &path->ops[i + 1]));
    }
    return branches > 1 || through_memory(path);
}

enum cs_experiment_why account_experiment(struct cs_experiments *experiments,
                                          const struct cs_schedule_path *path, double modelled,
                                          double *cycles)
{
    struct cs_experiment_result result;
    enum cs_experiment_why why = cs_experiments_run(experiments, path->ops, path->n, &result);
    assert(why < CS_N_EXPERIMENT_WHY);
    if (why == CS_EXPERIMENT_DONE && result.cycles > modelled && account_by_values(path))
        why = CS_EXPERIMENT_VALUES;
    *cycles = why == CS_EXPERIMENT_DONE ? result.cycles : 0;
    return why;
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
