/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Time in the kernel by the program's lines that made it, of runs that are written here. */
#include "cli/gate/causes/cause.h"
#include "cli/gate/in_kernel.h"
#include "tests/unit/test.h"

#include <math.h>
#include <string.h>

#define RUNS 8
#define PERIOD 1000.0

static char file[] = "app.c";
static struct called_line lines[] = {{.file = file, .line = 10, .function = "load"},
                                     {.file = file, .line = 12, .function = "load"},
                                     {.file = file, .line = 30, .function = "ask"}};
static char names[][128] = {"malloc", "getppid"};
enum { LOAD_MALLOC, LOAD_TOUCH, ASK };

/* Base, head, head, base. */
static unsigned side_of(size_t r)
{
    return (r + 1) / 2 % 2;
}

/* Samples of a run: system calls of load's malloc, page faults of its next line, system calls of ask. */
static void of_runs(struct gate_in_kernel *k, struct gate_run run[RUNS], const uint64_t samples[RUNS][3])
{
    *k = (struct gate_in_kernel){.n_runs = RUNS};
    for (size_t r = 0; r < RUNS; r++) {
        struct called_call calls[] = {
            {.line = LOAD_MALLOC, .callee = 0, .kind = CALLED_LIBRARY, .in_system_calls = samples[r][0]},
            {.line = LOAD_TOUCH, .callee = UINT32_MAX, .kind = CALLED_PAGE_FAULT, .in_faults = samples[r][1]},
            {.line = ASK, .callee = 1, .kind = CALLED_LIBRARY, .in_system_calls = samples[r][2]}};
        const struct called c = {.lines = lines, .calls = calls, .names = names, .n_calls = 3};
        run[r] = (struct gate_run){side_of(r), 1000 * r, 0, (double)NAN};
        assert_int_equal(gate_in_kernel_add(k, r, side_of(r), PERIOD, &c), 0);
    }
}

TEST(page_faults_are_of_the_line_that_makes_them)
{
    uint64_t samples[RUNS][3];
    struct gate_in_kernel k;
    struct gate_run run[RUNS];
    struct gate_kernel_growth g;
    for (size_t r = 0; r < RUNS; r++) {
        samples[r][0] = (side_of(r) ? 8 : 1) + r % 2;
        samples[r][1] = (side_of(r) ? 50 : 5) + r % 3;
        samples[r][2] = 40 + r % 4;
    }
    of_runs(&k, run, samples);
    assert_true(gate_in_kernel_next(&k, run, 10 * PERIOD, &g));
    assert_string_equal(g.line->function, "load");
    assert_int_equal(g.line->line, 12);
    assert_true(g.line->faults && g.faults > 44 * PERIOD && g.calls > 5 * PERIOD && g.calls < 9 * PERIOD);
    assert_true(fabs(g.head - g.base - g.faults - g.calls) < 1);
    assert_false(gate_in_kernel_next(&k, run, 10 * PERIOD, &g)); /* each function once; ask didn't grow */
    gate_in_kernel_fini(&k);
}

TEST(the_function_that_grew_most_comes_first)
{
    uint64_t samples[RUNS][3];
    struct gate_in_kernel k;
    struct gate_run run[RUNS];
    struct gate_kernel_growth g;
    for (size_t r = 0; r < RUNS; r++) {
        samples[r][0] = (side_of(r) ? 60 : 5) + r % 2;
        samples[r][1] = 7;
        samples[r][2] = (side_of(r) ? 200 : 50) + r % 4;
    }
    of_runs(&k, run, samples);
    assert_true(gate_in_kernel_next(&k, run, PERIOD, &g));
    assert_string_equal(g.line->function, "ask");
    assert_string_equal(g.line->through, "getppid");
    assert_false(g.line->faults);
    assert_true(gate_in_kernel_next(&k, run, PERIOD, &g));
    assert_string_equal(g.line->through, "malloc");
    assert_int_equal(g.line->line, 10);
    assert_false(gate_in_kernel_next(&k, run, PERIOD, &g));
    gate_in_kernel_fini(&k);
}

/* One run of the head that had much of it, a growth of few samples, and one below the least. */
TEST(what_chance_makes_is_no_row)
{
    uint64_t samples[RUNS][3];
    struct gate_in_kernel k;
    struct gate_run run[RUNS];
    struct gate_kernel_growth g;
    for (size_t r = 0; r < RUNS; r++) {
        samples[r][0] = r == 2 ? 300 : 10;
        samples[r][1] = 0;
        samples[r][2] = side_of(r) ? 1 : 0;
    }
    of_runs(&k, run, samples);
    assert_false(gate_in_kernel_next(&k, run, 0, &g));
    gate_in_kernel_fini(&k);
    for (size_t r = 0; r < RUNS; r++)
        samples[r][0] = (side_of(r) ? 100 : 50) + r % 3;
    of_runs(&k, run, samples);
    assert_false(gate_in_kernel_next(&k, run, 60 * PERIOD, &g));
    assert_true(gate_in_kernel_next(&k, run, 40 * PERIOD, &g));
    gate_in_kernel_fini(&k);
}

/* The kernel spreads it over many functions, and the caller has it all. */
TEST(the_net_growth_is_that_of_callers)
{
    uint64_t samples[RUNS][3];
    struct gate_in_kernel k;
    struct gate_run run[RUNS];
    for (size_t r = 0; r < RUNS; r++) {
        samples[r][0] = 20 + r % 3;
        samples[r][1] = 0;
        samples[r][2] = (side_of(r) ? 90 : 40) + r / 2 % 2;
    }
    of_runs(&k, run, samples);
    assert_true(fabs(gate_in_kernel_net(&k, run) - 50 * PERIOD) < PERIOD);
    gate_in_kernel_fini(&k);
    for (size_t r = 0; r < RUNS; r++) /* another function makes the same calls now */
        samples[r][0] = (side_of(r) ? 20 : 70) + r / 2 % 2;
    of_runs(&k, run, samples);
    assert_true(fabs(gate_in_kernel_net(&k, run)) < PERIOD);
    gate_in_kernel_fini(&k);
}

/* As many pseudo-random events as a mean of `mean` has in a Poisson process. */
static uint64_t poisson(uint64_t *x, double mean)
{
    uint64_t n = 0;
    for (double product = 1;; n++) {
        *x ^= *x << 13, *x ^= *x >> 7, *x ^= *x << 17;
        product *= (double)(*x >> 11) / 9007199254740992.0;
        if (product < exp(-mean))
            return n;
    }
}

/* Equal programs: 4,000 comparisons, of which chance may make two. One more is a chance of 1 in 7, four more of 1 in 220. */
TEST(equal_programs_have_no_net_growth)
{
    uint64_t x = 88172645463325252;
    unsigned wrong = 0;
    for (unsigned i = 0; i < 4000; i++) {
        uint64_t samples[RUNS][3];
        struct gate_in_kernel k;
        struct gate_run run[RUNS];
        for (size_t r = 0; r < RUNS; r++)
            for (unsigned c = 0; c < 3; c++)
                samples[r][c] = poisson(&x, (double[]){0.3, 3, 12}[c]);
        of_runs(&k, run, samples);
        wrong += gate_in_kernel_net(&k, run) > 0;
        gate_in_kernel_fini(&k);
    }
    assert_true(wrong <= 5);
}

TEST(no_samples_have_no_rows)
{
    const uint64_t samples[RUNS][3] = {{0}};
    struct gate_in_kernel k;
    struct gate_run run[RUNS];
    struct gate_kernel_growth g;
    of_runs(&k, run, samples);
    assert_false(gate_in_kernel_next(&k, run, 0, &g));
    gate_in_kernel_fini(&k);
}

/* The caches that its system calls leave are no cause of the function's own. */
TEST(the_caller_has_no_other_cause)
{
    static char ask[] = "ask", image[] = "app";
    struct gate gate = {
        .base = "/none/base.store", .head = "/none/head.store", .n_guilty = 2, .n_guilty_all = 2};
    gate.guilty[0] = (struct gate_guilty){
        .function = ask, .image = image, .kind = GATE_IN_KERNEL, .share = 4, .cause = "system-call"};
    gate.guilty[1] = (struct gate_guilty){
        .function = ask, .image = image, .kind = "function", .base = 0.01, .head = 0.02, .share = 1};
    gate_find_causes(&gate);
    assert_string_equal(gate.guilty[1].cause, "");
    assert_non_null(strstr(gate.guilty[1].cause_text, "its time in the kernel grew more"));
    gate.guilty[1].share = 5;
    gate.guilty[1].cause_text[0] = '\0';
    gate_find_causes(&gate);
    assert_null(strstr(gate.guilty[1].cause_text, "its time in the kernel grew more"));
}

/* The pace grew by 3 % and the counted work didn't. Of a row in the kernel with `share` percent: is the verdict slower? */
static bool settled(const char *kind, const char *cause, double share, bool counted, bool unproven)
{
    static char ask[] = "ask", image[] = "app";
    struct gate gate = {.unproven = unproven, .n_guilty = 1, .n_guilty_all = 1};
    struct gate_check *pace = gate_add(&gate, "pace", "", "s");
    assert_non_null(pace);
    pace->verdict = GATE_LAYOUT;
    pace->estimate.change = 0.03;
    if (counted)
        assert_non_null(gate_add(&gate, "system calls", "", ""));
    gate.guilty[0] = (struct gate_guilty){.function = ask, .image = image, .share = share};
    strcpy(gate.guilty[0].kind, kind);
    strcpy(gate.guilty[0].cause, cause);
    gate_settle_system_calls(&gate);
    pace = gate_find(&gate, "pace");
    const bool slower = pace->verdict == GATE_SLOWER;
    if (slower) {
        assert_false(gate.unproven);
        assert_string_equal(pace->sentence, "+3.00 %, and not by layout: system calls in ask took more time");
    } else {
        assert_int_equal(pace->verdict, GATE_LAYOUT);
        assert_int_equal(gate.unproven, unproven);
    }
    gate.n_guilty = 0; /* its texts aren't to be freed */
    gate_fini(&gate);
    return slower;
}

/* Where nobody counted them. */
TEST(more_time_in_system_calls_is_no_layout)
{
    assert_true(settled(GATE_IN_KERNEL, "system-call", 1.6, false, true));
    assert_false(settled(GATE_IN_KERNEL, "system-call", 1.4, false, true)); /* less than half */
    assert_false(settled(GATE_IN_KERNEL, "page-fault", 2.8, false, true));  /* these are counted */
    assert_false(settled("function", "system-call", 2.8, false, true));
    assert_false(
        settled(GATE_IN_KERNEL, "system-call", 2.8, true, true)); /* their count is a verdict of its own */
    assert_false(settled(GATE_IN_KERNEL, "system-call", 2.8, false, false)); /* layout was proven */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(page_faults_are_of_the_line_that_makes_them),
        cmocka_unit_test(the_function_that_grew_most_comes_first),
        cmocka_unit_test(what_chance_makes_is_no_row),
        cmocka_unit_test(the_net_growth_is_that_of_callers),
        cmocka_unit_test(equal_programs_have_no_net_growth),
        cmocka_unit_test(no_samples_have_no_rows),
        cmocka_unit_test(the_caller_has_no_other_cause),
        cmocka_unit_test(more_time_in_system_calls_is_no_layout),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
