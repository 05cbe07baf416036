/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Mean rates by tag of programs that are known to the cycle. Tags last 50,000 cycles and count in steps,
 * sampled at known clocks. Whatever the relation of period and step, of steps and changes, the mean is the
 * true one. */
#include "observer/sample/sink.h"
#include "tests/unit/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define TAGS 4
#define VISITS 24000
static const double step_cycles[TAGS] = {200, 400, 800, 1600};

struct program {
    bool coincide; /* a tag ends with a step; else whenever it likes */
    bool poisson; /* steps know nothing of each other; else they take half to one and a half times the mean */
    double late;  /* cycles by which the first write of the next tag is seen later than it was */
};

struct world {
    struct cs_sink *sink;
    struct cs_sample from, to;
    bool started;
    double next, period, long_share; /* next sample; share of intervals that last 8 us */
    uint64_t count, true_steps[TAGS];
    double true_cycles[TAGS];
};

static uint64_t state = 88172645463325252ull;
static double uniform(void)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (double)(state >> 11) * 0x1p-53;
}

static void sample(struct world *w, unsigned tag)
{
    w->to = (struct cs_sample){.start = (uint64_t)w->next - 60, .end = (uint64_t)w->next, .complete = true};
    w->to.counters[0] = w->count;
    w->to.tags[0] = tag + 1;
    if (w->started)
        cs_sink_add(w->sink, 1, 1, 0, false, &w->from, &w->to);
    else
        cs_sink_first(w->sink, 1, &w->to);
    w->started = true;
    w->from = w->to;
    w->next += w->period * (0.9 + 0.2 * uniform()) + (uniform() < w->long_share ? 20000 : 0);
}

/* Time goes on to `till` under a tag. */
static void run(struct world *w, double till, unsigned tag)
{
    while (w->next < till)
        sample(w, tag);
}

static double step(const struct program *p, unsigned tag)
{
    return step_cycles[tag] * (p->poisson ? -log(1 - uniform()) : 0.5 + uniform());
}

/* Worst error of a tag's mean rate, %. */
static double worst_error(const struct program *p, double period, double long_share)
{
    struct world w = {.next = 1000, .period = period, .long_share = long_share};
    struct cs_dte_rule rule = cs_dte_paper_rule();
    struct cs_error err;
    rule.band_q32 = CS_DTE_NO_BAND;
    rule.slow_cycles = 2500;
    rule.same_tag = true;
    rule.gap_cycles = (uint64_t)(2 * period) + 25000;
    assert_int_equal(cs_sink_open(1, 1, NULL, 0, &rule, &w.sink, &err), 0);
    cs_sink_period(w.sink, (uint64_t)period, 2.5e9);
    double now = 0;
    for (unsigned v = 0; v < VISITS; v++) {
        unsigned tag = v % TAGS;
        double end = now + 25000 + 50000 * uniform(), begin = now, due = now + step(p, tag);
        while (due < end || p->coincide) {
            run(&w, due + (due >= end ? p->late : 0), tag);
            now = due;
            w.count++;
            w.true_steps[tag]++;
            if (now >= end)
                break;
            due = now + step(p, tag);
        }
        if (!p->coincide) {
            run(&w, end, tag);
            now = end;
        }
        w.true_cycles[tag] += now - begin;
    }
    cs_sink_total(w.sink);
    double worst = 0;
    for (unsigned t = 0; t < TAGS; t++) {
        double truth = (double)w.true_steps[t] / w.true_cycles[t];
        double error = 100 * (cs_tag_mean(cs_tags_find(w.sink->tags[0], t + 1), 0) / truth - 1);
        if (getenv("CS_VERBOSE"))
            printf("  period %.0f, tag %u: %.3f %%\n", period, t + 1, error);
        worst = fmax(worst, fabs(error));
    }
    cs_sink_close(w.sink);
    return worst;
}

static void at_all_periods(const struct program *p)
{
    static const double periods[] = {100, 250, 700, 1300, 4000, 13000};
    for (unsigned i = 0; i < sizeof periods / sizeof periods[0]; i++) {
        double error = worst_error(p, periods[i], 0);
        if (!(error < 1))
            fail_msg("period %.0f: %.2f %%", periods[i], error);
    }
}

TEST(tags_that_end_with_a_regular_step)
{
    at_all_periods(&(struct program){.coincide = true});
}

TEST(tags_that_end_with_an_irregular_step)
{
    at_all_periods(&(struct program){.coincide = true, .poisson = true});
}

TEST(tags_that_end_at_any_moment)
{
    at_all_periods(&(struct program){.poisson = true});
}

TEST(changes_that_are_seen_late)
{
    struct program p = {.coincide = true, .late = 150};
    assert_true(worst_error(&p, 1300, 0) < 1);
    assert_true(worst_error(&p, 4000, 0) < 1);
}

TEST(an_observer_that_is_often_held_up)
{
    assert_true(worst_error(&(struct program){.coincide = true}, 250, 0.005) < 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tags_that_end_with_a_regular_step),
        cmocka_unit_test(tags_that_end_with_an_irregular_step),
        cmocka_unit_test(tags_that_end_at_any_moment),
        cmocka_unit_test(changes_that_are_seen_late),
        cmocka_unit_test(an_observer_that_is_often_held_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
