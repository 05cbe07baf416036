/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From a change to a verdict. "Same" is a claim, too: the range's upper end must be below what had to be seen. "Can't tell" comes with how many
 * more runs would. */
#include "cli/gate/verdict/verdict.h"
#include "cli/output/output.h"
#include "store/base/array.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define RUNS_TOLD_MAX 1000
#define MEASURES_MAX 5 /* of stores; beyond, these are benchmarks: those that made the verdict are named */
#define SHOWN 4

const char *const gate_verdict_names[] = {"same", "faster", "slower", "can't tell", "layout"};

const char *gate_percent(double share, char text[32])
{
    snprintf(text, 32, "%+.*f %%", fabs(share) < 0.0995 ? 2 : 1, 100 * share);
    return text;
}

struct gate_check *gate_add(struct gate *gate, const char *name, const char *what, const char *unit)
{
    char *copy = strdup(name);
    if (!copy || cs_array_resize(gate->check, gate->n_checks + 1) < 0) {
        free(copy);
        return NULL;
    }
    struct gate_check *check = &gate->check[gate->n_checks++];
    *check = (struct gate_check){.name = copy,
                                 .what = what,
                                 .unit = unit,
                                 .base = (double)NAN,
                                 .head = (double)NAN,
                                 .verdict = GATE_CANT_TELL};
    return check;
}

struct gate_check *gate_find(const struct gate *gate, const char *name)
{
    for (size_t i = 0; i < gate->n_checks; i++)
        if (strcmp(gate->check[i].name, name) == 0)
            return &gate->check[i];
    return NULL;
}

void gate_note(struct gate *gate, const char *format, ...)
{
    va_list arguments;
    if (gate->n_notes == sizeof gate->note / sizeof gate->note[0])
        return;
    va_start(arguments, format);
    vsnprintf(gate->note[gate->n_notes++], sizeof gate->note[0], format, arguments);
    va_end(arguments);
}

bool gate_is_wait(const struct gate_guilty *g)
{
    return strcmp(g->kind, "function") != 0 && strcmp(g->kind, GATE_COUNTED) != 0 &&
           strcmp(g->kind, GATE_IN_KERNEL) != 0;
}

void gate_fini(struct gate *gate)
{
    for (size_t i = 0; i < gate->n_checks; i++)
        free(gate->check[i].name);
    for (size_t i = 0; i < gate->n_guilty; i++) {
        free(gate->guilty[i].function);
        free(gate->guilty[i].image);
        free(gate->guilty[i].file);
    }
    free(gate->check);
}

/* How many runs a side, in all, would tell: that it is the same, or that it grew. The estimate's change is taken for the true
 * one, and its error shrinks with the root of the runs. More than RUNS_TOLD_MAX: none tell. */
static unsigned runs_needed(const struct gate_limits *limits, const struct gate_estimate *e)
{
    const unsigned has = e->runs[0] < e->runs[1] ? e->runs[0] : e->runs[1];
    unsigned n = has + 1;
    for (; n <= has + RUNS_TOLD_MAX; n += 1 + n / 16) {
        const double freedom = e->freedom + (n - has), error = e->error * sqrt((double)has / n);
        if (e->change + gate_student(0.05, freedom) * error <= limits->must_see / 100 ||
            (e->change > limits->ignore_below / 100 &&
             gate_student(GATE_CHANCE, freedom) * error < e->change))
            break;
    }
    return n;
}

static void say_what_would_tell(const struct gate_limits *limits, struct gate_check *c, double seconds)
{
    const struct gate_estimate *e = &c->estimate;
    const unsigned has = e->runs[0] < e->runs[1] ? e->runs[0] : e->runs[1],
                   more = runs_needed(limits, e) - has;
    char range[2][32];
    int at = snprintf(c->sentence, sizeof c->sentence,
                      "between %s and %s: only a growth above %.1f %% would have been seen; ",
                      gate_percent(e->low, range[0]), gate_percent(e->high, range[1]), 100 * e->visible);
    if (at < 0 || (size_t)at >= sizeof c->sentence)
        return;
    char *to = c->sentence + at;
    size_t room = sizeof c->sentence - (size_t)at;
    if (more > RUNS_TOLD_MAX)
        snprintf(to, room, "more than %d further runs would tell, or a quieter machine", RUNS_TOLD_MAX);
    else if (seconds > 0)
        snprintf(to, room, "about %u more run%s of each would tell (%.0f s)", more, plural(more),
                 ceil(more * seconds));
    else
        snprintf(to, room, "about %u more run%s of each would tell", more, plural(more));
}

void gate_judge(const struct gate_limits *limits, struct gate_check *c, double seconds_a_pair)
{
    assert(limits->ignore_below >= 0 && limits->must_see >= 0);
    const struct gate_estimate *e = &c->estimate;
    const double least = limits->ignore_below / 100, see = limits->must_see / 100;
    char change[32], range[2][32];
    c->verdict = GATE_CANT_TELL;
    if (!c->known)
        return;
    const bool real = e->chance < GATE_CHANCE;
    snprintf(c->sentence, sizeof c->sentence, "%s (between %s and %s)", gate_percent(e->change, change),
             gate_percent(e->low, range[0]), gate_percent(e->high, range[1]));
    if (real && e->change > least)
        c->verdict = GATE_SLOWER;
    else if (real && e->change < -least)
        c->verdict = GATE_FASTER;
    else if (e->high <= see)
        c->verdict = GATE_SAME;
    else
        say_what_would_tell(limits, c, seconds_a_pair);
}

void gate_conclude(struct gate *gate)
{
    bool faster = false, blind = gate->n_checks == 0, slower = false, layout = false;
    for (size_t i = 0; i < gate->n_checks; i++) {
        const struct gate_check *c = &gate->check[i];
        slower |= c->verdict == GATE_SLOWER;
        faster |= c->verdict == GATE_FASTER;
        layout |= c->verdict == GATE_LAYOUT;
        blind |= c->required && c->verdict == GATE_CANT_TELL;
    }
    gate->verdict = slower   ? GATE_SLOWER
                    : blind  ? GATE_CANT_TELL
                    : layout ? GATE_LAYOUT
                    : faster ? GATE_FASTER
                             : GATE_SAME;
}

void gate_sentence(const struct gate *gate, char *text, size_t size)
{
    size_t at = (size_t)snprintf(text, size, "%s:", gate_verdict_names[gate->verdict]), shown = 0;
    char change[32];
    for (size_t i = 0; i < gate->n_checks && at < size; i++) {
        const struct gate_check *c = &gate->check[i];
        if (shown == SHOWN || (!c->required && c->verdict != GATE_SLOWER && c->verdict != GATE_FASTER) ||
            (gate->n_checks > MEASURES_MAX && c->verdict != gate->verdict))
            continue;
        at += (size_t)snprintf(text + at, size - at, "%s %s %s", shown++ ? "," : "", c->name,
                               gate_verdict_names[c->verdict]);
        if (at < size && c->known)
            at += (size_t)snprintf(text + at, size - at, " (%s)", gate_percent(c->estimate.change, change));
    }
    if (gate->n_guilty && at < size)
        snprintf(text + at, size - at, "; most in %s%s", gate->guilty[0].function,
                 gate->guilty[0].candidate ? ", perhaps" : "");
}
