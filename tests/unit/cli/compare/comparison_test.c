/* SPDX-License-Identifier: GPL-2.0-or-later */
/* diff's judgement of runs whose truth is known because they are made up. */
#include "cli/compare/comparison.h"
#include "tests/unit/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS 8

struct sample {
    struct runs runs;
    struct run run[2];
    struct run_row row[ROWS];
    double samples[ROWS][2];
    char names[ROWS][8];
};

/* Two runs of eight procedures, 10,000 samples of 1 ms each, but for what the caller changes. */
static void make(struct sample *s, double factor_of_b, unsigned changed, double times)
{
    memset(s, 0, sizeof *s);
    strcpy(s->runs.event, "cpu-clock");
    strcpy(s->runs.unit, "ns");
    for (unsigned i = 0; i < ROWS; i++) {
        snprintf(s->names[i], sizeof s->names[i], "p%u", i);
        s->samples[i][0] = 10000;
        s->samples[i][1] = round(10000 * factor_of_b * (i == changed ? times : 1));
        s->row[i] = (struct run_row){.name = s->names[i], .image = "image", .samples = s->samples[i]};
        s->run[0].total += s->samples[i][0];
        s->run[1].total += s->samples[i][1];
    }
    s->run[0].period = s->run[1].period = 1e6;
    s->run[1].set = 1;
    s->runs.run = s->run;
    s->runs.n_runs = 2;
    s->runs.row = s->row;
    s->runs.n_rows = ROWS;
    s->runs.n_sets = 2;
}

static const struct change *find(const struct comparison *c, const char *name)
{
    for (size_t i = 0; i < c->n; i++)
        if (strcmp(c->change[i].row->name, name) == 0)
            return &c->change[i];
    fail_msg("%s is not compared", name);
    return NULL;
}

TEST(equal_sides_have_no_significant_change)
{
    struct sample s;
    make(&s, 1, ROWS, 1);
    struct comparison c = {.least = COMPARISON_LEAST_CHANGE};
    assert_int_equal(runs_compare(&s.runs, &c), 0);
    assert_int_equal(c.n, ROWS);
    assert_int_equal(c.n_significant, 0);
    free(c.change);
}

TEST(what_doubled_comes_first_with_its_ratio)
{
    struct sample s;
    make(&s, 1, 3, 2);
    struct comparison c = {.least = COMPARISON_LEAST_CHANGE};
    assert_int_equal(runs_compare(&s.runs, &c), 0);
    assert_int_equal(c.n_significant, 1);
    assert_string_equal(c.change[0].row->name, "p3");
    assert_true(c.change[0].significant && fabs(c.change[0].ratio - 2) < 0.01);
    assert_true(fabs(c.change[0].cost_b - c.change[0].cost_a) > 0);
    free(c.change);
}

TEST(a_machine_that_is_faster_today_changes_nothing)
{
    struct sample s;
    make(&s, 1.1, 2, 1.5);
    struct comparison c = {.least = COMPARISON_LEAST_CHANGE};
    assert_int_equal(runs_compare(&s.runs, &c), 0);
    assert_true(fabs(c.common_factor - 1.1) < 0.01);
    assert_true(find(&c, "p2")->significant);
    assert_false(find(&c, "p1")->significant);
    free(c.change);
}

/* Beyond 15 % it is the program, unless the caller knows of more that a machine may do. */
TEST(how_much_is_the_machines_is_the_callers_to_say)
{
    for (unsigned said = 0; said < 2; said++) {
        struct sample s;
        make(&s, 1.4, ROWS, 1);
        struct comparison c = {.least = COMPARISON_LEAST_CHANGE, .common_most = said ? 2 : 0};
        assert_int_equal(runs_compare(&s.runs, &c), 0);
        assert_true(fabs(c.common_factor - (said ? 1.4 : 1)) < 0.01);
        assert_int_equal(c.n_significant, said ? 0 : ROWS);
        free(c.change);
    }
}

TEST(a_small_change_is_not_significant_however_sure)
{
    struct sample s;
    make(&s, 1, 3, 1.2);
    struct comparison c = {.least = 25};
    assert_int_equal(runs_compare(&s.runs, &c), 0);
    assert_int_equal(c.n_significant, 0);
    free(c.change);
    c = (struct comparison){.least = 15};
    assert_int_equal(runs_compare(&s.runs, &c), 0);
    assert_int_equal(c.n_significant, 1);
    free(c.change);
}

enum { RUNS = 5, PROCEDURES = 30 };

static double uniform(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return ((double)(*seed >> 11) + 0.5) * 0x1p-53;
}

static double normal(uint64_t *seed)
{
    return sqrt(-2 * log(uniform(seed))) * cos(6.283185307179586 * uniform(seed));
}

static double drawn(uint64_t *seed, double mean, double dispersion)
{
    return fmax(0, round(mean + normal(seed) * sqrt(mean * dispersion)));
}

/* Five runs a side; procedures differ from run to run by counting alone, or by 3 or 25 times its variance, and some are
 * small. `times`: what B does of the first. Returns how many are called real, *first whether the first is. */
static size_t real_of_drawn_runs(uint64_t *seed, double times, bool *first)
{
    static struct run run[2 * RUNS];
    static struct run_row row[PROCEDURES];
    static double samples[PROCEDURES][2 * RUNS];
    struct runs runs = {.event = "cpu-clock",
                        .unit = "ns",
                        .run = run,
                        .n_runs = 2 * RUNS,
                        .row = row,
                        .n_rows = PROCEDURES,
                        .n_sets = 2};
    for (unsigned r = 0; r < 2 * RUNS; r++)
        run[r] = (struct run){.set = r / RUNS, .period = 1e6};
    for (unsigned i = 0; i < PROCEDURES; i++) {
        double mean = i == 0 ? 8000 : i % 3 == 0 ? 0.4 : i % 3 == 1 ? 40 : 4000;
        row[i] = (struct run_row){.name = (char *)"p", .image = (char *)"image", .samples = samples[i]};
        for (unsigned r = 0; r < 2 * RUNS; r++) {
            samples[i][r] = drawn(seed, mean * (i == 0 && r >= RUNS ? times : 1),
                                  i % 5 == 1   ? 25
                                  : i % 5 == 2 ? 3
                                               : 1);
            run[r].total += samples[i][r];
        }
    }
    struct comparison c = {.least = COMPARISON_LEAST_BY_RUNS};
    assert_int_equal(runs_compare(&runs, &c), 0);
    size_t n = c.n_significant;
    *first = false;
    for (size_t i = 0; i < c.n; i++)
        *first |= c.change[i].significant && c.change[i].row == &row[0];
    free(c.change);
    return n;
}

TEST(runs_that_differ_among_themselves_hide_no_change_and_make_none)
{
    uint64_t seed = 1234567;
    bool first;
    size_t alarms = 0, found = 0;
    for (int k = 0; k < 1000; k++)
        alarms += real_of_drawn_runs(&seed, 1, &first);
    for (int k = 0; k < 200; k++) {
        real_of_drawn_runs(&seed, 1.06, &first);
        found += first;
    }
    assert_in_range(alarms, 0, 15); /* of 1,000 comparisons of equals; 10 are promised */
    assert_in_range(found, 170, 200);
}

/* Eight functions that differ from run to run by counting alone, beside 20 of the kernel, which do what else goes on in the machine:
 * from a third to three times as much, the first of them 2 % of a run in the mean. `times`: what B does of the program's first. */
static size_t real_beside_a_restless_kernel(uint64_t *seed, double times, bool *first)
{
    enum { OWN = 8, KERNELS = 20, ALL = OWN + KERNELS };
    static struct run run[2 * RUNS];
    static struct run_row row[ALL];
    static double samples[ALL][2 * RUNS];
    struct runs runs = {.event = "cpu-clock",
                        .unit = "ns",
                        .run = run,
                        .n_runs = 2 * RUNS,
                        .row = row,
                        .n_rows = ALL,
                        .n_sets = 2};
    for (unsigned r = 0; r < 2 * RUNS; r++)
        run[r] = (struct run){.set = r / RUNS, .period = 1e6};
    for (unsigned i = 0; i < ALL; i++) {
        const bool own = i < OWN;
        row[i] = (struct run_row){
            .name = (char *)"p", .image = (char *)(own ? "image" : "[kernel]"), .samples = samples[i]};
        for (unsigned r = 0; r < 2 * RUNS; r++) {
            const double mean = own ? 20000 * (i == 0 && r >= RUNS ? times : 1) : i == OWN ? 3200 : 100;
            samples[i][r] = drawn(seed, own ? mean : mean * pow(9, uniform(seed) - 0.5), 1);
            run[r].total += samples[i][r];
        }
    }
    struct comparison c = {.least = COMPARISON_LEAST_BY_RUNS};
    assert_int_equal(runs_compare(&runs, &c), 0);
    size_t n = c.n_significant;
    *first = false;
    for (size_t i = 0; i < c.n; i++)
        *first |= c.change[i].significant && c.change[i].row == &row[0];
    free(c.change);
    return n;
}

TEST(a_restless_kernel_hides_no_change_of_the_program_and_makes_none)
{
    uint64_t seed = 7654321;
    bool first;
    size_t alarms = 0, found = 0;
    for (int k = 0; k < 1000; k++)
        alarms += real_beside_a_restless_kernel(&seed, 1, &first);
    for (int k = 0; k < 200; k++) {
        real_beside_a_restless_kernel(&seed, 1.03, &first);
        found += first;
    }
    print_message("%zu false in 1,000, %zu found of 200\n", alarms, found);
    assert_in_range(alarms, 0, 15); /* of 1,000 comparisons of equals; 10 are promised */
    assert_in_range(found, 160, 200);
}

/* Five hosts a side, whose shares differ from the fleet's by 5 % of each: that is 1.1 times counting noise in a small
 * function, and 150 times in the largest. */
static size_t real_of_drawn_hosts(uint64_t *seed, double times, bool *first, double *spread_percent)
{
    enum { FUNCTIONS = 60 };
    static struct run run[2 * RUNS];
    static struct run_row row[FUNCTIONS];
    static double samples[FUNCTIONS][2 * RUNS];
    struct runs runs = {.event = "cpu-clock",
                        .unit = "ns",
                        .run = run,
                        .n_runs = 2 * RUNS,
                        .row = row,
                        .n_rows = FUNCTIONS,
                        .n_sets = 2};
    for (unsigned r = 0; r < 2 * RUNS; r++)
        run[r] = (struct run){.set = r / RUNS, .period = 1e6};
    for (unsigned i = 0; i < FUNCTIONS; i++) {
        double mean = i == 0 ? 60000 : 40 * pow(1.14, i);
        row[i] = (struct run_row){.name = (char *)"p", .image = (char *)"image", .samples = samples[i]};
        for (unsigned r = 0; r < 2 * RUNS; r++) {
            samples[i][r] =
                drawn(seed, mean * (1 + 0.05 * normal(seed)) * (i == 0 && r >= RUNS ? times : 1), 1);
            run[r].total += samples[i][r];
        }
    }
    struct comparison c = {.shares = true, .least = COMPARISON_LEAST_BY_RUNS};
    assert_int_equal(runs_compare(&runs, &c), 0);
    size_t n = c.n_significant;
    *first = false;
    for (size_t i = 0; i < c.n; i++)
        *first |= c.change[i].significant && c.change[i].row == &row[0];
    *spread_percent = comparison_spread_percent(&c);
    free(c.change);
    return n;
}

TEST(hosts_whose_shares_differ_make_no_change_of_a_large_function)
{
    uint64_t seed = 7654321;
    bool first;
    size_t alarms = 0, found = 0;
    double spread, sum = 0;
    for (int k = 0; k < 1000; k++) {
        alarms += real_of_drawn_hosts(&seed, 1, &first, &spread);
        sum += spread;
    }
    for (int k = 0; k < 200; k++) {
        real_of_drawn_hosts(&seed, 1.3, &first, &spread);
        found += first;
    }
    assert_in_range(alarms, 0, 15); /* of 1,000 comparisons of equals; 10 are promised */
    assert_in_range(found, 160, 200);
    assert_true(fabs(sum / 1000 - 5) < 1);
}

TEST(a_total_is_judged_by_what_runs_differ_by)
{
    struct run run[6];
    double samples[6] = {1000, 1010, 990, 1040, 1050, 1030};
    struct run_row row = {.name = (char *)"p", .image = (char *)"image", .samples = samples};
    struct runs runs = {
        .event = "cpu-clock", .unit = "ns", .run = run, .n_runs = 6, .row = &row, .n_rows = 1, .n_sets = 2};
    for (unsigned r = 0; r < 6; r++)
        run[r] = (struct run){.set = r / 3, .period = 1e6, .total = samples[r]};
    struct comparison c = {.least = COMPARISON_LEAST_BY_RUNS};
    assert_int_equal(runs_compare(&runs, &c), 0);
    assert_true(fabs(c.all.ratio - 1.04) < 1e-9);
    /* Runs differ by 1 %, but 1,000 samples by 3.2 % in the count: that is the floor. */
    assert_false(c.all.significant);
    assert_true(c.all.visible > 0.04 && c.all.chance > 0.01);
    free(c.change);
    for (unsigned r = 0; r < 6; r++)
        run[r].total = samples[r] *= 100;
    c = (struct comparison){.least = COMPARISON_LEAST_BY_RUNS};
    assert_int_equal(runs_compare(&runs, &c), 0);
    assert_true(c.all.significant && c.all.visible < 0.06);
    free(c.change);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_sides_have_no_significant_change),
        cmocka_unit_test(what_doubled_comes_first_with_its_ratio),
        cmocka_unit_test(a_machine_that_is_faster_today_changes_nothing),
        cmocka_unit_test(runs_that_differ_among_themselves_hide_no_change_and_make_none),
        cmocka_unit_test(a_restless_kernel_hides_no_change_of_the_program_and_makes_none),
        cmocka_unit_test(hosts_whose_shares_differ_make_no_change_of_a_large_function),
        cmocka_unit_test(a_total_is_judged_by_what_runs_differ_by),
        cmocka_unit_test(how_much_is_the_machines_is_the_callers_to_say),
        cmocka_unit_test(a_small_change_is_not_significant_however_sure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
