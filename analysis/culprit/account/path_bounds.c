/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What bounds the steps of a scheduled path besides the scheduling model. The core's width does, the lives of its loop, and
 * the divider as it was measured. */
#include "analysis/culprit/account/account_model.h"
#include "analysis/culprit/account/cycle_account_internal.h"

#include <math.h>

/* Of a cycle, what one operation takes at least: its share of the model's width, which a step has in full where M
 * leaves room for it. A fused pair may have two. */
double account_operation_cycles(const struct cs_schedule_step *steps, size_t n)
{
    double least = 0;
    for (size_t i = 0; i < n; i++)
        if (!steps[i].fused && !(i + 1 < n && steps[i + 1].fused))
            least = fmax(least, steps[i].execution);
    return least > 0 && least >= 1 / CS_SCHEDULE_WIDTH_MAX ? least : 1 / CS_SCHEDULE_DISPATCH_MAX;
}

double account_path_cycles(const struct cs_schedule_step *steps, size_t n)
{
    double m = 0;
    for (size_t i = 0; i < n; i++)
        m += steps[i].m;
    return m;
}

/* Is each instruction one operation, or little more? A gather is dozens, which the model may not know. */
static bool counts_operations(const struct cs_schedule_path *path)
{
    for (size_t i = 0; i < path->n; i++)
        if (path->ops[i].flags & (CS_ISA_OP_GATHER | CS_ISA_OP_REPEAT))
            return false;
    return true;
}

/* A turn takes as long as the core needs for so many operations, whatever ports it has. Only what it takes beyond that can be
 * the wait for one. The time line has the whole of it at the few instructions whose retirement is late. Nor can it be the
 * wait for a chain where that is begun again before it is the limit (`less` below 1). */
void account_bound_waits(const struct cs_schedule_path *path, struct cs_schedule_step *steps, double less)
{
    const double each = account_operation_cycles(steps, path->n),
                 m = less * account_path_cycles(steps, path->n);
    double waits = 0, least = 0;
    for (size_t i = 0; i < path->n; i++) {
        waits += steps[i].port + steps[i].front + (less < 1 ? steps[i].dependency : 0);
        least += steps[i].fused ? 0 : each;
    }
    waits *= less;
    const double beyond = fmax(m - least, 0);
    const double kept = waits > beyond && counts_operations(path) ? beyond / waits : 1;
    for (size_t i = 0; i < path->n && (less < 1 || kept < 1); i++) {
        struct cs_schedule_step *s = &steps[i];
        s->m *= less;
        s->divider *= less;
        s->dependency *= less < 1 ? less * kept : 1;
        s->port *= less * kept;
        s->front *= less * kept;
        s->execution = fmax(s->m - s->dependency - s->divider - s->port - s->front, 0);
    }
}

/* Cycles between two divisions of a path, by the model. */
static double between_divisions(const struct cs_schedule_step *steps, const struct cs_isa_op *ops, size_t n)
{
    double cycles = 0, divisions = 0;
    for (size_t i = 0; i < n; i++) {
        cycles += steps[i].m;
        divisions += (ops[i].flags & CS_ISA_OP_DIVIDE) != 0;
    }
    return divisions > 0 ? cycles / divisions : 0;
}

/* Whether the operand that came last came, through whatever else, from a division of the path. */
static bool waits_for_division(const struct cs_schedule_step *steps, const struct cs_isa_op *ops, size_t n,
                               size_t i)
{
    int producer = steps[i].producer;
    for (size_t hops = 0; hops < n && producer >= 0 && (size_t)producer < n; hops++) {
        if (ops[producer].flags & CS_ISA_OP_DIVIDE)
            return true;
        producer = steps[producer].producer;
    }
    return false;
}

/* The model's figure for a division is for the worst operands. What was measured here is the most that one
 * takes: where one waits for another's result its latency, else the distance of two that the divider can
 * do. `between`: the distance by the model, 0 = the path isn't closed. */
static void bound_division(struct cs_schedule_step *steps, const struct cs_isa_op *ops, size_t n, size_t i,
                           double between, const struct cs_machine *m)
{
    struct cs_schedule_step *step = &steps[i];
    bool queues = between > 0 && !waits_for_division(steps, ops, n, i);
    double over = queues ? between - m->divide_each_cycles : step->m - m->divide_cycles;
    double *parts[] = {&step->port, &step->divider, &step->dependency};
    for (unsigned k = 0; k < 3 && over > 0; k++) {
        double part = over < *parts[k] ? over : *parts[k];
        *parts[k] -= part;
        step->m -= part;
        over -= part;
    }
}

void account_bound_divisions(const struct cs_schedule_path *path, struct cs_schedule_step *steps,
                             const struct cs_machine *m)
{
    double between = path->closed ? between_divisions(steps, path->ops, path->n) : 0;
    for (size_t i = 0; i < path->n && m->divide_cycles > 0; i++)
        if (path->ops[i].flags & CS_ISA_OP_DIVIDE)
            bound_division(steps, path->ops, path->n, i, between, m);
}

/* A closed path that takes as long as its divisions queue for the divider takes that long because of them,
 * wherever the core waits for retirement. */
void account_blame_divider(const struct cs_schedule_path *path, struct cs_schedule_step *steps,
                           const struct cs_machine *m)
{
    double between = path->closed ? between_divisions(steps, path->ops, path->n) : 0;
    bool queues = false;
    for (size_t i = 0; i < path->n; i++)
        queues |=
            (path->ops[i].flags & CS_ISA_OP_DIVIDE) && !waits_for_division(steps, path->ops, path->n, i);
    if (!queues || between <= 0 || between > CS_MODEL_DIVIDER_QUEUE * m->divide_each_cycles)
        return;
    for (size_t i = 0; i < path->n; i++) {
        steps[i].divider = steps[i].m - steps[i].execution;
        steps[i].dependency = steps[i].port = steps[i].front = 0;
    }
}
