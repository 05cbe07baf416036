/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Waits by kind: a longer sleep shows although siblings' waits vary by more; a shift between kinds is no growth. */
#include "cli/gate/wait_kinds.h"
#include "tests/unit/test.h"

#include <math.h>
#include <string.h>

#define RUNS 8
#define MS UINT64_C(1000000)

/* Base, head, head, base. */
static unsigned side_of(size_t r)
{
    return (r + 1) / 2 % 2;
}

static void of_runs(struct gate_wait_kinds *kinds, const uint64_t ns[RUNS][2],
                    const struct cs_wait_changes *waits)
{
    struct gate_run run[RUNS];
    *kinds = (struct gate_wait_kinds){.n = 0};
    for (size_t r = 0; r < RUNS; r++) {
        struct cs_wait_total totals[] = {{"on-cpu", 100 * MS + r * MS, 1},
                                         {"run-queue", r * 40 * MS, 1},
                                         {"sleep", ns[r][0], 4},
                                         {"condition", ns[r][1], 4}};
        const struct cs_wait_groups groups = {.totals = totals, .n_totals = 4};
        run[r] = (struct gate_run){side_of(r), 1000 * r, 0, (double)NAN};
        assert_int_equal(gate_wait_kinds_add(kinds, r, RUNS, &groups), 0);
    }
    assert_int_equal(kinds->n, 2);
    assert_int_equal(gate_wait_kinds_end(kinds, run, RUNS, waits, 100 * MS, 0.01), 0);
}

static const uint64_t varies[RUNS] = {31, 78, 40, 55, 90, 12, 66, 47};

static void a_sleep_shows_although_siblings_wait(void **state)
{
    (void)state;
    const struct cs_wait_changes none = {.n = 0};
    uint64_t ns[RUNS][2];
    struct gate_wait_kinds kinds;
    for (size_t r = 0; r < RUNS; r++) {
        ns[r][0] = (side_of(r) ? 5u : 2u) * MS + r * 1000;
        ns[r][1] = varies[r] * MS;
    }
    of_runs(&kinds, ns, &none);
    const struct gate_wait_kind *first = gate_wait_kinds_first(&kinds, 0.01);
    assert_non_null(first);
    assert_string_equal(first->kind, "sleep");
    assert_true(fabs(first->growth_ns - 3 * MS) < 10000);
    assert_true(fabs(gate_wait_kinds_net(&kinds) - 0.03) < 0.001);
    gate_wait_kinds_fini(&kinds);
}

static void equal_runs_have_none(void **state)
{
    (void)state;
    const struct cs_wait_changes none = {.n = 0};
    uint64_t ns[RUNS][2];
    struct gate_wait_kinds kinds;
    for (size_t r = 0; r < RUNS; r++) {
        ns[r][0] = 3 * MS + varies[r] * 1000;
        ns[r][1] = varies[r] * MS;
    }
    of_runs(&kinds, ns, &none);
    assert_null(gate_wait_kinds_first(&kinds, 0.01));
    gate_wait_kinds_fini(&kinds);
}

/* Three milliseconds that were a wait for a sibling are a sleep now. */
static void a_shift_between_kinds_is_no_growth(void **state)
{
    (void)state;
    const struct cs_wait_changes none = {.n = 0};
    uint64_t ns[RUNS][2];
    struct gate_wait_kinds kinds;
    for (size_t r = 0; r < RUNS; r++) {
        ns[r][0] = (side_of(r) ? 5u : 2u) * MS + varies[r] * 1000;
        ns[r][1] = (side_of(r) ? 7u : 10u) * MS + varies[RUNS - 1 - r] * 1000;
    }
    of_runs(&kinds, ns, &none);
    assert_true(fabs(gate_wait_kinds_net(&kinds)) < 0.002);
    gate_wait_kinds_fini(&kinds);
}

/* Of a thread that waits for something to do. */
static void what_is_idle_does_not_count(void **state)
{
    (void)state;
    struct cs_wait_in_run in_run[RUNS];
    struct cs_wait_change idle = {
        .kind = "sleep", .where = "ticker", .image = "", .meanwhile = "", .object = "", .idle = true};
    struct cs_wait_changes waits = {.at = &idle, .n = 1};
    uint64_t ns[RUNS][2];
    struct gate_wait_kinds kinds;
    for (size_t r = 0; r < RUNS; r++) {
        ns[r][0] = (side_of(r) ? 50u : 20u) * MS + varies[r] * 1000;
        ns[r][1] = varies[r] * MS;
        in_run[r] =
            (struct cs_wait_in_run){(double)ns[r][0] - 1 * MS - (double)varies[RUNS - 1 - r] * 500, 0, 0};
    }
    idle.by_run.at = in_run;
    idle.by_run.n = RUNS;
    of_runs(&kinds, ns, &waits);
    assert_null(gate_wait_kinds_first(&kinds, 0.01));
    gate_wait_kinds_fini(&kinds);
}

/* Base and head in turn, as recorded: ms of mutex, of a lock without a chain, and of joins. */
static const double of_lock[40][3] = {
    {0, 0, 0.781}, {5.035, 0, 2.167}, {0, 0, 0},     {6.067, 0, 0}, {0, 0.664, 0}, {2.085, 0, 0},
    {0, 0, 0},     {0, 2.212, 0},     {0, 0, 0},     {0, 2.888, 0}, {0, 0, 3.947}, {0, 0, 3.991},
    {0, 2.033, 0}, {0, 1.356, 0},     {0, 0, 0},     {0, 1.587, 0}, {0, 0, 0},     {3.448, 0, 0},
    {0, 0, 0},     {0, 0.427, 0},     {0, 0, 0.774}, {2.054, 0, 0}, {0, 0, 0},     {0, 0.052, 0},
    {0, 0, 2.527}, {2.072, 0, 0},     {0, 0, 0},     {1.435, 0, 0}, {0.733, 0, 0}, {0, 1.75, 0},
    {0, 1.765, 0}, {0, 2.719, 0},     {0, 0, 0},     {1.316, 0, 0}, {0, 0, 0},     {1.041, 0, 0},
    {0, 0, 1.587}, {0.707, 0, 3.153}, {0, 0, 0},     {0, 0, 5.616}};

/* `n` of the runs, from run `from` on each `step`th; of the k-th pair the second one is the base where bit k of `turned` is 1. */
static bool lock_grew(size_t n, size_t from, size_t step, unsigned turned, double *net)
{
    const struct cs_wait_changes none = {.n = 0};
    struct gate_wait_kinds kinds = {.n = 0};
    struct gate_run run[40];
    for (size_t r = 0; r < n; r++) {
        const double *ms = of_lock[from + r * step];
        struct cs_wait_total totals[] = {{"mutex", (uint64_t)(ms[0] * 1e6), 1},
                                         {"lock", (uint64_t)(ms[1] * 1e6), 1},
                                         {"join", (uint64_t)(ms[2] * 1e6), 1}};
        const struct cs_wait_groups groups = {.totals = totals, .n_totals = 3};
        run[r] = (struct gate_run){(r ^ turned >> r / 2) & 1, 1000 * r, 0, (double)NAN};
        assert_int_equal(gate_wait_kinds_add(&kinds, r, n, &groups), 0);
    }
    assert_int_equal(gate_wait_kinds_end(&kinds, run, n, &none, 89.5 * MS, 0.01), 0);
    const struct gate_wait_kind *first = gate_wait_kinds_first(&kinds, 0.01);
    const bool grew = first && strcmp(first->kind, "lock") == 0 && first->by_ranks;
    *net = gate_wait_kinds_net(&kinds);
    assert_true(grew || !first);
    gate_wait_kinds_fini(&kinds);
    return grew;
}

/* In half of the head's runs a wait has no chain that was kept, so it is no mutex's. The mean alone can't tell. */
static void a_lock_held_longer_shows_by_ranks(void **state)
{
    (void)state;
    double net;
    assert_true(lock_grew(40, 0, 1, 0, &net));
    assert_true(net > 0.015);
}

/* Each side has runs of the head alone, or of the base alone: all 1,024 ways to call one of a pair the base. */
static void no_division_of_equal_runs_shows(void **state)
{
    (void)state;
    double net;
    for (unsigned turned = 0; turned < 1024; turned++)
        for (size_t side = 0; side < 2; side++)
            assert_false(lock_grew(20, side, 2, turned, &net));
}

enum growth { NONE, GREW, SHRANK };

/* What ranks say of a kind: ms of eight runs of each side, so skewed that the mean can't tell. `n_kinds` share the level. */
static enum growth by_ranks(const double base_ms[8], const double head_ms[8], size_t n_kinds)
{
    static const char *const names[] = {"mutex", "sleep", "disk"};
    const struct cs_wait_changes none = {.n = 0};
    struct gate_wait_kinds kinds = {.n = 0};
    struct gate_run run[16];
    for (size_t r = 0, at[2] = {0}; r < 16; r++) {
        const unsigned side = side_of(r);
        const double ms = (side ? head_ms : base_ms)[at[side]++];
        struct cs_wait_total totals[3] = {
            {names[0], (uint64_t)(ms * 1e6), 1}, {names[1], MS, 1}, {names[2], MS, 1}};
        const struct cs_wait_groups groups = {.totals = totals, .n_totals = n_kinds};
        run[r] = (struct gate_run){side, 1000 * r, 0, (double)NAN};
        assert_int_equal(gate_wait_kinds_add(&kinds, r, 16, &groups), 0);
    }
    assert_int_equal(gate_wait_kinds_end(&kinds, run, 16, &none, 100 * MS, 0.01), 0);
    const struct gate_wait_kind *kind = &kinds.at[0];
    assert_true(kind->estimate.chance > 0.05);
    assert_true(kind->grew == kind->by_ranks && !(kind->grew && kind->shrank));
    const enum growth growth = kind->grew ? GREW : kind->shrank ? SHRANK : NONE;
    gate_wait_kinds_fini(&kinds);
    return growth;
}

static const double nothing[8] = {0}, skewed[8] = {40.5, 0.5, 364.5, 1.5, 4.5, 1093.5, 13.5, 121.5};

/* Of 12,870 divisions one has so high a sum, or two: both sides' chance is 1 in 6,435, or 2. Half of 1 in 2,000 is asked. */
static void ranks_have_half_of_the_level_and_kinds_share_it(void **state)
{
    (void)state;
    const double one_longer[8] = {0, 0, 0.6, 0, 0, 0, 0, 0};
    assert_int_equal(by_ranks(nothing, skewed, 1), GREW);
    assert_int_equal(by_ranks(one_longer, skewed, 1), NONE);
    assert_int_equal(by_ranks(nothing, skewed, 2), NONE);
}

/* 1 % of the run's 100 ms is ignored: the mean must have grown by that, and each rank by a quarter. */
static void a_small_growth_is_none_by_ranks(void **state)
{
    (void)state;
    assert_int_equal(by_ranks(nothing, (const double[8]){0.3, 0.4, 5, 0.3, 0.3, 0.3, 0.3, 0.3}, 1), NONE);
    assert_int_equal(by_ranks(nothing, (const double[8]){0.3, 0.4, 9, 0.3, 0.3, 0.3, 0.3, 0.3}, 1), GREW);
    assert_int_equal(by_ranks(nothing, (const double[8]){0.2, 0.2, 9, 0.2, 0.2, 0.2, 0.2, 0.2}, 1), NONE);
}

static void a_kind_may_have_shrunk_by_ranks(void **state)
{
    (void)state;
    assert_int_equal(by_ranks(skewed, nothing, 1), SHRANK);
    assert_int_equal(by_ranks(skewed, skewed, 1), NONE);
}

/* Idle ones, too. */
static void mutexes_and_locks_are_one_kind(void **state)
{
    (void)state;
    assert_string_equal(gate_wait_kind_of("mutex"), "lock");
    assert_string_equal(gate_wait_kind_of("rwlock"), "lock");
    assert_string_equal(gate_wait_kind_of("lock"), "lock");
    assert_string_equal(gate_wait_kind_of("sleep"), "sleep");
    struct cs_wait_in_run in[RUNS];
    struct cs_wait_change idle = {.kind = "mutex", .idle = true, .by_run = {.at = in, .n = RUNS}};
    const struct cs_wait_changes waits = {.at = &idle, .n = 1};
    struct cs_wait_total totals[] = {{"mutex", 5 * MS, 1}, {"lock", 2 * MS, 1}};
    const struct cs_wait_groups groups = {.totals = totals, .n_totals = 2};
    struct gate_run run[RUNS];
    struct gate_wait_kinds kinds = {.n = 0};
    for (size_t r = 0; r < RUNS; r++) {
        in[r] = (struct cs_wait_in_run){3e6, 0, 0};
        run[r] = (struct gate_run){side_of(r), 1000 * r, 0, (double)NAN};
        assert_int_equal(gate_wait_kinds_add(&kinds, r, RUNS, &groups), 0);
    }
    assert_int_equal(gate_wait_kinds_end(&kinds, run, RUNS, &waits, 100 * MS, 0.01), 0);
    assert_int_equal(kinds.n, 1);
    assert_true(fabs(kinds.at[0].base_ns - 4 * MS) < 1 && fabs(kinds.at[0].head_ns - 4 * MS) < 1);
    gate_wait_kinds_fini(&kinds);
}

#define THREADS 3
static uint64_t for_only_child(uint64_t pid_of_program, uint64_t lived_ms, uint64_t pid_of_second)
{
    struct cs_wait_total of_shell[] = {{"child", 100 * MS, 2}, {"on-cpu", 1 * MS, 1}},
                         of_program[] = {{"on-cpu", 90 * MS, 1}, {"sleep", 10 * MS, 2}};
    struct cs_waiting_thread threads[THREADS] = {
        {.name = "program",
         .pid = pid_of_program,
         .tid = 11,
         .all_ns = lived_ms * MS,
         .totals = of_program,
         .n = 2},
        {.name = "sh", .pid = 10, .tid = 10, .all_ns = 101 * MS, .totals = of_shell, .n = 2},
        {.name = "second", .pid = pid_of_second, .tid = 12, .all_ns = 50 * MS}};
    struct cs_wait_total totals[] = {{"child", 100 * MS, 2}};
    const struct cs_wait_groups groups = {
        .threads = threads, .n_threads = THREADS, .totals = totals, .n_totals = 1};
    struct gate_wait_kinds kinds = {.n = 0};
    assert_int_equal(gate_wait_kinds_add(&kinds, 0, 1, &groups), 0);
    const uint64_t ns = gate_wait_for_only_child_ns(&groups);
    assert_int_equal(gate_wait_kinds_take_off(&kinds, "child", &(double){(double)ns}, 1), ns >= 95 * MS);
    assert_int_equal((uint64_t)kinds.at[0].ns[0], 100 * MS - ns);
    gate_wait_kinds_fini(&kinds);
    return ns;
}

/* As `sh -c` does. Two children may be one after the other, where they were at the same time: that is a growth. */
static void a_wait_for_the_only_child_says_nothing(void **state)
{
    (void)state;
    assert_int_equal(for_only_child(11, 120, 11), 100 * MS);
    assert_int_equal(for_only_child(11, 97, 12), 97 * MS); /* the rest is another child's */
    assert_int_equal(for_only_child(11, 50, 12), 0);       /* two children, one after the other */
    assert_int_equal(for_only_child(11, 120, 10), 0);      /* another thread works meanwhile */
    assert_int_equal(for_only_child(9, 120, 11), 0);       /* it isn't the first process */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sleep_shows_although_siblings_wait),
        cmocka_unit_test(equal_runs_have_none),
        cmocka_unit_test(a_shift_between_kinds_is_no_growth),
        cmocka_unit_test(what_is_idle_does_not_count),
        cmocka_unit_test(a_lock_held_longer_shows_by_ranks),
        cmocka_unit_test(no_division_of_equal_runs_shows),
        cmocka_unit_test(ranks_have_half_of_the_level_and_kinds_share_it),
        cmocka_unit_test(a_small_growth_is_none_by_ranks),
        cmocka_unit_test(a_kind_may_have_shrunk_by_ranks),
        cmocka_unit_test(mutexes_and_locks_are_one_kind),
        cmocka_unit_test(a_wait_for_the_only_child_says_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
