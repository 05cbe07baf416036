/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of functions and of waits that grew, by runs that are written here. */
#include "cli/gate/counted.h"
#include "cli/gate/guilty.h"
#include "tests/unit/test.h"

#include <math.h>
#include <string.h>

#define RUNS 8
#define PERIOD 1e6 /* ns */
#define WHOLE 1e9  /* a run of the base, ns */
#define CHANGE 0.03

static char walk[] = "walk", image[] = "app";

struct made {
    struct gate_evidence e;
    struct gate_run cpu[RUNS], elapsed[RUNS];
    struct run run[RUNS];
    struct run_row row;
    struct change change;
    double samples[RUNS], off_cpu_ns[RUNS], alone[RUNS];
};

/* Base, head, head, base. */
static unsigned side_of(size_t r)
{
    return (r + 1) / 2 % 2;
}

/* One function, of 100 ms a run of the base, that grew by `part` of CHANGE. Half of a side's runs are above their mean by
 * `apart` of that growth, and half below. */
static void of_runs(struct made *m, double part, double apart)
{
    const double growth = part * CHANGE * WHOLE;
    *m = (struct made){.row = {.name = walk, .image = image, .samples = m->samples}};
    m->change = (struct change){&m->row, 0, 0, 1e8, 1e8 + growth, 1 + growth / 1e8, 1, 1, false};
    m->e = (struct gate_evidence){.functions = {.unit = "ns", .run = m->run, .n_runs = RUNS},
                                  .comparison = {.common_factor = 1, .change = &m->change, .n = 1},
                                  .off_cpu_ns = m->off_cpu_ns,
                                  .alone = m->alone,
                                  .waited = true};
    m->e.comparison.side[0].cost = WHOLE;
    for (size_t r = 0; r < RUNS; r++) {
        const unsigned side = side_of(r);
        m->run[r] = (struct run){.set = side, .period = PERIOD};
        m->cpu[r] = m->elapsed[r] = (struct gate_run){side, 1000 * r, WHOLE, (double)NAN};
        m->samples[r] =
            (1e8 + side * growth + (r % 4 < 2 ? 1 : -1) * (r < 4 ? 1 : -1) * apart * growth) / PERIOD;
        m->alone[r] = 1;
    }
    m->e.count[GATE_CPU] = m->cpu;
    m->e.count[GATE_ELAPSED] = m->elapsed;
}

static void candidates(struct gate *gate, double part, double apart)
{
    struct made m;
    struct cs_error err = {0};
    of_runs(&m, part, apart);
    assert_int_equal(gate_guilty_candidates(gate, &m.e, CHANGE, &err), 0);
}

/* Four runs of each: Student's t is growth / (0.816 * apart * growth), with 6 degrees of freedom. Of 5 % it is 2.447. */
TEST(most_of_a_growth_is_dominant_where_chance_makes_it_in_fewer_than_one_of_20)
{
    static const struct {
        double apart;
        bool dominant;
    } of[] = {{0.1, true}, {0.45, true}, {0.55, false}, {2, false}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct gate gate = {.n_guilty = 0};
        candidates(&gate, 0.7, of[i].apart);
        assert_int_equal(gate.n_guilty, 1);
        assert_string_equal(gate.guilty[0].function, "walk");
        assert_true(gate.guilty[0].candidate);
        assert_int_equal(gate.guilty[0].dominant, of[i].dominant);
        assert_true(fabs(gate.guilty[0].share - 70 * CHANGE) < 1e-6);
        gate_fini(&gate);
    }
}

TEST(less_than_half_of_a_growth_is_not_dominant_and_less_than_a_quarter_is_no_candidate)
{
    struct gate gate = {.n_guilty = 0};
    candidates(&gate, 0.45, 0.1);
    assert_int_equal(gate.n_guilty, 1);
    assert_false(gate.guilty[0].dominant);
    gate_fini(&gate);
    gate = (struct gate){.n_guilty = 0};
    candidates(&gate, 0.2, 0.1);
    assert_int_equal(gate.n_guilty, 0);
    gate_fini(&gate);
}

/* A function that surely grew, and time in the kernel with half of the growth, leave no doubt. */
TEST(what_is_sure_needs_no_candidate)
{
    static const struct {
        const char *kind;
        double share;
        size_t rows;
    } has[] = {{"function", 0.4, 1},
               {GATE_IN_KERNEL, 51 * CHANGE, 1},
               {GATE_IN_KERNEL, 49 * CHANGE, 2},
               {"mutex", 51 * CHANGE, 2}};
    for (size_t i = 0; i < sizeof has / sizeof *has; i++) {
        struct gate gate = {.n_guilty = 0};
        struct gate_guilty one = {.function = image, .image = image, .share = has[i].share};
        strcpy(one.kind, has[i].kind);
        assert_int_equal(gate_guilty_keep(&gate, &one), 0);
        candidates(&gate, 0.7, 0.1);
        assert_int_equal(gate.n_guilty, has[i].rows);
        gate_fini(&gate);
    }
}

static bool by_time;   /* only the elapsed time of other runs says that waits grew */
static double vary_ns; /* of every third run, and of its neighbour on the same side */

/* A wait that grew by 20 ms a run, and no run differs. `significant`: by itself; else it is the place with most of it. */
static void of_kind(struct gate *gate, const char *kind, const struct gate_wait_kind *grew, bool one_child,
                    bool significant, const char *via, const char *object)
{
    struct made m;
    struct cs_error err = {0};
    struct cs_wait_in_run in[RUNS];
    struct cs_wait_change x = {.kind = kind,
                               .where = "save",
                               .image = "app",
                               .meanwhile = "",
                               .object = object,
                               .via = via,
                               .side = {{.ns = 1e7}, {.ns = 3e7}},
                               .difference = 2e7,
                               .ratio = 3,
                               .significant = significant};
    double net;
    of_runs(&m, 0, 0);
    m.e.one_child = one_child;
    for (size_t r = 0; r < RUNS; r++)
        in[r] = (struct cs_wait_in_run){(side_of(r) ? 3e7 : 1e7) + (1e4 + vary_ns) * (double)(r % 3), 0, 0};
    x.by_run.at = in;
    x.by_run.n = RUNS;
    m.e.waits.at = &x;
    m.e.waits.n = 1;
    *gate = (struct gate){.n_guilty = 0};
    const struct gate_waits_grown grown = {
        .slower = !significant && !by_time, .unsure = by_time, .kind = grew, .ns = 2e7};
    assert_int_equal(gate_guilty_waits(gate, &m.e, &grown, &net, &err), 0);
    assert_true(gate->n_guilty && significant ? net > 0.015 && net < 0.025 : net == 0);
}

static void of_wait(struct gate *gate, const char *via, const char *object)
{
    of_kind(gate, "disk", NULL, false, true, via, object);
    assert_int_equal(gate->n_guilty, 1);
}

/* The growth is that of runs that weren't recorded. A place is named where the recorded runs show it, too. */
TEST(waits_by_elapsed_time_are_at_a_place_that_the_runs_agree_on)
{
    struct gate gate;
    by_time = true;
    of_kind(&gate, "disk", NULL, false, false, "fdatasync", "/srv/log");
    assert_int_equal(gate.n_guilty, 1);
    gate_fini(&gate);
    vary_ns = 3e7;
    of_kind(&gate, "disk", NULL, false, false, "fdatasync", "/srv/log");
    assert_int_equal(gate.n_guilty, 0);
    gate_fini(&gate);
    by_time = false; /* all recorded waits are longer: then the place of most is named, as it varies */
    of_kind(&gate, "disk", NULL, false, false, "fdatasync", "/srv/log");
    assert_int_equal(gate.n_guilty, 1);
    vary_ns = 0;
    gate_fini(&gate);
}

TEST(a_wait_names_its_call_and_its_object)
{
    struct gate gate;
    of_wait(&gate, "fdatasync", "/srv/log");
    assert_string_equal(gate.guilty[0].function, "save");
    assert_string_equal(gate.guilty[0].kind, "disk");
    assert_string_equal(gate.guilty[0].cause, "disk");
    assert_string_equal(gate.guilty[0].cause_text,
                        "disk, in fdatasync, /srv/log: 0.03 s of a run, 0.01 s before");
    gate_fini(&gate);
    of_wait(&gate, "", "");
    assert_string_equal(gate.guilty[0].cause_text, "disk: 0.03 s of a run, 0.01 s before");
    gate_fini(&gate);
}

/* The shell's wait is as long as its child runs, and the child's time has rows of its own. */
TEST(a_wait_for_an_only_child_has_no_row)
{
    static const struct {
        const char *kind;
        bool one_child;
        size_t rows;
    } of[] = {{"child", true, 0}, {"child", false, 1}, {"disk", true, 1}};
    for (size_t i = 0; i < 2 * sizeof of / sizeof *of; i++) {
        struct gate gate;
        of_kind(&gate, of[i / 2].kind, NULL, of[i / 2].one_child, i % 2, "", "");
        assert_int_equal(gate.n_guilty, of[i / 2].rows);
        gate_fini(&gate);
    }
}

/* A mutex is judged as a lock; its place says what it is. */
TEST(the_place_with_most_of_a_kind_has_its_row)
{
    static const struct {
        const char *kind;
        size_t rows;
    } of[] = {{"mutex", 1}, {"lock", 1}, {"disk", 0}};
    const struct gate_wait_kind locks = {.kind = "lock", .growth_ns = 2e7};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct gate gate;
        of_kind(&gate, of[i].kind, &locks, false, false, "", "");
        assert_int_equal(gate.n_guilty, of[i].rows);
        if (of[i].rows)
            assert_string_equal(gate.guilty[0].kind, of[i].kind);
        gate_fini(&gate);
    }
}

/* It executes more, and waits longer: both have a row. There are no stores to find lines in. */
TEST(a_function_that_waits_has_its_instructions_too)
{
    static char none[] = "/none/base.store";
    static struct gate_counted counted;
    struct run run[4] = {{.name = none, .set = 0},
                         {.name = none, .set = 1},
                         {.name = none, .set = 1},
                         {.name = none, .set = 0}};
    double instructions[4] = {1e6, 1.2e6, 1.2e6, 1e6};
    struct run_row row = {.name = walk, .image = image, .samples = instructions};
    struct gate_guilty wait = {
        .function = walk, .image = image, .kind = "mutex", .share = 1, .cause = "mutex"};
    struct cs_error err = {0};
    struct gate gate = {.n_guilty = 0};
    counted = (struct gate_counted){.functions = {.run = run, .n_runs = 4, .row = &row, .n_rows = 1}};
    assert_int_equal(gate_guilty_keep(&gate, &wait), 0);
    (void)gate_guilty_counted(&gate, &counted, &err);
    assert_int_equal(gate.n_guilty, 2);
    assert_string_equal(gate.guilty[0].kind, GATE_COUNTED);
    assert_string_equal(gate.guilty[0].cause, GATE_COUNTED);
    assert_string_equal(gate.guilty[1].cause, "mutex");
    gate_fini(&gate);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(most_of_a_growth_is_dominant_where_chance_makes_it_in_fewer_than_one_of_20),
        cmocka_unit_test(less_than_half_of_a_growth_is_not_dominant_and_less_than_a_quarter_is_no_candidate),
        cmocka_unit_test(what_is_sure_needs_no_candidate),
        cmocka_unit_test(a_wait_names_its_call_and_its_object),
        cmocka_unit_test(waits_by_elapsed_time_are_at_a_place_that_the_runs_agree_on),
        cmocka_unit_test(a_wait_for_an_only_child_has_no_row),
        cmocka_unit_test(the_place_with_most_of_a_kind_has_its_row),
        cmocka_unit_test(a_function_that_waits_has_its_instructions_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
