/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a mean instruction's misses and wrong guesses cost at least, likely and at most, against the cycles that it takes. The
 * bounds are wide: cores hide misses behind other work, and what bursts can't see of caches and predictors is taken as unknown.
 * So a part is named only where that leaves no other to be the first. */
#include "analysis/culprit/account/account_model.h"
#include "analysis/culprit/classify/model.h"
#include "analysis/culprit/flat.h"
#include "analysis/culprit/verdict_model.h"

#include <math.h>

const struct cs_flat_name cs_flat_names[CS_N_FLAT] = {
    [CS_FLAT_CODE] = {"code", "the code is larger than what the core holds of it"},
    [CS_FLAT_GUESSES] = {"mispredict", "branches are mispredicted"},
    [CS_FLAT_MEMORY] = {"memory", "the data is larger than the caches"},
    [CS_FLAT_CORE] = {"core", "the instructions themselves take the time"},
};

struct cost {
    double least, likely, most; /* cycles an instruction */
};

static struct cost times(double n, double least, double likely, double most)
{
    return (struct cost){n * least, n * likely, n * most};
}

static void add(struct cost *to, struct cost c)
{
    to->least += c.least;
    to->likely += c.likely;
    to->most += c.most;
}

/* Lines are fetched ahead where code runs on; after a jump, and even more after a wrong guess, the core waits. */
static struct cost code_of(const struct cs_flat_facts *f, const struct cs_machine *m)
{
    const double near = m->l2.latency_cycles, far = fmax(0, m->l3.latency_cycles - near),
                 wrong = (m->mispredict_cycles[0] + m->mispredict_cycles[1]) / 2;
    struct cost c = times(f->l1_misses * near + f->l2_misses * far, CS_MODEL_FLAT_FETCH / 2,
                          CS_MODEL_FLAT_FETCH, 2 * CS_MODEL_FLAT_FETCH);
    add(&c, times(f->page_misses, 0, CS_MODEL_STLB_HIT * CS_MODEL_CODE_PAGE, CS_MODEL_STLB_HIT));
    add(&c, times(f->page_walks * m->walk_cycles, 0, CS_MODEL_CODE_PAGE, 1));
    add(&c, times(f->targets_unknown, wrong / 2, wrong, wrong * CS_MODEL_MISPREDICT_MAX));
    return c;
}

static struct cost memory_of(const struct cs_flat_facts *f, const struct cs_machine *m)
{
    if (f->data_bytes <= (double)m->l1d.bytes)
        return (struct cost){0};
    const double level = f->data_bytes <= (double)m->l2.bytes ? m->l2.latency_cycles
                                                              : cs_machine_ladder(m, f->data_bytes),
                 alone = f->data_pointer + (1 - f->data_pointer) * CS_MODEL_MISS_ALONE;
    struct cost c = times(f->data_lines * fmax(level, m->l2.latency_cycles), alone / 3, alone, 1);
    if (f->data_pages > m->stlb_entries)
        add(&c, times(f->data_walks * m->walk_cycles, 0, CS_MODEL_WALK_LOAD, 1));
    return c;
}

/* Timed, the cycles are known, and what the costs leave is unexplained. */
static const char *doubt_timed(const struct cs_flat_verdict *v)
{
    for (int p = 0; p < CS_N_FLAT; p++)
        if (p != (int)v->first && v->share[p] + v->unexplained / 2 >= v->share[v->first])
            return "two causes may each be the first";
    return v->share[v->first] < CS_MODEL_FLAT_LEAST ? "no cause has most of the time" : NULL;
}

/* Untimed, there is only the costs' ratio: the first one's least must be more than what all others cost at most. */
static const char *doubt_fitted(const struct cost *cost, enum cs_flat_part first)
{
    double others = 0;
    for (int p = 0; p < CS_N_FLAT; p++)
        others += p == (int)first ? 0 : cost[p].most;
    return cost[first].least > others
               ? NULL
               : "fewer than five bursts were timed, and without that two causes may each be the first";
}

struct cs_flat_verdict cs_flat_verdict(const struct cs_flat_facts *f, const struct cs_machine *m)
{
    struct cs_flat_verdict v = {.first = CS_N_FLAT,
                                .timed = f->timed >= CS_MODEL_TIMED_BURSTS && f->cycles > 0};
    struct cost cost[CS_N_FLAT];
    double likely = 0, wrong = (m->mispredict_cycles[0] + m->mispredict_cycles[1]) / 2;
    if (f->bursts < CS_MODEL_FLAT_BURSTS || !(f->instructions > 0)) {
        v.missing = "too few bursts saw the program run";
        return v;
    }
    if (!(f->model_cycles > 0)) {
        v.missing = "the scheduling model has nothing of this code";
        return v;
    }
    cost[CS_FLAT_CODE] = code_of(f, m);
    cost[CS_FLAT_GUESSES] = times(f->guesses, wrong / 2, wrong, wrong * CS_MODEL_MISPREDICT_MAX);
    cost[CS_FLAT_MEMORY] = memory_of(f, m);
    cost[CS_FLAT_CORE] =
        times(f->model_cycles, 1 - CS_MODEL_SCHEDULE_OFF_MAX, 1, 1 + CS_MODEL_SCHEDULE_OFF_MAX);
    for (int p = 0; p < CS_FLAT_CORE; p++)
        likely += cost[p].likely;
    /* What the core needs at best it needs; the others share the rest where they expect more. */
    const double core = cost[CS_FLAT_CORE].likely, cycles = v.timed ? f->cycles : core + likely,
                 rest = fmax(0, cycles - core), fits = likely > rest ? rest / likely : 1;
    v.unexplained = 1;
    for (int p = 0; p < CS_N_FLAT; p++) {
        v.share[p] = fmin(1, cost[p].likely * (p == CS_FLAT_CORE ? 1 : fits) / cycles);
        v.low[p] = fmin(v.share[p], cost[p].least / cycles);
        v.high[p] = fmin(1, cost[p].most / cycles);
        v.unexplained = fmax(0, v.unexplained - v.share[p]);
        if (v.share[p] > 0 && (v.first == CS_N_FLAT || v.share[p] > v.share[v.first]))
            v.first = (enum cs_flat_part)p;
    }
    if (core * (1 - CS_MODEL_SCHEDULE_OFF_MAX) > cycles)
        v.missing = "the code ran faster than the scheduling model allows";
    else
        v.missing = v.timed ? doubt_timed(&v) : doubt_fitted(cost, v.first);
    v.enough = !v.missing;
    return v;
}
