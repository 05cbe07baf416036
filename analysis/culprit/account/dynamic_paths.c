/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Dynamic paths: from each block that has samples, the most frequent way on until it comes back. That is a
 * loop, and it is repeated so that its carried dependencies are real. If it doesn't, the most frequent way
 * that leads to it. All are scheduled in one call; a block takes its M from the first path that holds it.
 */
#include "analysis/culprit/account/cycle_account_internal.h"

#include "analysis/culprit/account/account_model.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PATHS_MAX = 400, PATH_INSNS = 400, LEAD_INSNS = 48 };

struct route {
    uint32_t *blocks;
    uint32_t n, n_lead; /* the lead only warms up */
    size_t n_insns;
    bool closed, measured;
    uint8_t loop;     /* as a block's */
    double samples;   /* of the blocks that it speaks for */
    uint32_t life_of; /* 1 + the path of the loop whose life this is, 0 = it is none */
};

static bool on_route(const struct route *r, uint32_t block)
{
    for (uint32_t i = 0; i < r->n; i++)
        if (r->blocks[i] == block)
            return true;
    return false;
}

/* Where to go from `block`: back to the start when at least a twelfth goes there, else the most frequent way.
 */
static uint32_t next_block(const struct accounting *x, uint32_t block, uint32_t start)
{
    const struct cs_cfg *cfg = x->a->cfg;
    const struct cs_basic_block *b = &cfg->blocks[block];
    for (uint32_t i = b->first_out; i < b->first_out + b->n_out; i++)
        if (cfg->edges[i].to == start &&
            x->edge_visits[i] * CS_MODEL_LOOP_SHARE >= x->a->blocks[block].visits && x->edge_visits[i] > 0)
            return start;
    uint32_t edge = account_likely_out(x, block);
    return edge == CS_CFG_EXIT ? CS_CFG_EXIT : cfg->edges[edge].to;
}

/* What leads to a block along the most frequent way, oldest first, at most LEAD_INSNS instructions. */
static uint32_t lead_to(const struct accounting *x, uint32_t start, uint32_t *lead, size_t *n_insns)
{
    const struct cs_cfg *cfg = x->a->cfg;
    uint32_t n = 0;
    *n_insns = 0;
    for (uint32_t b = start; n < LEAD_INSNS && *n_insns < LEAD_INSNS;) {
        uint32_t edge = account_likely_in(x, b);
        if (edge == CS_CFG_EXIT || cfg->blocks[cfg->edges[edge].from].n_insns > 2 * LEAD_INSNS)
            break;
        b = cfg->edges[edge].from;
        lead[n++] = b;
        *n_insns += cfg->blocks[b].n_insns;
    }
    for (uint32_t i = 0; i < n / 2; i++) {
        uint32_t t = lead[i];
        lead[i] = lead[n - 1 - i];
        lead[n - 1 - i] = t;
    }
    return n;
}

static void follow(const struct accounting *x, uint32_t start, const bool *done, struct route *r)
{
    const struct cs_cfg *cfg = x->a->cfg;
    uint32_t lead[LEAD_INSNS];
    r->n = r->n_lead = 0;
    r->n_insns = 0;
    r->closed = false;
    for (uint32_t b = start; b != CS_CFG_EXIT && !on_route(r, b) &&
                             (r->n == 0 || r->n_insns + cfg->blocks[b].n_insns <= PATH_INSNS);) {
        r->blocks[r->n++] = b;
        r->n_insns += cfg->blocks[b].n_insns;
        b = next_block(x, b, start);
        if (b == start) {
            r->closed = true;
            return;
        }
    }
    /* No loop: what leads to the start, then on until somebody else has spoken for a block. */
    size_t lead_insns;
    uint32_t n_lead = lead_to(x, start, lead, &lead_insns), n = 1;
    while (n < r->n && !done[r->blocks[n]])
        n++;
    memmove(r->blocks + n_lead, r->blocks, n * sizeof *r->blocks);
    memcpy(r->blocks, lead, n_lead * sizeof *lead);
    r->n = n_lead + n;
    r->n_lead = n_lead;
    r->n_insns = 0;
    for (uint32_t i = 0; i < r->n; i++)
        r->n_insns += cfg->blocks[r->blocks[i]].n_insns;
}

struct plan {
    struct route *routes;
    struct cs_schedule_path *paths;
    struct cs_schedule_step **steps;
    struct cs_isa_op **ops;
    bool *done; /* by block */
    uint32_t n;
};

static int by_charge(const void *p, const void *q, void *arg)
{
    const struct cs_cycle_account *a = arg;
    double x = a->blocks[*(const uint32_t *)p].attributed, y = a->blocks[*(const uint32_t *)q].attributed;
    return x < y ? 1 : x > y ? -1 : 0;
}

/* Blocks of more instructions than a path may have are cut: their head is scheduled alone. */
static size_t fill(const struct accounting *x, const struct route *r, struct cs_isa_op *ops)
{
    size_t n = 0;
    for (uint32_t k = 0; k < r->n; k++) {
        const struct cs_basic_block *b = &x->a->cfg->blocks[r->blocks[k]];
        for (uint32_t i = 0; i < b->n_insns && n < CS_SCHEDULE_PATH_MAX; i++)
            ops[n++] = x->a->insns[b->first_insn + i].op;
    }
    return n;
}

/* A path of its own for the lives of the loop that `loop` is, where they are short. */
static bool plan_life(const struct accounting *x, struct plan *p, uint32_t loop)
{
    struct route *r = &p->routes[p->n];
    const uint32_t most = PATH_INSNS + LEAD_INSNS;
    if (!p->routes[loop].closed)
        return true;
    r->blocks = calloc(most, sizeof *r->blocks);
    if (!r->blocks)
        return false;
    r->n = account_life(x, p->routes[loop].blocks, p->routes[loop].n, PATH_INSNS, r->blocks, most);
    if (!r->n) {
        free(r->blocks);
        r->blocks = NULL;
        return true;
    }
    r->closed = true;
    r->life_of = loop + 1;
    p->ops[p->n] = calloc(CS_SCHEDULE_PATH_MAX, sizeof *p->ops[p->n]);
    p->steps[p->n] = calloc(CS_SCHEDULE_PATH_MAX, sizeof *p->steps[p->n]);
    const bool ok = p->ops[p->n] && p->steps[p->n];
    if (ok)
        p->paths[p->n] = (struct cs_schedule_path){p->ops[p->n], fill(x, r, p->ops[p->n]), true, false};
    p->n++; /* freed with the rest */
    return ok;
}

static bool plan_one(const struct accounting *x, struct plan *p, uint32_t block)
{
    struct route *r = &p->routes[p->n];
    r->blocks = calloc(PATH_INSNS + LEAD_INSNS + 2, sizeof *r->blocks);
    if (!r->blocks)
        return false;
    follow(x, block, p->done, r);
    size_t most = r->n_insns < CS_SCHEDULE_PATH_MAX ? r->n_insns : CS_SCHEDULE_PATH_MAX;
    p->ops[p->n] = calloc(most + 1, sizeof *p->ops[p->n]);
    p->steps[p->n] = calloc(most + 1, sizeof *p->steps[p->n]);
    if (!p->ops[p->n] || !p->steps[p->n]) {
        p->n++; /* freed with the rest */
        return false;
    }
    double samples = 0;
    for (uint32_t k = r->n_lead; k < r->n; k++) {
        samples += p->done[r->blocks[k]] ? 0 : x->a->blocks[r->blocks[k]].attributed;
        p->done[r->blocks[k]] = true;
    }
    r->samples = samples;
    p->paths[p->n] = (struct cs_schedule_path){p->ops[p->n], fill(x, r, p->ops[p->n]), r->closed,
                                               samples < fmax(CS_MODEL_PATH_SAMPLES, x->e->path_samples)};
    p->n++;
    return p->paths[p->n - 1].rough || plan_life(x, p, p->n - 1);
}

/* The model has a fixed figure for a system call and takes it for a latency. It is none: no operand is waited for, and the way
 * into the kernel has the time that was seen (rule_system_call). */
static struct cs_schedule_step step_of(const struct cs_schedule_step *step, const struct cs_isa_op *op)
{
    return op->flags & CS_ISA_OP_SYSCALL ? (struct cs_schedule_step){.m = step->execution,
                                                                     .execution = step->execution,
                                                                     .producer = step->producer}
                                         : *step;
}

/* Copies a path's steps to the blocks that have none yet. A path that was cut at its greatest length has no
 * steps for its last blocks: those stay without. */
static void take_steps(struct accounting *x, const struct plan *p, uint32_t path, bool *have)
{
    const struct route *r = &p->routes[path];
    size_t at = 0;
    bool whole = true;
    for (uint32_t k = 0; k < r->n; k++) {
        uint32_t block = r->blocks[k];
        const struct cs_basic_block *b = &x->a->cfg->blocks[block];
        bool mine = !have[block] && k >= r->n_lead;
        whole &= mine;
        for (uint32_t i = 0; i < b->n_insns && at < p->paths[path].n; i++, at++) {
            if (!mine)
                continue;
            x->a->insns[b->first_insn + i].step = step_of(&p->steps[path][at], &p->paths[path].ops[at]);
        }
        if (mine && at <= p->paths[path].n && b->n_insns > 0) {
            have[block] = true;
            x->a->blocks[block].measured = r->measured;
            x->a->blocks[block].loop = r->loop;
            x->a->blocks[block].on_path = r->closed && x->a->frequencies;
        }
    }
    if (r->loop)
        x->a->loops[r->loop - 1].whole = whole;
}

/* What a loop's turns take less where its lives follow one another, as a factor; 1: no less. `turn` and `all`: of the loop,
 * and of the lives' path. */
static double of_life(const struct plan *p, uint32_t life, double turn, double all)
{
    const struct route *r = &p->routes[life], *loop = &p->routes[r->life_of - 1];
    uint32_t turns = 0;
    for (uint32_t k = 0; k < r->n; k++)
        turns += r->blocks[k] == loop->blocks[0];
    return turn > 0 && turns ? fmin(1, all / (turns * turn)) : 1;
}

static void finish_blocks(struct cs_cycle_account *a, const bool *have)
{
    for (uint32_t b = 0; b < a->cfg->n_blocks; b++) {
        a->blocks[b].best = have[b] ? 0 : -1;
        const struct cs_basic_block *block = &a->cfg->blocks[b];
        for (uint32_t i = block->first_insn; i < block->first_insn + block->n_insns; i++) {
            a->blocks[b].operations += !a->insns[i].fused;
            a->blocks[b].best += have[b] ? a->insns[i].step.m : 0;
        }
        /* M may be all its neighbours', but nothing retires in no time. */
        if (have[b])
            a->blocks[b].best = fmax(a->blocks[b].best, a->blocks[b].operations * a->operation_cycles);
    }
}

static void plan_fini(struct plan *p)
{
    for (uint32_t i = 0; i < p->n; i++) {
        free(p->routes[i].blocks);
        free(p->ops[i]);
        free(p->steps[i]);
    }
    free(p->routes);
    free(p->paths);
    free(p->steps);
    free(p->ops);
    free(p->done);
}

/* To be freed in any case. */
static int plan_init(struct plan *p, const struct accounting *x, struct cs_error *err)
{
    struct cs_cycle_account *a = x->a;
    uint32_t n_blocks = a->cfg->n_blocks;
    uint32_t most = 2 * (n_blocks < PATHS_MAX ? n_blocks : PATHS_MAX); /* each may have lives */
    *p = (struct plan){calloc(most + 1, sizeof *p->routes),   calloc(most + 1, sizeof *p->paths),
                       calloc(most + 1, sizeof(*p->steps)),   calloc(most + 1, sizeof(*p->ops)),
                       calloc(n_blocks + 1, sizeof *p->done), 0};
    uint32_t *order = calloc(n_blocks + 1, sizeof *order);
    bool ok = p->routes && p->paths && p->steps && p->ops && p->done && order;
    for (uint32_t b = 0; ok && b < n_blocks; b++)
        order[b] = b;
    if (ok)
        qsort_r(order, n_blocks, sizeof *order, by_charge, a);
    for (uint32_t k = 0; ok && k < n_blocks && p->n + 1 < most; k++)
        if (!p->done[order[k]] && a->blocks[order[k]].attributed > 0)
            ok = plan_one(x, p, order[k]);
    free(order);
    return ok ? 0 : cs_fail(err, ENOMEM, "no memory for the paths of %s", a->procedure->name);
}

/* What the model says of a path, bounded by what it leaves out, and by how long the path takes alone. */
static void bound(const struct accounting *x, struct plan *p, uint32_t i)
{
    const bool lives = i + 1 < p->n && p->routes[i + 1].life_of == i + 1;
    const double turn = account_path_cycles(p->steps[i], p->paths[i].n),
                 all = lives ? account_path_cycles(p->steps[i + 1], p->paths[i + 1].n) : 0,
                 less = lives ? of_life(p, i + 1, turn, all) : 1;
    if (p->paths[i].closed)
        account_bound_waits(&p->paths[i], p->steps[i], less);
    account_bound_divisions(&p->paths[i], p->steps[i], &x->e->machine);
    account_blame_divider(&p->paths[i], p->steps[i], &x->e->machine);
    if (!p->paths[i].closed || p->paths[i].rough || !x->e->experiments ||
        p->routes[i].samples < fmax(CS_MODEL_EXPERIMENT_SHARE * (double)x->a->samples,
                                    CS_MODEL_EXPERIMENT_PATHS * x->e->path_samples))
        return;
    double measured, life = 0;
    const enum cs_experiment_why why = account_experiment(x->e->experiments, &p->paths[i], turn, &measured);
    x->a->n_experiments[why]++;
    p->routes[i].loop = account_loop(x, &p->paths[i], p->routes[i].samples, measured);
    if (why != CS_EXPERIMENT_DONE)
        return;
    p->routes[i].measured = true;
    if (lives && account_experiment(x->e->experiments, &p->paths[i + 1], all, &life) != CS_EXPERIMENT_DONE)
        life = 0;
    account_scale_path(p->steps[i], p->paths[i].n,
                       measured * (life > 0 ? of_life(p, i + 1, measured, life) : less));
}

int account_paths(struct accounting *x, struct cs_error *err)
{
    struct cs_cycle_account *a = x->a;
    struct plan p;
    bool *have = calloc(a->cfg->n_blocks + 1, sizeof *have);
    int rc = plan_init(&p, x, err);
    if (rc == 0 && !have)
        rc = cs_fail(err, ENOMEM, "no memory for the paths of %s", a->procedure->name);
    if (rc == 0)
        rc = cs_scheduler_run(x->scheduler, p.paths, p.n, p.steps, &a->n_generic, err);
    a->operation_cycles = 0;
    for (uint32_t i = 0; rc == 0 && i < p.n; i++) {
        a->operation_cycles = fmax(a->operation_cycles, account_operation_cycles(p.steps[i], p.paths[i].n));
        if (p.routes[i].life_of)
            continue;
        bound(x, &p, i);
    }
    if (!(a->operation_cycles > 0))
        a->operation_cycles = 1 / CS_SCHEDULE_DISPATCH_MAX;
    for (uint32_t i = 0; rc == 0 && i < p.n; i++)
        if (!p.routes[i].life_of)
            take_steps(x, &p, i, have);
    if (rc == 0)
        account_return_shadows(x);
    if (rc == 0)
        finish_blocks(a, have);
    a->n_paths = p.n;
    a->generic_core = cs_scheduler_is_generic(x->scheduler);
    plan_fini(&p);
    free(have);
    return rc;
}

int account_paths_ahead(struct accounting *x, struct cs_error *err)
{
    struct plan p;
    int rc = plan_init(&p, x, err);
    if (rc == 0)
        rc = cs_scheduler_ahead(x->scheduler, p.paths, p.n, err);
    plan_fini(&p);
    return rc;
}
