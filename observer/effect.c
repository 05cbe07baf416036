/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "observer/effect.h"
#include "observer/loop/throttle.h"
#include "observer/observation.h"
#include "observer/pause.h"
#include "store/base/clock.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define AWAY_NS 1000000
#define LOOK_NS                                                                                              \
    4000000 /* at least; up to 2.5 times as long again, uniform: no rhythm of the program is met */
#define PAIRS_FEW 20
#define ERROR_MOST 0.25 /* beyond it nothing is reported */
#define LINES_MOST 256  /* threads whose counters are read */

/* ---- the estimate: a ratio of two rates, its error by the pairs' residuals (delta method) ---- */

void cs_effect_add(struct cs_effect_sums *s, const double pair[CS_EFFECT_PARTS])
{
    assert(pair[CS_AWAY_EVENTS] >= 0 && pair[CS_LOOK_EVENTS] >= 0);
    s->n++;
    for (unsigned i = 0; i < CS_EFFECT_PARTS; i++) {
        s->sum[i] += pair[i];
        for (unsigned k = 0; k < CS_EFFECT_PARTS; k++)
            s->product[i][k] += pair[i] * pair[k];
    }
}

bool cs_effect_estimate(const struct cs_effect_sums *s, double *slower, double *error)
{
    static const double sign[CS_EFFECT_PARTS] = {1, -1, -1, 1};
    double of_log = 0, variance = 0;
    for (unsigned i = 0; i < CS_EFFECT_PARTS; i++) {
        if (!(s->sum[i] > 0) || s->sum[i] * s->sum[i] < PAIRS_FEW * s->product[i][i])
            return false; /* or all comes from fewer pairs (Kish's effective number) */
        of_log += sign[i] * log(s->sum[i]);
        for (unsigned k = 0; k < CS_EFFECT_PARTS; k++)
            variance += sign[i] * sign[k] * s->product[i][k] / (s->sum[i] * s->sum[k]);
    }
    *slower = exp(of_log) - 1;
    *error = exp(of_log) * sqrt(fmax(0, variance) * s->n / (s->n - 1));
    return true;
}

/* ---- the program's progress ---- */

/* Those that are observed come first: the user knows what they count. */
enum rank { OBSERVED, OTHER_COUNTER, GROWING_TAG, RANKS };

struct source {
    char name[CS_SIGNAL_NAME_MAX];
    unsigned word;
    enum rank rank; /* of a tag, such as a request's number, the highest of all threads counts */
    bool falls;     /* a tag that doesn't only grow */
    struct cs_effect_sums sums;
};

struct mark {
    uint64_t ran_ns; /* the program on its CPU; where that isn't known, wall-clock time */
    uint64_t owners, progress[CS_SIGNALS_MAX];
    bool usable;
};

struct effect {
    struct cs_observation *o;
    const volatile struct cs_os_line *os; /* NULL: who has the CPU isn't known */
    struct cs_pause pause;
    struct source sources[CS_SIGNALS_MAX];
    unsigned n;
};

static void add_source(struct effect *e, const char name[CS_SIGNAL_NAME_MAX], unsigned word, enum rank rank)
{
    struct source *s = &e->sources[e->n++];
    memcpy(s->name, name, sizeof s->name);
    s->word = word;
    s->rank = rank;
}

static void find_sources(struct effect *e)
{
    struct cs_observation *o = e->o;
    struct cs_seen_signal signals[CS_SIGNALS_MAX];
    const unsigned n = o->seen.signals ? cs_reader_signals(o->seen.signals, signals) : 0;
    uint32_t taken = 0;
    for (unsigned i = 0; i < o->seen.n_software; i++) {
        add_source(e, o->seen.counters[i], o->choice.counters[i].word, OBSERVED);
        taken |= 1u << o->choice.counters[i].word % 32;
    }
    for (unsigned i = 0; i < n && !o->options.n_variables; i++)
        if (!signals[i].is_address && !(taken >> signals[i].word & 1))
            add_source(e, signals[i].name, signals[i].word,
                       signals[i].kind == CS_SIGNAL_COUNTER ? OTHER_COUNTER : GROWING_TAG);
}

static void read_line(const struct effect *e, uint32_t line, struct mark *m)
{
    const volatile struct cs_segment_owner *owner = cs_reader_owner(e->o->seen.signals, line);
    const volatile uint64_t *words = cs_reader_word(e->o->seen.signals, line, 0);
    if (!owner || !words)
        return;
    m->owners = m->owners * 31 + owner->tid;
    for (unsigned i = 0; i < e->n; i++) {
        const uint64_t value = words[e->sources[i].word];
        if (e->sources[i].rank != GROWING_TAG)
            m->progress[i] += value;
        else if (value > m->progress[i])
            m->progress[i] = value;
    }
}

static void read_progress(const struct effect *e, struct mark *m)
{
    struct cs_observation *o = e->o;
    memset(m->progress, 0, sizeof m->progress);
    m->owners = 0;
    if (o->options.n_variables) {
        m->usable = cs_variables_read(&o->variables);
        for (unsigned i = 0; i < e->n; i++)
            m->progress[i] = o->variables.words[e->sources[i].word - CS_WORD_VARIABLE];
        return;
    }
    const uint32_t lines = cs_reader_lines(o->seen.signals);
    for (uint32_t line = 0; line < lines && line < LINES_MOST; line++)
        read_line(e, line, m);
    m->usable = true;
}

/* Of one stretch of one thread, unless switches come too fast. Twice: the first time, after a sleep, takes longer. */
static void mark(const struct effect *e, struct mark *m)
{
    const volatile struct cs_os_line *os = e->os;
    bool torn = true;
    for (unsigned i = 0; i < 2 || (torn && i < 20); i++) {
        const uint64_t id = os ? os->thread_id : 0, ran = os ? os->ran_ns : 0, since = os ? os->since_ns : 0;
        const bool runs = !os || os->process == (uint64_t)e->o->seen.pid;
        read_progress(e, m);
        m->ran_ns = ran + (runs ? cs_clock_ns(CLOCK_MONOTONIC) - since : 0);
        torn = os && os->thread_id != id;
    }
    m->usable &= !torn;
}

/* ---- looks and looks away ---- */

/* back, then a look, then away from `left` to `back`, then a look until `next`. */
static void add_pair(struct effect *e, const struct mark *before, const struct mark *left,
                     const struct mark *back, const struct mark *next)
{
    const double times[] = {(double)(int64_t)(back->ran_ns - left->ran_ns),
                            (double)(int64_t)(left->ran_ns - before->ran_ns + next->ran_ns - back->ran_ns)};
    if (times[0] <= 0 || times[1] <= 0 || !before->usable || !left->usable || !back->usable ||
        !next->usable || before->owners != left->owners || left->owners != back->owners ||
        back->owners != next->owners)
        return;
    for (unsigned i = 0; i < e->n; i++) {
        const uint64_t at[] = {before->progress[i], left->progress[i], back->progress[i], next->progress[i]};
        struct source *s = &e->sources[i];
        if (s->rank == GROWING_TAG && (!at[0] || !at[1] || !at[2] || !at[3]))
            continue; /* between two requests */
        const bool grew = at[0] <= at[1] && at[1] <= at[2] && at[2] <= at[3];
        s->falls |= s->rank == GROWING_TAG && !grew;
        if (grew)
            cs_effect_add(&s->sums, (const double[]){(double)(at[2] - at[1]), times[0],
                                                     (double)(at[1] - at[0] + at[3] - at[2]), times[1]});
    }
}

static void conclude_by(struct cs_observed *seen, const struct source *s)
{
    struct cs_effect_by *by = &seen->effect.by[seen->effect.n % CS_COUNTERS_MAX];
    if (s->falls || !(s->sums.sum[CS_LOOK_EVENTS] > 0))
        return;
    const bool known = cs_effect_estimate(&s->sums, &by->slower, &by->error);
    if (known && by->error <= ERROR_MOST && seen->effect.n < CS_COUNTERS_MAX) {
        memcpy(by->counter, s->name, sizeof s->name);
        by->pairs = (uint64_t)s->sums.n;
        seen->effect.n++;
    } else if (seen->effect.known != CS_EFFECT_UNSTEADY) {
        seen->effect.known = known ? CS_EFFECT_UNSTEADY : CS_EFFECT_TOO_SHORT;
    }
}

static void conclude(struct effect *e)
{
    struct cs_observed *seen = &e->o->seen;
    seen->effect.known = CS_EFFECT_NO_GROWTH;
    for (enum rank rank = 0; rank < RANKS && !seen->effect.n; rank++)
        for (unsigned i = 0; i < e->n; i++)
            if (e->sources[i].rank == rank)
                conclude_by(seen, &e->sources[i]);
    if (seen->effect.n)
        seen->effect.known = CS_EFFECT_MEASURED;
}

static void looks(struct effect *e)
{
    struct cs_observation *o = e->o;
    struct mark before, left, back, now;
    bool first = true;
    mark(e, &back);
    for (before = left = back; cs_pause_goes_on(&e->pause); first = false) {
        cs_pause_look(&e->pause, LOOK_NS + cs_jitter(&o->loop.random, LOOK_NS * 5 / 2));
        mark(e, &now);
        if (!first && cs_pause_goes_on(&e->pause))
            add_pair(e, &before, &left, &back, &now);
        before = back;
        left = now;
        if (!cs_pause_goes_on(&e->pause))
            break;
        const uint64_t since = cs_clock();
        nanosleep(&(struct timespec){.tv_nsec = AWAY_NS}, NULL);
        mark(e, &back);
        o->seen.effect.away_cycles += cs_clock() - since;
    }
    conclude(e);
}

static enum cs_effect_known impossible(const struct cs_observation *o, const struct effect *e)
{
    if (!o->options.look_away)
        return CS_EFFECT_NOT_ASKED;
    if (o->log)
        return CS_EFFECT_LOGGED;
    if (o->options.period_cycles + o->options.jitter_cycles > CS_SLEEP_CYCLES)
        return CS_EFFECT_SLEEPS;
    return e->n ? CS_EFFECT_MEASURED : CS_EFFECT_NO_COUNTER;
}

void cs_effect_run(struct cs_observation *o)
{
    struct effect e = {.o = o};
    find_sources(&e);
    if (o->os && o->seen.followed)
        e.os = cs_os_line(o->os, o->seen.placement.target);
    o->seen.effect.known = impossible(o, &e);
    if (o->seen.effect.known != CS_EFFECT_MEASURED) {
        o->run(&o->loop);
        return;
    }
    if (cs_pause_open(&e.pause, o) == 0) {
        looks(&e);
        cs_pause_close(&e.pause);
    } else {
        o->seen.effect.known = CS_EFFECT_NOT_ASKED;
        o->run(&o->loop);
    }
}
