/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a cache keeps of lines that come at random, and when a whole program has a first cause. */
#include "analysis/culprit/flat.h"
#include "tests/unit/test.h"

#include <math.h>
#include <string.h>

#define LINES 1000

/* An LRU cache of so many lines: the share of draws that find theirs. */
static double simulated_hits(const double *rate, double sum, int room)
{
    int recent[LINES], n = 0, hits = 0, draws = 40000;
    uint64_t random = 88172645463325252ULL;
    for (int d = 0; d < draws; d++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        double u = (double)(random >> 11) * 0x1p-53 * sum;
        int line = 0, at = 0;
        while (line < LINES - 1 && (u -= rate[line]) > 0)
            line++;
        while (at < n && recent[at] != line)
            at++;
        hits += at < n;
        n += at == n && n < room;
        at = at < n ? at : n - 1;
        memmove(recent + 1, recent, (size_t)at * sizeof *recent);
        recent[0] = line;
    }
    return (double)hits / draws;
}

static void a_cache_keeps_what_a_simulated_one_keeps(void **state)
{
    (void)state;
    for (int skew = 0; skew < 3; skew++) {
        double rate[LINES], sum = 0, hits = 0;
        for (int i = 0; i < LINES; i++)
            sum += rate[i] = pow(i + 1, -0.5 * skew);
        double kept = cs_flat_kept(rate, LINES, 300);
        for (int i = 0; i < LINES; i++)
            hits += rate[i] / sum * -expm1(-rate[i] * kept);
        assert_true(fabs(hits - simulated_hits(rate, sum, 300)) < 0.03);
        assert_true(isinf(cs_flat_kept(rate, LINES, LINES)));
    }
}

static struct cs_machine machine(void)
{
    struct cs_machine m;
    cs_machine_default(&m);
    m.core_hz = 3e9;
    m.l2.latency_cycles = 14;
    m.l3.latency_cycles = 50;
    m.memory_cycles = 300;
    for (int i = 0; i < CS_MACHINE_LADDER_STEPS; i++)
        m.ladder_cycles[i] = i < 4 ? 50 : 300;
    return m;
}

static const struct cs_flat_facts plain = {.bursts = 30, .instructions = 480000, .model_cycles = 0.5};

static void time_that_the_instructions_take_is_theirs(void **state)
{
    (void)state;
    struct cs_machine m = machine();
    struct cs_flat_verdict v = cs_flat_verdict(&plain, &m);
    assert_true(v.enough && !v.timed && v.first == CS_FLAT_CORE);
}

static void without_a_clock_a_cause_must_cost_more_than_the_others_may(void **state)
{
    (void)state;
    struct cs_machine m = machine();
    struct cs_flat_facts f = plain;
    f.l1_misses = 0.1; /* 0.56 cycles or so */
    assert_false(cs_flat_verdict(&f, &m).enough);
    f.l1_misses = 0.4;
    struct cs_flat_verdict v = cs_flat_verdict(&f, &m);
    assert_true(v.enough && v.first == CS_FLAT_CODE);
    f.data_lines = 0.1; /* of data that fits */
    f.data_bytes = 8192;
    assert_true(cs_flat_verdict(&f, &m).enough);
    f.data_bytes = 64e6;
    assert_false(cs_flat_verdict(&f, &m).enough);
}

static void with_a_clock_what_nothing_explains_may_be_any(void **state)
{
    (void)state;
    struct cs_machine m = machine();
    struct cs_flat_facts f = plain;
    f.timed = 6;
    f.l1_misses = 0.2;
    f.cycles = 1.7; /* 0.5 and 1.1 */
    struct cs_flat_verdict v = cs_flat_verdict(&f, &m);
    assert_true(v.enough && v.timed && v.first == CS_FLAT_CODE && v.unexplained < 0.1);
    f.cycles = 5;
    v = cs_flat_verdict(&f, &m);
    assert_true(!v.enough && v.unexplained > 0.6 && v.missing);
    f.cycles = 0.2; /* faster than the model allows */
    assert_false(cs_flat_verdict(&f, &m).enough);
}

static void few_bursts_or_no_model_name_nothing(void **state)
{
    (void)state;
    struct cs_machine m = machine();
    struct cs_flat_facts f = plain;
    f.bursts = 5;
    assert_true(!cs_flat_verdict(&f, &m).enough && cs_flat_verdict(&f, &m).first == CS_N_FLAT);
    f = plain;
    f.model_cycles = 0;
    assert_true(!cs_flat_verdict(&f, &m).enough && cs_flat_verdict(&f, &m).missing);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cache_keeps_what_a_simulated_one_keeps),
        cmocka_unit_test(time_that_the_instructions_take_is_theirs),
        cmocka_unit_test(without_a_clock_a_cause_must_cost_more_than_the_others_may),
        cmocka_unit_test(with_a_clock_what_nothing_explains_may_be_any),
        cmocka_unit_test(few_bursts_or_no_model_name_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
