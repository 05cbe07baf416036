/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs that nothing recorded, whose waiting, load and CPU time are drawn. A growth of waiting is found, and neither load nor more
 * CPU time is one. */
#include "cli/gate/off_cpu.h"
#include "tests/unit/test.h"

#include <math.h>
#include <string.h>

#define RUNS 120
#define WHOLE 1e8
#define IGNORED 0.01

static uint64_t state = 1;

static double drawn(void)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(state >> 11) / (double)(UINT64_C(1) << 53);
}

struct drawing {
    double cpu, wait; /* growths of the head, as shares of a run */
    double load;      /* of the machine: each ms of CPU time waits as much longer, by half to double */
    double stretch;   /* of the head's load: more threads that want a CPU */
    double noise;
    bool exact;
};

static struct gate_run run[RUNS];
static struct gate_time_of_run of_run[RUNS];

static struct gate_timed draw(const struct drawing *d)
{
    for (size_t i = 0; i < RUNS; i++) {
        const unsigned side = (i + 1) / 2 % 2;
        const double cpu = WHOLE * 0.8 * (1 + d->noise * (drawn() - 0.5)) + side * d->cpu * WHOLE,
                     queued = cpu * d->load * (0.5 + 1.5 * drawn()) * (side ? 1 + d->stretch : 1),
                     wait = WHOLE * 0.2 * (1 + d->noise * (drawn() - 0.5)) + side * d->wait * WHOLE;
        run[i] = (struct gate_run){side, 1000 + i, cpu, (double)NAN};
        of_run[i] = (struct gate_time_of_run){cpu + queued + wait, 0, queued, d->exact};
    }
    return (struct gate_timed){.run = run, .time = of_run, .n = RUNS};
}

static struct gate_off_cpu judged(const struct drawing *d)
{
    struct gate_off_cpu off;
    const struct gate_timed timed = draw(d);
    assert_true(gate_off_cpu(&timed, WHOLE, IGNORED, &off));
    return off;
}

TEST(longer_waits_are_found)
{
    for (unsigned exact = 0; exact < 2; exact++) {
        const struct gate_off_cpu off =
            judged(&(struct drawing){.wait = 0.03, .noise = 0.05, .exact = exact});
        assert_true(off.known && off.grew);
        assert_true(off.estimate.low < 0.03 && off.estimate.high > 0.03);
        assert_true(off.head_ns - off.base_ns > 0.02 * WHOLE);
    }
}

TEST(longer_waits_of_one_thread_are_found_on_a_loaded_machine)
{
    const struct gate_off_cpu off =
        judged(&(struct drawing){.wait = 0.03, .noise = 0.02, .load = 0.02, .exact = true});
    assert_true(off.grew);
}

/* 100 each, with a growth that is many times the range. */
TEST(more_cpu_time_and_more_load_are_no_waits)
{
    static const struct drawing none[] = {{.cpu = 0.05, .noise = 0.05, .exact = true},
                                          {.cpu = 0.05, .noise = 0.05},
                                          {.cpu = 0.05, .noise = 0.05, .load = 3, .exact = true},
                                          {.cpu = 0.05, .noise = 0.05, .load = 3},
                                          {.noise = 0.05, .load = 1, .stretch = 1, .exact = true},
                                          {.noise = 0.05, .load = 1, .stretch = 1}};
    for (size_t k = 0; k < sizeof none / sizeof none[0]; k++)
        for (unsigned i = 0; i < 100; i++)
            assert_false(judged(&none[k]).grew);
}

/* Of several threads the load is a bound: that it shrank makes no wait longer, nor does less CPU time. */
TEST(less_load_or_cpu_time_is_no_wait_of_threads)
{
    for (unsigned i = 0; i < 100; i++) {
        assert_false(judged(&(struct drawing){.noise = 0.02, .load = 1, .stretch = -0.5}).grew);
        assert_false(judged(&(struct drawing){.noise = 0.02, .cpu = -0.1, .wait = 0.1}).grew);
    }
}

/* One of 4,000 would be by chance. */
TEST(equal_runs_have_no_longer_waits)
{
    unsigned wrong = 0;
    for (unsigned i = 0; i < 2000; i++)
        wrong += judged(&(struct drawing){.noise = 0.3, .load = i % 2, .exact = i % 4 < 2}).grew;
    assert_true(wrong <= 2);
}

TEST(runs_of_an_older_file_say_nothing)
{
    struct gate_off_cpu off;
    const struct gate_timed timed = draw(&(struct drawing){.wait = 0.3, .exact = true});
    of_run[RUNS / 2].elapsed = (double)NAN;
    assert_true(gate_off_cpu(&timed, WHOLE, IGNORED, &off));
    assert_false(off.known || off.grew);
    assert_true(gate_off_cpu(&(struct gate_timed){.n = 0}, WHOLE, IGNORED, &off));
    assert_false(off.known || off.grew);
}

/* Ticks: a run of 0.1 s has 25 of them. */
TEST(time_in_the_kernel_counts_where_it_has_most_of_the_growth)
{
    struct gate_timed timed = draw(&(struct drawing){.cpu = 0.04, .exact = true});
    for (size_t i = 0; i < RUNS; i++)
        of_run[i].in_kernel = 4e6 * floor(drawn() * 2) + (run[i].side ? 0.04 * WHOLE : 0);
    const double grew = gate_kernel_time_grew(&timed, 0.05);
    assert_true(grew > 0.03 && grew < 0.07);
    assert_true(gate_kernel_time_grew(&timed, 0.2) == 0);
    for (size_t i = 0; i < RUNS; i++)
        of_run[i].in_kernel = 4e6 * floor(drawn() * 2);
    assert_true(gate_kernel_time_grew(&timed, 0.05) == 0);
    timed.n = 0;
    assert_true(gate_kernel_time_grew(&timed, 0.05) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(longer_waits_are_found),
        cmocka_unit_test(longer_waits_of_one_thread_are_found_on_a_loaded_machine),
        cmocka_unit_test(more_cpu_time_and_more_load_are_no_waits),
        cmocka_unit_test(less_load_or_cpu_time_is_no_wait_of_threads),
        cmocka_unit_test(equal_runs_have_no_longer_waits),
        cmocka_unit_test(runs_of_an_older_file_say_nothing),
        cmocka_unit_test(time_in_the_kernel_counts_where_it_has_most_of_the_growth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
