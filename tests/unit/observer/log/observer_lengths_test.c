/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How long values stood, from logs whose truth is known: whole ones, ones that the observer's absences cut, ones
 * whose thread waits. */
#include "observer/log/lengths.h"
#include "tests/unit/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HZ 1000000000u
#define PERIOD 100
#define REQUESTS 20000
static char path[] = "/tmp/cyclescope-lengths.XXXXXX";

struct made { /* by make_log */
    struct cs_observe_log *log;
    bool follow;
    uint64_t clock, switches;
};

static uint64_t seed;
static double share(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return ((double)(seed >> 40) + 1) / (double)(1 << 24);
}

static void begin_log(struct made *m, bool follow)
{
    strcpy(strrchr(path, '.'), ".XXXXXX");
    int fd = mkstemp(path);
    struct cs_observe_log_head head = {
        .n_tags = 1, .follow = follow, .cycles_per_second = HZ, .tags = {"request"}};
    struct cs_error err;
    assert_true(fd >= 0 && close(fd) == 0);
    *m = (struct made){.follow = follow, .clock = 77000};
    assert_int_equal(cs_observe_log_create(path, &head, 0, &m->log, &err), 0);
}

static void put(struct made *m, uint32_t thread, uint64_t value)
{
    struct cs_sample s = {.start = m->clock, .end = m->clock, .complete = true};
    s.thread_id = m->switches << 32 | thread;
    s.tags[0] = value;
    cs_observe_log_add(m->log, 1, 0, m->follow, &s);
    m->clock += PERIOD;
}

static struct cs_observe_lengths *end_log(struct made *m, unsigned values)
{
    struct cs_observe_lengths *l = NULL;
    struct cs_error err;
    assert_int_equal(cs_observe_log_finish(m->log, &err), 0);
    cs_observe_log_close(m->log);
    assert_int_equal(
        cs_observe_lengths_fold(path, &(struct cs_observe_lengths_options){.values = values}, &l, NULL, &err),
        0);
    unlink(path);
    return l;
}

static void assert_near(double expected, double got, double share_of)
{
    if (!(fabs(expected - got) <= share_of * expected))
        fail_msg("%g is not %g", got, expected);
}

static int by_length(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Lengths as a server has them, 5 us and more, one in a thousand above 500 us; the observer away for `away` cycles
 * some 400 us apart, for which it sees nothing. Numbers from 1 on, or 1 and 2 in turn. */
static struct cs_observe_lengths *served(bool numbered, uint64_t away, double *truth)
{
    struct made m;
    seed = 7;
    begin_log(&m, false);
    double next_change = (double)m.clock + 3000, next_absence = (double)m.clock + 50000;
    unsigned n = 0;
    uint64_t value = 0;
    while (n < REQUESTS || value) {
        while ((double)m.clock >= next_change) {
            if (value == 0 && n < REQUESTS) {
                truth[n] = 5000 * pow(share(), -0.7);
                next_change += truth[n++];
                value = numbered ? n : 1 + n % 2;
            } else {
                next_change += 2000 + 6000 * share();
                value = 0;
                if (n == REQUESTS)
                    break;
            }
        }
        put(&m, 0, value);
        if (away && (double)m.clock > next_absence) {
            m.clock += away;
            next_absence = (double)m.clock - 400000 * log(share());
        }
    }
    qsort(truth, REQUESTS, sizeof *truth, by_length);
    return end_log(&m, numbered ? 10 : 0);
}

static double true_quantile(const double *truth, double q)
{
    return truth[(unsigned)(q * REQUESTS)];
}

static void lengths_are_the_programs_own(void **state)
{
    static double truth[REQUESTS];
    (void)state;
    struct cs_observe_lengths *l = served(true, 0, truth);
    assert_int_equal(l->n_rows, 1);
    assert_true(l->numbered && l->numbers == REQUESTS && l->least == 1 && l->most == REQUESTS);
    assert_true(l->rows[0].whole >= REQUESTS - 10); /* between two chunks of the log there is no interval */
    assert_true(l->rows[0].whole + l->rows[0].cut == l->rows[0].begun);
    assert_near(truth[REQUESTS - 1], (double)l->rows[0].longest, 0.001);
    for (double q = 0.1; q < 1; q += 0.0999)
        assert_near(true_quantile(truth, q), cs_observe_length_quantile(&l->rows[0], q), 0.02);
    assert_near(true_quantile(truth, 0.999), cs_observe_length_quantile(&l->rows[0], 0.999), 0.03);
    assert_true(isnan(cs_observe_length_quantile(&l->rows[0], 0.99999)));
    assert_near(0.5, cs_observe_length_below(&l->rows[0], true_quantile(truth, 0.5)), 0.05);
    cs_observe_lengths_close(l);
}

/* Most requests are shorter than the time between two samples. Numbers go up by `step`. */
static struct cs_observe_lengths *brief(uint64_t step, double mean, double *truth)
{
    struct made m;
    seed = 11;
    begin_log(&m, false);
    double next_change = (double)m.clock + 3000;
    unsigned n = 0;
    uint64_t value = 0;
    while (n < REQUESTS || value) {
        while ((double)m.clock >= next_change && (n < REQUESTS || value)) {
            if (value == 0) {
                truth[n] = -mean * log(share());
                next_change += truth[n++];
                value = step * n;
            } else {
                next_change += 300 * share();
                value = 0;
            }
        }
        put(&m, 0, value);
        m.clock += (uint64_t)(PERIOD * (share() - 0.5));
    }
    put(&m, 0, 0);
    qsort(truth, REQUESTS, sizeof *truth, by_length);
    return end_log(&m, 0);
}

/* Of whole ones alone: what a report without a word on absences would say. */
static double quantile_of_whole(const struct cs_observe_length_row *row, double q)
{
    uint64_t sum = 0;
    for (unsigned b = 0; b < CS_LENGTH_BINS; b++)
        if ((double)(sum += row->ended[b]) >= q * (double)row->whole)
            return ldexp(1 + (b % CS_LENGTH_BINS_OCTAVE) / (double)CS_LENGTH_BINS_OCTAVE,
                         (int)(b / CS_LENGTH_BINS_OCTAVE));
    return NAN;
}

static void numbers_that_no_sample_has_count_as_brief(void **state)
{
    static double truth[REQUESTS];
    (void)state;
    for (uint64_t step = 1; step < 4; step += 2)
        for (double mean = PERIOD / 2; mean < 5 * PERIOD; mean *= 2) {
            struct cs_observe_lengths *l = brief(step, mean, truth);
            assert_true(l->numbered && (double)l->numbers < 0.95 * REQUESTS);
            assert_near(REQUESTS, (double)l->numbers + l->unseen, 0.01);
            for (double q = 0.9; q < 0.999; q += 0.09)
                if (true_quantile(truth, q) > 2 * PERIOD)
                    assert_near(true_quantile(truth, q), cs_observe_length_quantile(&l->rows[0], q), 0.1);
            cs_observe_lengths_close(l);
        }
}

/* Times as values grow, too: what lies between them are no requests. */
static void values_that_are_no_numbers_have_none_between_them(void **state)
{
    struct made m;
    (void)state;
    seed = 5;
    begin_log(&m, false);
    for (unsigned i = 0; i < 2000; i++)
        for (unsigned k = 0; k < 5; k++)
            put(&m, 0, k == 4 ? 0 : (m.clock - k * PERIOD) >> 2 | 1);
    struct cs_observe_lengths *l = end_log(&m, 0);
    assert_true(l->numbered);
    assert_true(l->unseen == 0);
    cs_observe_lengths_close(l);
}

static void absences_do_not_shorten_the_distribution(void **state)
{
    static double truth[REQUESTS];
    (void)state;
    for (int numbered = 0; numbered < 2; numbered++) {
        struct cs_observe_lengths *l = served(numbered, 200000, truth);
        const struct cs_observe_length_row *all = &l->rows[0];
        assert_int_equal(l->numbered, numbered);
        assert_true(all->cut > 100 && all->whole + all->cut == all->begun);
        assert_near(0.33, l->unseen_cycles / l->whole_cycles, 0.15);
        assert_near(true_quantile(truth, 0.5), cs_observe_length_quantile(all, 0.5), 0.03);
        assert_near(true_quantile(truth, 0.9), cs_observe_length_quantile(all, 0.9), 0.05);
        assert_near(true_quantile(truth, 0.99), cs_observe_length_quantile(all, 0.99), 0.1);
        assert_near(true_quantile(truth, 0.999), cs_observe_length_quantile(all, 0.999), 0.5);
        if (!numbered)
            assert_true(quantile_of_whole(all, 0.99) < 0.9 * true_quantile(truth, 0.99));
        cs_observe_lengths_close(l);
    }
}

static void who_waits_keeps_its_value(void **state)
{
    struct made m;
    (void)state;
    begin_log(&m, true);
    for (unsigned i = 1; i <= 100;
         i++) { /* a request of thread 5 for 4 us, thread 6 meanwhile for 2 of them */
        for (unsigned k = 0; k < 10; k++)
            put(&m, 5, 0);
        for (unsigned k = 0; k < 10; k++)
            put(&m, 5, i);
        m.switches++;
        for (unsigned k = 0; k < 20; k++)
            put(&m, 6, 1000);
        m.switches++;
        for (unsigned k = 0; k < 10; k++)
            put(&m, 5, i);
    }
    put(&m, 5, 0);
    put(&m, 5, 0);
    struct cs_observe_lengths *l = end_log(&m, 10);
    assert_int_equal(l->rows[0].whole, 100);
    assert_near(4000, (double)l->rows[0].longest, 0.001);
    assert_near(0.5, l->rows[0].away_cycles / l->rows[0].whole_cycles, 0.01);
    assert_int_equal(l->numbers, 101);
    cs_observe_lengths_close(l);
}

static void values_that_come_again_have_rows_of_their_own(void **state)
{
    struct made m;
    (void)state;
    begin_log(&m, false);
    for (unsigned i = 0; i < 3000; i++)
        for (unsigned k = 0; k < (i % 3 == 2 ? 50u : 20u); k++)
            put(&m, 0, i % 3 + 7);
    struct cs_observe_lengths *l = end_log(&m, 2);
    assert_false(l->numbered);
    assert_int_equal(l->n_rows, 3);
    assert_int_equal(l->rows[1].value, 9); /* most time */
    assert_near(5000, cs_observe_length_quantile(&l->rows[1], 0.5), 0.01);
    assert_near(2000, cs_observe_length_quantile(&l->rows[2], 0.99), 0.01);
    assert_near(2000, cs_observe_length_quantile(&l->rows[0], 0.6), 0.01);
    assert_near(5000, cs_observe_length_quantile(&l->rows[0], 0.7), 0.01);
    cs_observe_lengths_close(l);
}

/* The reading at an absence's edge may have taken the tag after it: such a begin is not known. */
static void late_reading_is_no_begin(void **state)
{
    struct made m;
    (void)state;
    begin_log(&m, false);
    for (unsigned k = 0; k < 100; k++)
        put(&m, 0, 0);
    put(&m, 0, 8);
    m.clock += 50000;
    for (unsigned k = 0; k < 100; k++)
        put(&m, 0, 8);
    put(&m, 0, 0);
    put(&m, 0, 0);
    struct cs_observe_lengths *l = end_log(&m, 2);
    assert_int_equal(l->rows[0].whole, 0);
    assert_int_equal(l->rows[0].begun, 0);
    cs_observe_lengths_close(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lengths_are_the_programs_own),
        cmocka_unit_test(numbers_that_no_sample_has_count_as_brief),
        cmocka_unit_test(values_that_are_no_numbers_have_none_between_them),
        cmocka_unit_test(absences_do_not_shorten_the_distribution),
        cmocka_unit_test(who_waits_keeps_its_value),
        cmocka_unit_test(values_that_come_again_have_rows_of_their_own),
        cmocka_unit_test(late_reading_is_no_begin),
    };
    return cmocka_run_group_tests_name("observer_lengths", tests, NULL, NULL);
}
