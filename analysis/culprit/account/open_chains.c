/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Chains outside loops. The model begins a path that isn't closed with nothing in flight, so that its chains are waited for
 * in full. The core overlaps them with what ran before. Where timed bursts say how often it all ran, such a chain waits no
 * longer than the samples of its run of blocks allow. */
#include "analysis/culprit/account/cycle_account_internal.h"

#include <math.h>
#include <stdlib.h>

double account_open_chain(const struct cs_cycle_account *a, const struct cs_cycle_account_insn *insn)
{
    return a->scale_timed > 0 && !a->blocks[insn->block].on_path ? insn->step.dependency : 0;
}

/* Samples' cycles of a run of blocks, what M has of them, and what of that open chains have. */
struct run_chains {
    double sampled, model, chains;
};

static void add_run(const struct accounting *x, uint32_t i, struct run_chains *run)
{
    const struct cs_cycle_account_insn *insn = &x->a->insns[i];
    const double executions = insn->visits * x->a->scale;
    run->sampled += insn->attributed * x->e->cycles_a_sample;
    run->model += executions * insn->step.m;
    run->chains += executions * account_open_chain(x->a, insn);
}

/* Of the run's chains what they keep. */
static double kept(const struct run_chains *run)
{
    return run->chains > 0 ? fmin(1, fmax(0, 1 - (run->model - run->sampled) / run->chains)) : 1;
}

static bool give(const struct accounting *x, uint32_t i, double keeps)
{
    struct cs_cycle_account_insn *insn = &x->a->insns[i];
    const double less = account_open_chain(x->a, insn) * (1 - keeps);
    struct cs_cycle_account_block *block = &x->a->blocks[insn->block];
    if (!(less > 0))
        return false;
    insn->step.dependency -= less;
    insn->step.m = fmax(insn->step.m - less, 0);
    block->best = fmax(block->best - less, block->operations * x->a->operation_cycles);
    return true;
}

bool account_give_chains(const struct accounting *x)
{
    const struct cs_cycle_account *a = x->a;
    uint32_t *runs = a->scale_timed > 0 && a->scale > 0 ? account_runs(x) : NULL;
    struct run_chains *of_run = runs ? calloc(a->cfg->n_blocks + 1, sizeof *of_run) : NULL;
    bool gave = false;
    for (int pass = 0; pass < 2 && of_run; pass++)
        for (uint32_t i = 0; i < a->cfg->n_insns; i++) {
            if (!account_has(a, &a->insns[i]))
                continue;
            struct run_chains *run = &of_run[account_run_of(runs, a->insns[i].block)];
            if (pass == 0)
                add_run(x, i, run);
            else
                gave |= give(x, i, kept(run));
        }
    free(runs);
    free(of_run);
    return gave;
}
