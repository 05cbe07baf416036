/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The scale: one visit's executions. Counted, or else fitted to the samples, with what timed bursts say.
 *
 * The fit makes M and what the rules expect add up to all samples. The rules often expect too much. Then the fit has too
 * few executions, a fifth in lua's interpreter, and too many cycles an execution. What is beyond any rule's bounds of
 * these is an unexplained stall. So a scale also has a misfit: the time beyond the most that the rules allow, and the
 * time that M has beyond the samples. Both are by runs of blocks, because neighbours' samples are mixed up. The misfit
 * is convex in the scale. All scales whose misfit is near the least fit equally well. Of these it is the one nearest to
 * the timed bursts', and without these the one nearest to the fit. Chains outside loops are no misfit (open_chains.c). */
#include "analysis/culprit/account/account_model.h"
#include "analysis/culprit/account/cycle_account_internal.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#define FIT_RANGE 100.0 /* least and most scale looked at, by the fit */
#define FIT_STEPS 60    /* of a search */

bool account_has(const struct cs_cycle_account *a, const struct cs_cycle_account_insn *insn)
{
    return !insn->fused && insn->visits > 0 && a->blocks[insn->block].best >= 0;
}

/* The run of blocks that a block belongs to: it and the one that mostly follows it and is mostly entered from
 * it, and so on. */
uint32_t account_run_of(uint32_t *runs, uint32_t b)
{
    while (runs[b] != b)
        b = runs[b] = runs[runs[b]];
    return b;
}

uint32_t *account_runs(const struct accounting *x)
{
    const struct cs_cycle_account *a = x->a;
    uint32_t *runs = calloc(a->cfg->n_blocks + 1, sizeof *runs);
    for (uint32_t b = 0; runs && b < a->cfg->n_blocks; b++)
        runs[b] = b;
    for (uint32_t b = 0; runs && b < a->cfg->n_blocks; b++) {
        uint32_t edge = account_likely_out(x, b);
        if (edge == CS_CFG_EXIT || a->blocks[b].visits <= 0)
            continue;
        uint32_t to = a->cfg->edges[edge].to;
        double visits = x->edge_visits[edge];
        if (visits >= 0.5 * a->blocks[b].visits && visits >= 0.5 * a->blocks[to].visits)
            runs[account_run_of(runs, b)] = account_run_of(runs, to);
    }
    return runs;
}

/* A run of blocks, by a scale of 1. */
struct run_cycles {
    double sampled;
    double least, most; /* M but for open chains; M with the most that each rule allows which saw something */
};

static double misfit(const struct run_cycles *runs, uint32_t n, double scale)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += fmax(0, runs[i].sampled - scale * runs[i].most) +
               fmax(0, scale * runs[i].least - runs[i].sampled);
    return sum;
}

/* The scale of least misfit between two others: ternary search. */
static double least_misfit(const struct run_cycles *runs, uint32_t n, double from, double to)
{
    for (int i = 0; i < FIT_STEPS; i++) {
        double third = cbrt(to / from), left = from * third, right = to / third;
        if (misfit(runs, n, left) <= misfit(runs, n, right))
            to = right;
        else
            from = left;
    }
    return sqrt(from * to);
}

/* The scale nearest to `wanted` whose misfit is at most so much above the least. */
static double nearest_that_fits(const struct run_cycles *runs, uint32_t n, double wanted, double above)
{
    double fits = least_misfit(runs, n, wanted / FIT_RANGE, wanted * FIT_RANGE),
           most = misfit(runs, n, fits) + above, misfits = wanted;
    assert(fits > 0);
    if (misfit(runs, n, wanted) <= most)
        return wanted;
    for (int i = 0; i < FIT_STEPS; i++) {
        double middle = sqrt(misfits * fits);
        if (misfit(runs, n, middle) <= most)
            fits = middle;
        else
            misfits = middle;
    }
    return fits;
}

/* One visit's executions by timed intervals, which say how many instructions ran in all; 0: too few of them. */
static double timed_scale(const struct accounting *x)
{
    const struct cs_edge_flow *flow = x->e->flow.input.flow;
    if (!flow || !x->a->frequencies || flow->n_timed < CS_MODEL_TIMED_BURSTS)
        return 0;
    double timed = flow->executions_a_flow_ns * flow->user_ns;
    return timed > 0 && isfinite(timed) ? timed : 0;
}

static void fit_scale(const struct accounting *x, struct cs_culprit_stall *const *stalls)
{
    struct cs_cycle_account *a = x->a;
    double cycles = 0, least = 0, model = 0, worst_cycles = 0;
    a->scale_timed = timed_scale(x);
    uint32_t *runs = account_runs(x);
    struct run_cycles *of_run = calloc(a->cfg->n_blocks + 1, sizeof *of_run);
    for (uint32_t i = 0; i < a->cfg->n_insns; i++) {
        const struct cs_cycle_account_insn *insn = &a->insns[i];
        double expected, most;
        if (!account_has(a, insn))
            continue;
        cs_culprit_expect(stalls[i], &x->e->machine, &expected, &most);
        const struct run_cycles one = {.sampled = insn->attributed * x->e->cycles_a_sample,
                                       .least = insn->visits * (insn->step.m - account_open_chain(a, insn)),
                                       .most = insn->visits * (insn->step.m + most)};
        cycles += one.sampled;
        least += insn->visits * insn->step.m;
        model += insn->visits * (insn->step.m + expected);
        worst_cycles += one.most;
        if (runs && of_run) {
            struct run_cycles *run = &of_run[account_run_of(runs, insn->block)];
            run->sampled += one.sampled;
            run->least += one.least;
            run->most += one.most;
        }
    }
    a->scale = a->scale_model = model > 0 && cycles > 0 ? cycles / model : 0;
    if (a->scale > 0 && runs && of_run)
        a->scale = nearest_that_fits(of_run, a->cfg->n_blocks, a->scale_timed > 0 ? a->scale_timed : a->scale,
                                     CS_MODEL_MISFIT_ABOVE * cycles);
    a->scale_high = least > 0 ? fmax(a->scale, cycles / least) : a->scale;
    a->scale_low = worst_cycles > 0 ? fmin(a->scale, cycles / worst_cycles) : a->scale;
    a->scale_fitted = true;
    free(runs);
    free(of_run);
}

/* Timed intervals run after a burst, with caches warm: of a stream from memory executions are fewer by far. A scale that is
 * above by more than so few bursts may be off, one from the other and all together, lacks a cause. The misfit is convex, so
 * that the bound itself fits best of what they allow. */
static void bound_scale(const struct accounting *x)
{
    struct cs_cycle_account *a = x->a;
    const double timed = a->scale_timed;
    if (!(timed > 0))
        return;
    const double apart = CS_MODEL_TIMED_SPREAD / sqrt(x->e->flow.input.flow->n_timed),
                 most = timed * exp(CS_MODEL_VERDICT_SD * hypot(apart, CS_MODEL_TIMED_BIAS));
    if (a->scale <= most)
        return;
    if (a->scale_model > most * (most / timed)) { /* then the model says nothing of how often it ran */
        a->scale = timed;
        a->scale_low = fmin(a->scale_low, timed);
        a->scale_high = fmax(timed, fmin(a->scale_high, most));
        return;
    }
    a->scale = a->scale_high = most;
    a->scale_low = fmin(a->scale_low, timed);
    a->scale_sure = timed;
}

void account_scale(const struct accounting *x, struct cs_culprit_stall *const *stalls)
{
    struct cs_cycle_account *a = x->a;
    uint32_t counted = x->known ? cs_cfg_block(a->cfg, x->known->offset) : CS_CFG_EXIT;
    if (counted != CS_CFG_EXIT && a->blocks[counted].visits > 0) {
        a->scale = a->scale_low = a->scale_high = x->known->executions / a->blocks[counted].visits;
    } else if (!account_scale_by_instructions(a, x->e)) {
        fit_scale(x, stalls);
        bound_scale(x);
    }
}
