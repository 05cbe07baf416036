/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Time line -> M and its parts. See schedule.h for the invariants. */
#include "analysis/schedule/schedule.h"
#include "analysis/schedule/model.h"

#include <assert.h>
#include <math.h>
#include <string.h>

size_t cs_schedule_turns(const struct cs_schedule_path *path)
{
    if (!path->closed)
        return 1;
    size_t turns = path->n ? 2000 / path->n : 0;
    return turns < 8 ? 8 : turns > 60 ? 60 : turns;
}

static double overlap(double from, double to, double low, double high)
{
    double a = from > low ? from : low, b = to < high ? to : high;
    return b > a ? b - a : 0;
}

struct parts {
    double gap, front, waiting, port, own;
};

/* What the instruction itself was doing while it was the oldest: the gap between the two retirements, cut by
 * its own stages. */
static struct parts cut(const struct cs_schedule_timeline *t, int previous)
{
    struct parts p = {.gap = t->retired - previous};
    if (p.gap <= 0)
        return (struct parts){0};
    p.front = overlap(previous, t->dispatched, previous, t->retired);
    p.waiting = overlap(t->dispatched, t->ready, previous, t->retired);
    p.port = overlap(t->ready, t->issued, previous, t->retired);
    p.own = p.gap - p.front - p.waiting - p.port;
    return p;
}

/* Latest writer before step i of one register; looks around the corner when the path is closed. */
static int writer_before(const struct cs_schedule_path *path, size_t i, uint64_t reg)
{
    for (size_t back = 1; back <= (path->closed ? path->n : i); back++) {
        size_t j = (i + path->n - back) % path->n;
        if (path->ops[j].writes & reg)
            return (int)j;
    }
    return -1;
}

/* The producer whose result came last in the last turn. */
static int last_producer(const struct cs_schedule_path *path, size_t i,
                         const struct cs_schedule_timeline *lines, size_t turns)
{
    int latest = -1, when = -1;
    for (uint64_t rest = path->ops[i].reads & ~CS_ISA_OP_REG_RSP; rest; rest &= rest - 1) {
        int j = writer_before(path, i, rest & -rest);
        if (j < 0)
            continue;
        size_t turn = (size_t)j >= i && turns > 1 ? turns - 2 : turns - 1;
        int executed = lines[turn * path->n + (size_t)j].executed;
        if (executed > when)
            when = executed, latest = j;
    }
    return latest;
}

static void split(struct cs_schedule_step *s, const struct parts *sum, double turns,
                  const struct cs_isa_op *op, double width)
{
    double stall, rest = (sum->front + sum->waiting + sum->port + sum->own) / turns;
    s->m = sum->gap / turns;
    s->execution = s->m < 1 / width ? s->m : 1 / width;
    stall = s->m - s->execution;
    if (stall <= 0 || rest <= 0)
        return;
    double share = stall / rest / turns;
    double own = sum->own * share;
    s->front = sum->front * share;
    s->port = sum->port * share;
    s->dependency = sum->waiting * share;
    if (op->flags & (CS_ISA_OP_DIVIDE | CS_ISA_OP_FDIVIDE))
        s->divider = own;
    else
        s->dependency += own;
}

/* A fused branch is part of what it follows: its time goes there. */
static void fuse(const struct cs_schedule_path *path, struct cs_schedule_step *steps)
{
    for (size_t i = 1; i < path->n; i++) {
        if (!cs_isa_op_fused(&path->ops[i - 1], &path->ops[i]))
            continue;
        struct cs_schedule_step *a = &steps[i - 1], *b = &steps[i];
        a->m += b->m;
        a->dependency += b->dependency;
        a->port += b->port;
        a->front += b->front;
        a->execution += b->execution;
        *b = (struct cs_schedule_step){.producer = b->producer, .fused = true};
    }
}

/* When a result is there. The load of a load-op needs the address alone: registers that it combines with what was
 * loaded are read when that has come. But llvm-mca lets all of a load of %al wait for the %al before it, and its M is of
 * that chain. */
static double executed_at(const struct cs_isa_op *op, const double *at, double latency)
{
    double address = 0, others = 0;
    for (uint64_t rest = op->reads & ~CS_ISA_OP_REG_RSP; rest; rest &= rest - 1) {
        double *latest = op->address_reads & rest & -rest ? &address : &others;
        *latest = fmax(*latest, at[__builtin_ctzll(rest)]);
    }
    const bool merged = op->flags & CS_ISA_OP_MERGES && !(op->writes & CS_ISA_OP_REG_X87);
    double loads = op->flags & CS_ISA_OP_LOAD && !merged ? fmin(CS_MODEL_LOAD_OF_OP, latency) : 0;
    return fmax(address + latency, others + fmax(latency - loads, fmin(1, latency)));
}

/* Cycles of a turn if nothing but operands were waited for: the longest chain that comes back to itself. */
static double recurrence(const struct cs_schedule_path *path, const struct cs_schedule_timeline *lines,
                         size_t turns)
{
    enum { REGISTERS = 64, HALF = 12 };
    double at[REGISTERS] = {0}, half = 0, latest = 0;
    for (size_t turn = 0; turn < 2 * HALF; turn++) {
        for (size_t i = 0; i < path->n; i++) {
            const struct cs_isa_op *op = &path->ops[i];
            const struct cs_schedule_timeline *t = &lines[(turn < turns ? turn : turns - 1) * path->n + i];
            double end = executed_at(op, at, t->executed - t->issued);
            for (uint64_t rest = op->writes & ~CS_ISA_OP_REG_RSP; rest; rest &= rest - 1)
                at[__builtin_ctzll(rest)] = end;
            latest = fmax(latest, end);
        }
        if (turn == HALF - 1)
            half = latest;
    }
    return (latest - half) / (double)HALF;
}

/* Of a path's instructions, the one that waits longest for a port while its operands are ready: the queue is where the
 * narrowest one is. path->n: none waits. */
static size_t longest_queue(const struct cs_schedule_path *path, const struct cs_schedule_timeline *lines,
                            size_t turns)
{
    size_t longest = path->n;
    double most = 0;
    for (size_t i = 0; i < path->n; i++) {
        double waits = 0;
        for (size_t turn = turns / 2; turn < turns; turn++) {
            const struct cs_schedule_timeline *t = &lines[turn * path->n + i];
            waits += t->issued - t->ready;
        }
        if (waits > most)
            most = waits, longest = i;
    }
    return longest;
}

/* A loop whose chains would allow much more than it does waits for ports, whatever each instruction was doing
 * when it was the oldest: its operands come late because their producers found no port. Where divisions queue longest, that
 * port is the divider. */
static void blame_ports(const struct cs_schedule_path *path, const struct cs_schedule_timeline *lines,
                        size_t turns, struct cs_schedule_step *steps)
{
    double total = 0;
    for (size_t i = 0; i < path->n; i++)
        total += steps[i].m;
    if (!path->closed || recurrence(path, lines, turns) > CS_MODEL_CHAIN_OF_LOOP * total)
        return;
    const size_t queue = longest_queue(path, lines, turns);
    const bool divides = queue < path->n && path->ops[queue].flags & (CS_ISA_OP_DIVIDE | CS_ISA_OP_FDIVIDE);
    for (size_t i = 0; i < path->n; i++) {
        steps[i].port += steps[i].dependency;
        steps[i].dependency = 0;
        if (divides) {
            steps[i].divider += steps[i].port;
            steps[i].port = 0;
        }
    }
}

void cs_schedule_steps(const struct cs_schedule_path *path, const struct cs_schedule_timeline *lines,
                       size_t turns, double width, struct cs_schedule_step *steps)
{
    assert(turns > 0 && width > 0);
    size_t first = turns > 1 ? turns / 2 : 0;
    for (size_t i = 0; i < path->n; i++) {
        struct parts sum = {0};
        for (size_t turn = first; turn < turns; turn++) {
            size_t at = turn * path->n + i;
            int previous = at ? lines[at - 1].retired : lines[0].retired - 1;
            struct parts p = cut(&lines[at], previous);
            sum.gap += p.gap;
            sum.front += p.front;
            sum.waiting += p.waiting;
            sum.port += p.port;
            sum.own += p.own;
        }
        memset(&steps[i], 0, sizeof steps[i]);
        split(&steps[i], &sum, (double)(turns - first), &path->ops[i], width);
        steps[i].producer = last_producer(path, i, lines, turns);
    }
    blame_ports(path, lines, turns, steps);
    for (size_t i = 0; i < path->n; i++)
        assert(steps[i].m >= 0 && steps[i].producer < (int)path->n);
    fuse(path, steps);
}

/* Control comes to step i of a closed path by a taken branch. */
static bool jumped_to(const struct cs_schedule_path *path, size_t i)
{
    const struct cs_isa_op *before = &path->ops[(i ? i : path->n) - 1];
    return path->ops[i].offset != before->offset + before->length;
}

void cs_schedule_fetch(const struct cs_schedule_path *path, struct cs_schedule_step *steps)
{
    bool begins[CS_SCHEDULE_PATH_MAX] = {false};
    size_t lines = 0, fetches = 0, operations = 0, first = 0;
    double total = 0;
    if (!path->closed || path->n > CS_SCHEDULE_PATH_MAX)
        return;
    while (first < path->n && !jumped_to(path, first))
        first++;
    for (size_t k = 0; k < path->n; k++) {
        size_t i = (first + k) % path->n, before = (i ? i : path->n) - 1;
        const bool jumped = jumped_to(path, i);
        begins[i] = jumped || path->ops[i].offset / CS_MODEL_FETCH_BYTES !=
                                  path->ops[before].offset / CS_MODEL_FETCH_BYTES;
        lines += begins[i];
        operations = jumped ? 1 : operations + !steps[i].fused;
        fetches += !steps[i].fused && operations % CS_MODEL_FETCH_OPERATIONS == 1;
        total += steps[i].m;
    }
    double lacking = (double)(lines > fetches ? lines : fetches) - total;
    for (size_t i = 0; i < path->n && lacking > 0; i++) {
        size_t to = steps[i].fused ? i - 1 : i; /* a fused pair is one step */
        assert(to < path->n);                   /* the first is no pair's second */
        steps[to].m += begins[i] ? lacking / (double)lines : 0;
        steps[to].front += begins[i] ? lacking / (double)lines : 0;
    }
}
