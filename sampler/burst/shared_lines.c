/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampler/burst/shared_lines.h"

#include "store/base/order.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SETS 128
#define WAYS 8
#define KEPT 4    /* accesses of a line and thread: the hottest ones that write, then the hottest */
#define BURSTS 3  /* of its thread in which a line that isn't touched is kept */
#define BESIDE 16 /* threads that are asked for in a burst */

struct line {
    pid_t pid, tid; /* tid 0: free */
    uint64_t number;
    uint64_t used; /* burst in which it was touched last */
    unsigned age, n;
    struct cs_burst_access access[KEPT];
};

struct cs_burst_shared_lines {
    uint64_t burst;
    struct line (*lines)[WAYS]; /* [SETS]; NULL: no second thread yet */
    struct {
        pid_t tid;
        double share;
    } beside[BESIDE];
    unsigned n_beside;
};

/* What a burst and its callbacks are, while it is added. */
struct adding {
    struct cs_burst_shared_lines *lines;
    pid_t pid, tid;
    double instructions;
    cs_burst_runs_beside *beside;
    cs_burst_conflict_found *found;
    void *with;
};

struct cs_burst_shared_lines *cs_burst_shared_lines_open(void)
{
    return calloc(1, sizeof(struct cs_burst_shared_lines));
}

void cs_burst_shared_lines_close(struct cs_burst_shared_lines *lines)
{
    if (lines)
        free(lines->lines);
    free(lines);
}

static struct line *set_of(const struct cs_burst_shared_lines *lines, pid_t pid, uint64_t number)
{
    return lines->lines[((number ^ (uint64_t)pid << 20) * 0x9e3779b97f4a7c15ULL >> 40) % SETS];
}

static void age(const struct adding *a)
{
    for (unsigned s = 0; s < SETS; s++)
        for (unsigned w = 0; w < WAYS; w++) {
            struct line *line = &a->lines->lines[s][w];
            if (line->tid == a->tid && (line->pid != a->pid || ++line->age > BURSTS))
                line->tid = 0;
        }
}

static double runs_beside(const struct adding *a, pid_t tid)
{
    struct cs_burst_shared_lines *lines = a->lines;
    for (unsigned i = 0; i < lines->n_beside; i++)
        if (lines->beside[i].tid == tid)
            return lines->beside[i].share;
    if (lines->n_beside == BESIDE)
        return 0;
    double share = a->beside(a->with, a->pid, tid);
    lines->beside[lines->n_beside].tid = tid;
    return lines->beside[lines->n_beside++].share = share;
}

static bool overlap(const struct cs_burst_access *a, const struct cs_burst_access *b)
{
    return a->addr < b->addr + b->size && b->addr < a->addr + a->size;
}

/* What stands for the other thread: an access to the same bytes before one to others, then the hottest. */
static bool nearer(const struct cs_burst_access *own, const struct cs_burst_access *a,
                   const struct cs_burst_access *b)
{
    bool over = overlap(own, a), than = overlap(own, b);
    return over != than ? over : a->rate > b->rate;
}

/* The other threads' accesses that take the line away from this one. */
static int conflict_of(const struct adding *a, const struct cs_burst_access *own, double on_line)
{
    struct cs_burst_conflict conflict = {.own = *own,
                                         .instructions = a->instructions * own->executions / on_line};
    const struct cs_burst_access *other = NULL;
    double rate = 0;
    struct line *set = set_of(a->lines, a->pid, own->addr / 64);
    for (unsigned w = 0; w < WAYS; w++) {
        const struct line *line = &set[w];
        if (!line->tid || line->tid == a->tid || line->pid != a->pid || line->number != own->addr / 64)
            continue;
        for (unsigned k = 0; k < line->n; k++) {
            const struct cs_burst_access *b = &line->access[k];
            double beside = own->writes || b->writes ? runs_beside(a, line->tid) : 0;
            if (!(beside > 0))
                continue;
            rate += b->rate * beside;
            if (!other || nearer(own, b, other))
                other = b;
        }
    }
    if (!other)
        return 0;
    conflict.other = *other;
    conflict.taken = fmin(1, rate * a->instructions / on_line) * own->executions;
    return a->found(a->with, &conflict);
}

/* Of one line; `accesses` begin with those that are kept. */
static void keep(const struct adding *a, const struct cs_burst_access *accesses, unsigned n)
{
    struct line *set = set_of(a->lines, a->pid, accesses->addr / 64), *to = set;
    for (unsigned w = 0; w < WAYS; w++) {
        struct line *line = &set[w];
        if (line->tid == a->tid && line->pid == a->pid && line->number == accesses->addr / 64) {
            to = line;
            break;
        }
        if (!line->tid ? to->tid != 0 : to->tid && line->used < to->used)
            to = line;
    }
    *to = (struct line){a->pid, a->tid, accesses->addr / 64, a->lines->burst, 0, n < KEPT ? n : KEPT, {{0}}};
    memcpy(to->access, accesses, to->n * sizeof *accesses);
}

bool cs_burst_shared_lines_wanted(const struct cs_burst_shared_lines *lines, pid_t pid, pid_t tid)
{
    return lines->lines || pid != tid;
}

CS_ORDER(by_line, struct cs_burst_access, cs_order(a->addr / 64, b->addr / 64),
         cs_order(b->writes, a->writes), cs_order(b->executions, a->executions), cs_order(a->addr, b->addr),
         cs_order(a->offset, b->offset))

int cs_burst_shared_lines_add(struct cs_burst_shared_lines *lines, pid_t pid, pid_t tid,
                              uint32_t instructions, struct cs_burst_access *accesses, unsigned n,
                              cs_burst_runs_beside *beside, cs_burst_conflict_found *found, void *with)
{
    assert(beside && found && (accesses || n == 0));
    if (!cs_burst_shared_lines_wanted(lines, pid, tid) || !instructions)
        return 0;
    if (!lines->lines && !(lines->lines = calloc(SETS, sizeof *lines->lines)))
        return -ENOMEM;
    const struct adding a = {lines, pid, tid, instructions, beside, found, with};
    int rc = 0;
    lines->burst++;
    lines->n_beside = 0;
    age(&a);
    cs_sort(accesses, n, by_line);
    for (unsigned first = 0, end; rc == 0 && first < n; first = end) {
        double on_line = 0;
        for (end = first; end < n && accesses[end].addr / 64 == accesses[first].addr / 64; end++) {
            accesses[end].rate = accesses[end].executions / a.instructions;
            on_line += accesses[end].executions;
        }
        for (unsigned i = first; rc == 0 && on_line > 0 && i < end; i++)
            rc = conflict_of(&a, &accesses[i], on_line);
        keep(&a, &accesses[first], end - first);
    }
    return rc;
}
