/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The classifier: asks every rule, then bounds and divides the stall. */
#include "analysis/culprit/classify/culprit.h"

#include "analysis/culprit/classify/model.h"
#include "analysis/culprit/classify/rules.h"
#include "analysis/culprit/classify/rules_internal.h"

#include <assert.h>
#include <math.h>
#include <string.h>

const struct cs_culprit_cause_name cs_culprit_cause_names[CS_N_CAUSES] = {
    [CS_CAUSE_DCACHE] = {'d', "d-cache", "D-cache miss"},
    [CS_CAUSE_DTLB] = {'D', "dtlb", "DTLB miss"},
    [CS_CAUSE_ICACHE] = {'i', "i-cache", "I-cache miss"},
    [CS_CAUSE_ITLB] = {'I', "itlb", "ITLB miss"},
    [CS_CAUSE_MISPREDICT] = {'p', "mispredict", "Branch mispredict"},
    [CS_CAUSE_RETURN] = {'r', "return-stack", "Return stack too small"},
    [CS_CAUSE_STORE_BUFFER] = {'w', "store-buffer", "Store buffer full"},
    [CS_CAUSE_FORWARD] = {'f', "store-forward", "Store-forward failure"},
    [CS_CAUSE_ALIAS] = {'a', "alias", "4K aliasing"},
    [CS_CAUSE_SPLIT] = {'x', "split", "Split line"},
    [CS_CAUSE_LOCK] = {'l', "lock", "Lock or fence"},
    [CS_CAUSE_FALSE_SHARING] = {'s', "false-sharing", "False sharing"},
    [CS_CAUSE_TRUE_SHARING] = {'S', "true-sharing", "True sharing"},
    [CS_CAUSE_DENORMAL] = {'n', "denormal", "Denormal numbers"},
    [CS_CAUSE_SYSCALL] = {'k', "system-call", "System call"},
    [CS_CAUSE_PAGE_FAULT] = {'g', "page-fault", "Page fault"},
    [CS_CAUSE_DIVIDER] = {'v', "divider", "Divider busy"},
    [CS_CAUSE_DEPENDENCY] = {'c', "dependency", "Dependency chain"},
    [CS_CAUSE_PORT] = {'u', "port", "Port contention"},
    [CS_CAUSE_FRONT] = {'F', "front-end", "Front end"},
};

void cs_culprit_stall_init(struct cs_culprit_stall *stall, const struct cs_isa_op *op)
{
    memset(stall, 0, sizeof *stall);
    stall->op = op;
    for (int i = 0; i < CS_N_COUNTED; i++)
        stall->event_rate[i] = stall->event_likely[i] = -1;
}

static void say_counted(const struct cs_culprit_stall *stall, struct cs_culprit_suspect *s)
{
    if (s->cause == CS_CAUSE_DCACHE)
        rule_report(s, "%.2f first-level misses per execution were counted",
                    fmin(1, stall->event_likely[CS_COUNTED_L1D]));
    if (s->cause == CS_CAUSE_DTLB)
        rule_report(s, "%.2f page walks per execution were counted",
                    fmin(1, stall->event_likely[CS_COUNTED_DTLB]));
}

/* Counted events bound what their cause can cost. Where bursts expect much more, one of the two is wrong: that is kept for
 * the reader. */
static void bound_by_events(const struct cs_culprit_stall *stall, const struct cs_machine *machine,
                            struct cs_culprit_suspect *s, struct cs_culprit_classification *v)
{
    double most = cs_counted_cycles_most(stall, (int)s->cause, machine), gap = s->expected - most;
    double likely = cs_counted_cycles_likely(stall, (int)s->cause, machine);
    if (!isinf(likely) && !s->observed) {
        s->expected = likely;
        s->counted = true;
        say_counted(stall, s);
        if (!isinf(most)) /* beyond the stall, too: causes share it in proportion to their estimates */
            s->high = most;
    }
    if (isinf(most))
        return;
    if (s->observed && s->expected > 2 * most && gap > CS_MODEL_COST_MIN && gap > v->stall / 4 &&
        (!v->contradiction.found || gap > v->contradiction.expected - v->contradiction.counted)) {
        v->contradiction.found = true;
        v->contradiction.cause = s->cause;
        v->contradiction.expected = s->expected;
        v->contradiction.counted = most;
    }
    if (most < s->high)
        s->high = most;
    s->observed = true;
}

/* Two rules may find one cause, each a part of it: the heavier one speaks for both. */
static void append(struct cs_culprit_classification *v, const struct cs_culprit_suspect *s)
{
    for (unsigned i = 0; i < v->n; i++)
        if (v->suspects[i].cause == s->cause) {
            struct cs_culprit_suspect *both = &v->suspects[i], less = *both;
            if (s->high > both->high) {
                *both = *s;
            } else {
                less = *s;
            }
            both->contended |= less.contended;
            both->in_doubt += less.in_doubt;
            both->high += less.high;
            both->expected += less.expected;
            return;
        }
    if (v->n < CS_CULPRIT_SUSPECTS_MAX)
        v->suspects[v->n++] = *s;
}

/* Asks the rules of one kind; appends those that stay. */
static void ask(const struct cs_culprit_stall *stall, const struct cs_machine *machine, bool residual,
                bool terse, struct cs_culprit_classification *v)
{
    for (size_t i = 0; i < n_culprit_rules; i++) {
        const struct culprit_rule *rule = &culprit_rules[i];
        struct cs_culprit_suspect s = {.cause = rule->cause, .terse = terse};
        if (rule->residual != residual || !rule->suspect(stall, machine, &s))
            continue;
        bound_by_events(stall, machine, &s, v);
        if (!(s.high > 0))
            continue;
        if (s.expected > s.high)
            s.expected = s.high;
        append(v, &s);
    }
}

static double sum_high(const struct cs_culprit_classification *v)
{
    double sum = 0;
    for (unsigned i = 0; i < v->n; i++)
        sum += v->suspects[i].high;
    return sum;
}

/* Divides the stall: in proportion to what was expected, none above its high; what is left goes where room is
 * left. */
static void divide(struct cs_culprit_classification *v)
{
    double left = v->stall;
    for (int round = 0; round < 6 && left > 1e-9; round++) {
        double weight = 0, given = 0;
        for (unsigned i = 0; i < v->n; i++) {
            const struct cs_culprit_suspect *s = &v->suspects[i];
            if (s->share < s->high)
                weight += round < 5 ? s->expected + 1e-6 * s->high : s->high - s->share;
        }
        if (weight <= 0)
            break;
        for (unsigned i = 0; i < v->n; i++) {
            struct cs_culprit_suspect *s = &v->suspects[i];
            if (s->share >= s->high)
                continue;
            double w = round < 5 ? s->expected + 1e-6 * s->high : s->high - s->share;
            double part = left * w / weight;
            if (part > s->high - s->share)
                part = s->high - s->share;
            s->share += part;
            given += part;
        }
        left -= given;
    }
    v->unexplained = left > 1e-9 ? left : 0;
}

/* What the others can't have caused, this one has. */
static void bound(struct cs_culprit_classification *v)
{
    double sum = 0, memory = 0;
    for (unsigned i = 0; i < v->n; i++) {
        struct cs_culprit_suspect *s = &v->suspects[i];
        if (s->high > v->stall)
            s->high = v->stall;
        sum += s->high;
        memory += s->cause == CS_CAUSE_DCACHE || s->cause == CS_CAUSE_DTLB ? s->high : 0;
    }
    v->memory_high = fmin(memory, v->stall);
    v->memory_low = fmin(fmax(v->stall - (sum - memory), 0), v->memory_high);
    for (unsigned i = 0; i < v->n; i++) {
        struct cs_culprit_suspect *s = &v->suspects[i];
        double low = v->stall - (sum - s->high);
        s->low = low < 0 ? 0 : low > s->high ? s->high : low;
    }
}

static void order(struct cs_culprit_classification *v)
{
    for (unsigned i = 1; i < v->n; i++)
        for (unsigned j = i; j > 0 && v->suspects[j].share > v->suspects[j - 1].share; j--) {
            struct cs_culprit_suspect t = v->suspects[j];
            v->suspects[j] = v->suspects[j - 1];
            v->suspects[j - 1] = t;
        }
}

/* Those who could explain a thirtieth of the stall at most and needn't: not worth a reader's time. */
static void drop_trifles(struct cs_culprit_classification *v)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < v->n; i++)
        if (v->suspects[i].high >= v->stall / 30 && (v->suspects[i].share >= v->stall / 100))
            v->suspects[kept++] = v->suspects[i];
        else
            v->unexplained += v->suspects[i].share;
    v->n = kept;
}

/* Without its suspects: there are up to twelve, seldom three, and every instruction has a classification. */
static void empty(struct cs_culprit_classification *v)
{
    v->n = 0;
    v->stall = v->gain = v->unexplained = v->memory_low = v->memory_high = 0;
    v->contradiction.found = false;
}

/* What culprit.h promises of a classification, to a millionth. */
static bool is_whole(const struct cs_culprit_classification *v)
{
    const double most = v->stall * (1 + 1e-6) + 1e-9;
    double lows = v->unexplained, shares = v->unexplained;
    for (unsigned i = 0; i < v->n; i++) {
        const struct cs_culprit_suspect *s = &v->suspects[i];
        lows += s->low;
        shares += s->share;
        if (!(s->low >= 0 && s->low <= s->high * (1 + 1e-6) + 1e-9) || (i && s->share > s[-1].share))
            return false;
    }
    return v->unexplained >= 0 && lows <= most && fabs(shares - v->stall) <= most - v->stall;
}

void cs_culprit_classify(const struct cs_culprit_stall *stall, const struct cs_machine *machine,
                         struct cs_culprit_classification *v)
{
    empty(v);
    double difference = stall->cycles - stall->m;
    if (difference <= 0) {
        v->gain = -difference;
        return;
    }
    v->stall = difference;
    ask(stall, machine, false, false, v);
    if (sum_high(v) < v->stall)
        ask(stall, machine, true, false, v);
    bound(v);
    divide(v);
    drop_trifles(v);
    order(v);
    assert(is_whole(v));
}

void cs_culprit_expect(const struct cs_culprit_stall *stall, const struct cs_machine *machine,
                       double *expected, double *most)
{
    struct cs_culprit_classification v;
    empty(&v);
    *expected = *most = 0;
    ask(stall, machine, false, true, &v);
    for (unsigned i = 0; i < v.n; i++) {
        if (!v.suspects[i].observed)
            continue;
        *expected += v.suspects[i].expected;
        *most += v.suspects[i].high;
    }
}
