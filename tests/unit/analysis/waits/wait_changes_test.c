/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Waits of two sides: what chance makes is no change, what grew is. Runs are drawn. Waits come at random, the lengths
 * of a place spread over a decade, and short ones are sampled as the kernel's part does it. */
#include "analysis/waits/wait_changes.h"
#include "tests/unit/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define PLACES 100
#define T 4e6 /* ns: shorter waits are sampled */

struct made {
    struct cs_wait_groups run;
    struct cs_wait_group groups[PLACES];
    char names[PLACES][16];
};

static double uniform(void)
{
    return ((double)random() + 0.5) / 2147483648.0;
}

/* Each place has about `times` waits of 0.3 to 3 times its own mean length; that of place 0 is times `grown`. At the last `busy`
 * places they are waits for a CPU, of which a run has more than another. */
static struct made *draw_run(double times, double grown, double spread, unsigned busy)
{
    struct made *m = calloc(1, sizeof *m);
    assert_non_null(m);
    m->run.at = m->groups;
    m->run.n = PLACES;
    for (unsigned p = 0; p < PLACES; p++) {
        struct cs_wait_group *g = &m->groups[p];
        double mean = 1e5 * pow(1.12, p) * (p == 0 ? grown : 1),
               rate = times * exp((p >= PLACES - busy ? 2 : spread) * (uniform() - 0.5)), at = 0;
        snprintf(m->names[p], sizeof m->names[p], "place%u", p);
        *g = (struct cs_wait_group){
            .kind = p >= PLACES - busy ? "run-queue" : "mutex", .where = m->names[p], .via = ""};
        while ((at -= log(uniform())) < rate) {
            double length = mean * pow(10, uniform() - 0.5), weight = fmax(1, T / length);
            if (uniform() * weight > 1)
                continue;
            g->ns += (uint64_t)(length * weight);
            g->count += (uint64_t)weight;
            g->bins[(unsigned)log2(length)] += (uint64_t)weight;
            g->longest_ns = length > (double)g->longest_ns ? (uint64_t)length : g->longest_ns;
        }
        m->run.all_ns += g->ns;
    }
    return m;
}

static struct cs_wait_changes compare(unsigned runs, double times, double grown, double spread, unsigned busy)
{
    struct cs_wait_changes c = {.least_percent = 5};
    for (unsigned side = 0; side < 2; side++)
        for (unsigned r = 0; r < runs; r++) {
            struct made *m = draw_run(times, side ? grown : 1, spread, busy);
            assert_int_equal(cs_wait_changes_add(&c, side, &m->run), 0);
            free(m);
        }
    assert_int_equal(cs_wait_changes_end(&c), 0);
    return c;
}

static void what_chance_makes_is_no_change(void **state)
{
    unsigned significant = 0;
    (void)state;
    for (unsigned i = 0; i < 20; i++) {
        struct cs_wait_changes c = compare(1 + i % 3, 200, 1, 0, 0);
        assert_int_equal(c.n, PLACES);
        significant += c.n_significant != 0;
        cs_wait_changes_fini(&c);
    }
    assert_in_range(significant, 0,
                    2); /* comparisons with any, of 20: with all 2,000 rows alike each is a false one */
}

TEST(a_wait_that_grew_is_found_alone)
{
    for (unsigned i = 0; i < 5; i++) {
        struct cs_wait_changes c = compare(2, 2000, 20, 0, 0);
        assert_int_equal(c.n_significant, 1);
        assert_string_equal(c.at[0].where, "place0");
        assert_true(c.at[0].ratio > 15 && c.at[0].ratio < 27);
        cs_wait_changes_fini(&c);
    }
}

/* Rates of a place differ between runs by up to a factor of 1.6. */
static void runs_that_differ_among_themselves_widen_chance(void **state)
{
    unsigned significant = 0;
    (void)state;
    for (unsigned i = 0; i < 10; i++) {
        struct cs_wait_changes c = compare(4, 2000, 1, 0.5, 0);
        assert_true(c.dispersion > 2);
        significant += c.n_significant != 0;
        cs_wait_changes_fini(&c);
    }
    assert_in_range(significant, 0, 3);
}

TEST(a_busy_machine_hides_no_other_change)
{
    for (unsigned i = 0; i < 5; i++) {
        struct cs_wait_changes c = compare(2, 2000, 3, 0, PLACES / 2);
        assert_true(c.dispersion < 1.6 && c.dispersion_for_cpu > 10);
        assert_in_range(c.n_significant, 1, 2);
        assert_string_equal(c.at[0].where, "place0");
        cs_wait_changes_fini(&c);
    }
}

TEST(runs_of_twice_the_length_have_the_same_shares)
{
    struct cs_wait_changes c = {.least_percent = 5, .shares = true}, costs = {.least_percent = 5};
    for (unsigned side = 0; side < 2; side++) {
        struct made *m = draw_run(side ? 4000 : 2000, 1, 0, 0);
        assert_int_equal(cs_wait_changes_add(&c, side, &m->run), 0);
        assert_int_equal(cs_wait_changes_add(&costs, side, &m->run), 0);
        free(m);
    }
    assert_int_equal(cs_wait_changes_end(&c), 0);
    assert_int_equal(cs_wait_changes_end(&costs), 0);
    assert_in_range(c.n_significant, 0, 1);
    assert_true(costs.n_significant > PLACES / 2);
    cs_wait_changes_fini(&c);
    cs_wait_changes_fini(&costs);
}

/* Ten waits of 100 ms in each run, of which chance alone would make 5 to 15; those of side B are longer. A wait for a CPU grows
 * as much. */
static void regular_waits(struct cs_wait_changes *c, double grown, double by_own)
{
    *c = (struct cs_wait_changes){.least_percent = 5};
    for (unsigned r = 0; r < 6; r++) {
        double ns = 1e9 * (r % 2 ? grown : 1) * (1 + 0.0005 * (double)r);
        struct cs_wait_group at[] = {{.kind = "socket",
                                      .where = "ask",
                                      .via = "",
                                      .ns = (uint64_t)ns,
                                      .count = 10,
                                      .longest_ns = 200000000},
                                     {.kind = "run-queue",
                                      .where = "ask",
                                      .via = "",
                                      .ns = (uint64_t)ns,
                                      .count = 10,
                                      .longest_ns = 200000000}};
        at[0].bins[26] = at[1].bins[26] = 10;
        at[1].facts.by_own_ns = (uint64_t)(by_own * ns);
        struct cs_wait_groups run = {.at = at, .n = 2, .all_ns = 3000000000};
        assert_int_equal(cs_wait_changes_add(c, r % 2, &run), 0);
    }
    assert_int_equal(cs_wait_changes_end(c), 0);
}

static void runs_that_agree_are_the_unit(void **state)
{
    struct cs_wait_changes c;
    (void)state;
    regular_waits(&c, 1.62, 0);
    assert_int_equal(c.n_significant, 1);
    assert_string_equal(c.at[0].kind, "socket");
    cs_wait_changes_fini(&c);
    regular_waits(&c, 1.0002, 0);
    assert_int_equal(c.n_significant, 0);
    cs_wait_changes_fini(&c);
}

static void a_wait_for_a_cpu_that_others_had_is_no_change_of_the_program(void **state)
{
    struct cs_wait_changes c;
    (void)state;
    regular_waits(&c, 1.62, 0.2);
    assert_int_equal(c.n_significant, 1);
    assert_int_equal(c.n_others, 1);
    cs_wait_changes_fini(&c);
    regular_waits(&c, 1.62, 0.9); /* its own threads had it */
    assert_int_equal(c.n_significant, 2);
    cs_wait_changes_fini(&c);
}

/* As versions of one program often have. Two rows of it would be a wait that went and one that came. */
TEST(a_program_that_was_renamed_has_one_row)
{
    struct cs_wait_changes c = {.least_percent = 5, .renamed = "app-1, app-2"};
    const struct cs_store_image image[2] = {{.path = "/srv/app-1"}, {.path = "/srv/app-2"}};
    const struct cs_call_function main_of[2] = {{.image = &image[0]}, {.image = &image[1]}};
    for (unsigned r = 0; r < 8; r++) {
        struct cs_wait_group at = {.kind = "join",
                                   .where = "main",
                                   .via = "",
                                   .function = &main_of[r % 2],
                                   .ns = 1000000000 + r,
                                   .count = 10,
                                   .longest_ns = 200000000};
        at.bins[26] = 10;
        struct cs_wait_groups run = {.at = &at, .n = 1, .all_ns = 3000000000};
        assert_int_equal(cs_wait_changes_add(&c, r % 2, &run), 0);
    }
    assert_int_equal(cs_wait_changes_end(&c), 0);
    assert_int_equal(c.n, 1);
    assert_int_equal(c.n_significant, 0);
    assert_string_equal(c.at[0].image, "app-1, app-2");
    cs_wait_changes_fini(&c);
}

/* A function writes, and waits for the disk: what takes most of the time is the call to name. */
TEST(a_row_has_the_call_with_most_time)
{
    struct cs_wait_changes c = {.n = 0};
    static const struct cs_store_image app = {.path = "/app"};
    static const struct cs_call_function save = {.image = &app};
    for (unsigned r = 0; r < 4; r++) {
        struct cs_wait_group at = {.kind = "file",
                                   .where = "save",
                                   .function = &save,
                                   .via = r == 1 ? "fdatasync" : "write",
                                   .ns = r == 1 ? 2000 : 1000,
                                   .count = 1};
        struct cs_wait_groups run = {.at = &at, .n = 1, .all_ns = 3000};
        assert_int_equal(cs_wait_changes_add(&c, r % 2, &run), 0);
    }
    assert_int_equal(cs_wait_changes_end(&c), 0);
    assert_int_equal(c.n, 1);
    assert_string_equal(c.at[0].via, "fdatasync");
    cs_wait_changes_fini(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_chance_makes_is_no_change),
        cmocka_unit_test(a_wait_that_grew_is_found_alone),
        cmocka_unit_test(runs_that_differ_among_themselves_widen_chance),
        cmocka_unit_test(a_busy_machine_hides_no_other_change),
        cmocka_unit_test(runs_of_twice_the_length_have_the_same_shares),
        cmocka_unit_test(runs_that_agree_are_the_unit),
        cmocka_unit_test(a_program_that_was_renamed_has_one_row),
        cmocka_unit_test(a_row_has_the_call_with_most_time),
        cmocka_unit_test(a_wait_for_a_cpu_that_others_had_is_no_change_of_the_program),
    };
    srandom(1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
