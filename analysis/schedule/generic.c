/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The generic core, where llvm-mca isn't installed or refuses a path. It is four wide, dispatches and retires in
 * order, and has a limited window. In a cycle it takes two loads, one store, one multiplication and two floating
 * operations. Its divider does not overlap. Latencies are in model.h, the rest take 1. It is a sketch, and `calc`
 * says so. */
#include "analysis/schedule/model.h"
#include "analysis/schedule/schedule.h"

#include <string.h>

enum { WIDTH = CS_MODEL_GENERIC_WIDTH, WINDOW = CS_MODEL_GENERIC_WINDOW, UNITS_MAX = 4 };
enum unit { UNIT_LOAD, UNIT_STORE, UNIT_MULTIPLY, UNIT_FLOAT, UNIT_DIVIDE, UNIT_PLAIN, N_UNITS };
static const int units_of[N_UNITS] = {2, 1, 1, 2, 1, 4};

static enum unit unit_of(const struct cs_isa_op *op)
{
    if (op->flags & (CS_ISA_OP_DIVIDE | CS_ISA_OP_FDIVIDE))
        return UNIT_DIVIDE;
    if (op->flags & CS_ISA_OP_STORE)
        return UNIT_STORE;
    if (op->flags & CS_ISA_OP_LOAD)
        return UNIT_LOAD;
    if (op->flags & CS_ISA_OP_MULTIPLY)
        return UNIT_MULTIPLY;
    return op->flags & CS_ISA_OP_FLOAT ? UNIT_FLOAT : UNIT_PLAIN;
}

static int latency_of(const struct cs_isa_op *op)
{
    int load = op->flags & CS_ISA_OP_LOAD ? CS_MODEL_GENERIC_LOAD : 0;
    if (op->flags & (CS_ISA_OP_DIVIDE | CS_ISA_OP_FDIVIDE))
        return load + CS_MODEL_GENERIC_DIVIDE;
    if (op->flags & CS_ISA_OP_LOCK)
        return CS_MODEL_GENERIC_LOCK;
    if (op->flags & CS_ISA_OP_FLOAT)
        return load + CS_MODEL_GENERIC_FLOAT;
    if (op->flags & CS_ISA_OP_MULTIPLY)
        return load + CS_MODEL_GENERIC_MULTIPLY;
    return load + (load ? 0 : 1);
}

struct core {
    int free_at[N_UNITS][UNITS_MAX];
    int written_at[64];
    int dispatch_cycle, dispatched_now;
    int retire_cycle, retired_now;
};

static int paced(int *cycle, int *now, int earliest)
{
    if (earliest > *cycle) {
        *cycle = earliest;
        *now = 0;
    } else if (*now == WIDTH) {
        ++*cycle;
        *now = 0;
    }
    ++*now;
    return *cycle;
}

static void step(struct core *core, const struct cs_isa_op *op, int window_free,
                 struct cs_schedule_timeline *t)
{
    t->dispatched = paced(&core->dispatch_cycle, &core->dispatched_now, window_free);
    t->ready = t->dispatched;
    for (uint64_t rest = op->reads & ~CS_ISA_OP_REG_RSP; rest; rest &= rest - 1) {
        int at = core->written_at[__builtin_ctzll(rest)];
        if (at > t->ready)
            t->ready = at;
    }
    enum unit unit = unit_of(op);
    int best = 0, *free_at = core->free_at[unit];
    for (int u = 1; u < units_of[unit]; u++)
        if (free_at[u] < free_at[best])
            best = u;
    t->issued = t->ready > t->dispatched + 1 ? t->ready : t->dispatched + 1;
    if (free_at[best] > t->issued)
        t->issued = free_at[best];
    int latency = latency_of(op);
    free_at[best] = t->issued + (unit == UNIT_DIVIDE ? latency : 1);
    t->executed = t->issued + latency;
    for (uint64_t rest = op->writes & ~CS_ISA_OP_REG_RSP; rest; rest &= rest - 1)
        core->written_at[__builtin_ctzll(rest)] = t->executed;
    t->retired = paced(&core->retire_cycle, &core->retired_now, t->executed + 1);
}

double cs_schedule_generic(const struct cs_schedule_path *path, size_t turns,
                           struct cs_schedule_timeline *lines)
{
    struct core core;
    memset(&core, 0, sizeof core);
    for (size_t at = 0; at < turns * path->n; at++)
        step(&core, &path->ops[at % path->n], at >= WINDOW ? lines[at - WINDOW].retired : 0, &lines[at]);
    return WIDTH;
}
