/* SPDX-License-Identifier: GPL-2.0-or-later */
/* diff's judgement of runs whose truth is known because they are made up. */
#include "cli/profile/comparison.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

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

static void equal_sides_have_no_significant_change(void **state)
{
    (void)state;
    struct sample s;
    make(&s, 1, ROWS, 1);
    struct comparison c = {.least = COMPARISON_LEAST_CHANGE};
    assert_int_equal(runs_compare(&s.runs, &c), 0);
    assert_int_equal(c.n, ROWS);
    assert_int_equal(c.n_significant, 0);
    free(c.change);
}

static void what_doubled_comes_first_with_its_ratio(void **state)
{
    (void)state;
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

static void a_machine_that_is_faster_today_changes_nothing(void **state)
{
    (void)state;
    struct sample s;
    make(&s, 1.1, 2, 1.5);
    struct comparison c = {.least = COMPARISON_LEAST_CHANGE};
    assert_int_equal(runs_compare(&s.runs, &c), 0);
    assert_true(fabs(c.common_factor - 1.1) < 0.01);
    assert_true(find(&c, "p2")->significant);
    assert_false(find(&c, "p1")->significant);
    free(c.change);
}

static void a_small_change_is_not_significant_however_sure(void **state)
{
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_sides_have_no_significant_change),
        cmocka_unit_test(what_doubled_comes_first_with_its_ratio),
        cmocka_unit_test(a_machine_that_is_faster_today_changes_nothing),
        cmocka_unit_test(a_small_change_is_not_significant_however_sure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
