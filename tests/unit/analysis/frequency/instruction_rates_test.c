/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How many instructions groups run in a unit of time, and what that does to frequencies. */
#include "analysis/frequency/edge_flow_internal.h"
#include "store/table/burst_schemas.h"
#include "store/table/schema.h"
#include "tests/unit/test.h"
#include "tests/unit/tree.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct cs_error err;

static void assert_near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance))
        fail_msg("%g is not within %g of %g", value, tolerance, expected);
}

static double uniform(uint64_t *state)
{
    *state = *state * 6364136223846793005 + 1442695040888963407;
    return ((double)(*state >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(uint64_t *state)
{
    return sqrt(-2 * log(uniform(state))) * cos(6.283185307179586 * uniform(state));
}

TEST(without_a_timed_interval_all_groups_are_alike)
{
    struct timed_intervals none = {0};
    struct group_rate rate[3];
    double mean;
    assert_int_equal(group_rates(&none, (uint64_t[]){7, 8, 7}, 3, 0.8, rate, &mean), 0);
    assert_near(mean, 0, 0);
    for (int i = 0; i < 3; i++) {
        assert_near(rate[i].weight, 1, 1e-12);
        assert_near(rate[i].spread, 0.8, 1e-12);
    }
}

/* Places whose true rates are known, timed with noise: the more bursts of a group were timed, the nearer. */
TEST(rates_come_near_the_truth_as_their_spread_says)
{
    enum { GROUPS = 200, TIMED = 16 };
    struct timed_interval rows[GROUPS * TIMED];
    uint64_t group[GROUPS], state = 1;
    double truth[GROUPS], estimated, mean = 0, off = 0;
    struct timed_intervals intervals = {.rows = rows};
    for (int p = 0; p < GROUPS; p++) {
        truth[p] = exp(0.7 * normal(&state));
        group[p] = (uint64_t)p + 100;
        for (int b = 0; b < 1 + p % TIMED; b++) {
            double ns = 50000 + 50000 * uniform(&state);
            rows[intervals.n++] =
                (struct timed_interval){.group = group[p],
                                        .own = group[p],
                                        .burst = (uint64_t)(p * TIMED + b),
                                        .ns = ns,
                                        .instructions = ns * truth[p] * exp(0.1 * normal(&state))};
        }
    }
    struct group_rate rate[GROUPS];
    assert_int_equal(group_rates(&intervals, group, GROUPS, 0.8, rate, &estimated), 0);
    for (int p = 0; p < GROUPS; p++)
        mean += truth[p] / (double)GROUPS;
    assert_near(estimated / mean, 1, 0.1);
    for (int p = 0; p < GROUPS; p++) {
        double error = log(rate[p].weight * estimated / truth[p]) / rate[p].spread;
        off += error * error / (double)GROUPS;
        if (p % TIMED)
            assert_true(rate[p].spread < rate[p - 1].spread);
    }
    assert_true(off > 0.5 && off < 2); /* mean square of errors in units of their spread */
}

/* One burst of one group was timed, as on a machine that is too busy: what the others do isn't known by that. */
TEST(one_timed_burst_doesnt_make_the_others_sure)
{
    enum { PROGRAMS = 400 };
    uint64_t state = 7;
    double off = 0;
    for (int i = 0; i < PROGRAMS; i++) {
        double here = exp(0.8 * normal(&state)), there = exp(0.8 * normal(&state)), mean;
        struct timed_interval row = {
            .group = 7, .own = 7, .burst = 1, .ns = 100000, .instructions = 1e5 * here};
        struct timed_intervals intervals = {.rows = &row, .n = 1};
        struct group_rate rate[2];
        assert_int_equal(group_rates(&intervals, (uint64_t[]){7, 8}, 2, 0.8, rate, &mean), 0);
        double error =
            log(rate[1].weight / rate[0].weight * here / there) / hypot(rate[0].spread, rate[1].spread);
        off += error * error / PROGRAMS;
    }
    assert_true(off > 0.5 && off < 3);
}

/* Of a hundred intervals of a group so many ran on into another, where code is three times as fast; of that
 * one's intervals so many in a hundred the other way. */
static double rate_where_some_leave(unsigned leave, unsigned come)
{
    enum { INTERVALS = 100, OTHERS = 20, HERE = 7, THERE = 8 };
    struct timed_interval rows[INTERVALS + OTHERS];
    struct timed_intervals intervals = {.rows = rows};
    for (unsigned b = 0; b < INTERVALS + OTHERS; b++) {
        bool here = b < INTERVALS, ends_here = here ? b % 10 >= leave / 10 : b % 10 < come / 10;
        rows[intervals.n++] = (struct timed_interval){.group = here ? HERE : THERE,
                                                      .own = ends_here ? HERE : THERE,
                                                      .burst = b,
                                                      .ns = 100000,
                                                      .instructions = ends_here ? 100000 : 300000};
    }
    struct group_rate rate[2];
    double mean;
    assert_int_equal(group_rates(&intervals, (uint64_t[]){HERE, THERE}, 2, 0.8, rate, &mean), 0);
    return rate[0].weight / rate[1].weight;
}

TEST(intervals_that_leave_a_phase_tell_the_next_ones_rate)
{
    assert_near(rate_where_some_leave(0, 0), 1 / 3.0, 0.02);
    assert_near(rate_where_some_leave(30, 0), 1 / 3.0, 0.02);
    assert_near(rate_where_some_leave(70, 0), 1 / 3.0, 0.04);   /* a short phase before a long one */
    assert_near(rate_where_some_leave(70, 50), 2.3 / 2.8, 0.1); /* no phases: each is of many groups */
}

/* Of a group's intervals so many in a hundred took five times as long as it does. */
static double rate_where_some_are_disturbed(unsigned disturbed)
{
    enum { INTERVALS = 100, HERE = 7, THERE = 8 };
    struct timed_interval rows[2 * INTERVALS];
    struct timed_intervals intervals = {.rows = rows};
    for (unsigned b = 0; b < 2 * INTERVALS; b++) {
        bool here = b < INTERVALS, slow = here && b * 37 % INTERVALS < disturbed;
        rows[intervals.n++] = (struct timed_interval){.group = here ? HERE : THERE,
                                                      .own = here ? HERE : THERE,
                                                      .burst = b,
                                                      .ns = slow ? 500000 : 100000,
                                                      .instructions = here ? 300000 : 100000};
    }
    struct group_rate rate[2];
    double mean;
    assert_int_equal(group_rates(&intervals, (uint64_t[]){HERE, THERE}, 2, 0.8, rate, &mean), 0);
    assert_int_equal(intervals.n, 2 * INTERVALS - disturbed); /* nor have their bursts a rate of their own */
    return rate[0].weight / rate[1].weight;
}

TEST(disturbed_intervals_tell_nothing_of_their_group)
{
    assert_near(rate_where_some_are_disturbed(0), 3, 0.05);
    assert_near(rate_where_some_are_disturbed(30), 3, 0.05);
}

/* Three timed bursts of three groups, as fast as each other by chance. */
TEST(few_timed_groups_dont_say_what_the_others_are)
{
    struct timed_interval rows[3];
    struct timed_intervals intervals = {.rows = rows};
    for (unsigned b = 0; b < 3; b++)
        rows[intervals.n++] =
            (struct timed_interval){.group = b, .own = b, .burst = b, .ns = 100000, .instructions = 300000};
    struct group_rate rate[2];
    double mean;
    assert_int_equal(group_rates(&intervals, (uint64_t[]){1, 99}, 2, 0.8, rate, &mean), 0);
    assert_true(rate[0].spread > 0.3 && rate[0].spread < 0.5);
    assert_true(rate[1].spread > 0.7);
}

/* Two phases of a program of forty groups each; nothing was timed. How the sums of their weights are to one
 * another is drawn as widely as one group's is. */
TEST(errors_of_a_phase_dont_cancel)
{
    enum { GROUPS = 40, EDGES = 10, BURSTS = 2 * GROUPS };
    struct cs_counted_edge list[2 * EDGES] = {0};
    struct burst_edge rows[BURSTS * EDGES];
    struct burst_entry entries[BURSTS];
    uint64_t number[BURSTS];
    struct cs_edge_flow flow = {.list = list, .n = 2 * EDGES, .n_bursts = BURSTS};
    struct burst_edges w = {.rows = rows, .number = number, .entries = entries, .n_entries = BURSTS};
    struct timed_intervals none = {0};
    struct burst_weights weights;
    for (unsigned e = 0; e < 2 * EDGES; e++)
        list[e] = (struct cs_counted_edge){.from = 0x1000 + 64 * e, .to = 0x1020 + 64 * e};
    for (unsigned b = 0; b < BURSTS; b++) {
        number[b] = b;
        entries[b] = (struct burst_entry){.burst = b, .group = 1000 + b, .image = UINT32_MAX};
        for (unsigned e = 0; e < EDGES; e++)
            rows[w.n++] = (struct burst_edge){b, b / GROUPS * EDGES + e, 100};
    }
    assert_int_equal(burst_weights_open(&weights, &flow, &w, &none), 0);
    double sum = 0, squares = 0;
    struct cs_random random = {1};
    for (unsigned round = 0; round < CS_EDGE_FLOW_REPLICATES; round++) {
        double of[2] = {0};
        burst_weights_draw(&weights, &random, round, false);
        for (unsigned b = 0; b < BURSTS; b++)
            of[b / GROUPS] += weights.weight[b];
        double ln = log(of[0] / of[1]);
        sum += ln;
        squares += ln * ln;
    }
    burst_weights_fini(&weights);
    double n = CS_EDGE_FLOW_REPLICATES;
    double spread = sqrt((squares - sum * sum / n) / (n - 1));
    assert_near(spread, sqrt(2) * 0.8, 0.5); /* 0.3 where each group is drawn by itself */
}

static const struct cs_store_image program = {.id = "0123456789abcdef",
                                              .kind = CS_IMAGE_ELF,
                                              .path = "/nowhere/program",
                                              .build_id = "0123456789abcdef"};

static void merge(struct cs_store *store, const char *event, struct cs_table *table)
{
    struct cs_store_profile_head head = {.event = ""};
    snprintf(head.event, sizeof head.event, "%s", event);
    assert_int_equal(cs_store_merge(store, &program, &head, table, &err), 0);
    cs_table_close(table);
}

/* Two loops of a branch each, which no burst saw linked; as many bursts in each; the second runs three times
 * as many instructions in a unit of time. */
static void fill(struct cs_store *store)
{
    struct cs_table *edges = cs_table_open(&cs_schema_edges),
                    *burst_edges = cs_table_open(&cs_schema_per_burst_edges),
                    *intervals = cs_table_open(&cs_schema_instruction_rates),
                    *entries = cs_table_open(&cs_schema_burst_entries);
    uint64_t same = (uint64_t)cs_table_text(edges, "");
    assert_int_equal(same, (uint64_t)cs_table_text(burst_edges, ""));
    assert_int_equal(same, (uint64_t)cs_table_text(entries, ""));
    for (uint64_t loop = 0; loop < 2; loop++) {
        uint64_t branch = 0x1000 * (loop + 1), start = branch - 16;
        assert_int_equal(cs_table_add(edges, (uint64_t[]){branch, same, start, 20000, 20, 20000000}), 0);
        for (uint64_t b = 0; b < 20; b++) {
            uint64_t burst = 100 * loop + b;
            assert_int_equal(cs_table_add(burst_edges, (uint64_t[]){burst, branch, same, start, 1000}), 0);
            assert_int_equal(cs_table_add(entries, (uint64_t[]){burst, start, same, start, 10000}), 0);
            assert_int_equal(
                cs_table_add(intervals, (uint64_t[]){branch, burst, 100000, 100000, loop ? 300000 : 100000}),
                0);
        }
    }
    merge(store, "burst-edges", edges);
    merge(store, "burst-windows", burst_edges);
    merge(store, "burst-paces", intervals);
    merge(store, "burst-beginnings", entries);
}

/* A branch that went one way in short bursts, the other way in as many that were thirty times as long. */
static void fill_short_and_long(struct cs_store *store)
{
    struct cs_table *edges = cs_table_open(&cs_schema_edges),
                    *burst_edges = cs_table_open(&cs_schema_per_burst_edges),
                    *entries = cs_table_open(&cs_schema_burst_entries);
    uint64_t same = (uint64_t)cs_table_text(edges, ""), branch = 0x1000;
    assert_int_equal(same, (uint64_t)cs_table_text(burst_edges, ""));
    assert_int_equal(same, (uint64_t)cs_table_text(entries, ""));
    for (uint64_t way = 0; way < 2; way++) {
        uint64_t to = branch - 32 + 16 * way, count = way ? 30000 : 1000;
        assert_int_equal(
            cs_table_add(edges, (uint64_t[]){branch, same, to, 20 * count, 20, 20 * count * count}), 0);
        for (uint64_t b = 0; b < 20; b++) {
            uint64_t burst = 100 * way + b;
            assert_int_equal(cs_table_add(burst_edges, (uint64_t[]){burst, branch, same, to, count}), 0);
            assert_int_equal(cs_table_add(entries, (uint64_t[]){burst, to, same, to, 16 * count}), 0);
        }
    }
    merge(store, "burst-edges", edges);
    merge(store, "burst-windows", burst_edges);
    merge(store, "burst-beginnings", entries);
}

/* Long bursts that begin at one group; half of them go one way at 1 instruction a nanosecond, the others
 * another way at 3. `timed`: how many of each half are. */
static void fill_two_rates(struct cs_store *store, uint64_t timed)
{
    struct cs_table *edges = cs_table_open(&cs_schema_edges),
                    *burst_edges = cs_table_open(&cs_schema_per_burst_edges),
                    *intervals = cs_table_open(&cs_schema_instruction_rates),
                    *entries = cs_table_open(&cs_schema_burst_entries);
    uint64_t same = (uint64_t)cs_table_text(edges, ""), branch = 0x1000;
    assert_int_equal(same, (uint64_t)cs_table_text(burst_edges, ""));
    assert_int_equal(same, (uint64_t)cs_table_text(entries, ""));
    for (uint64_t way = 0; way < 2; way++) {
        uint64_t to = branch - 32 + 16 * way;
        assert_int_equal(cs_table_add(edges, (uint64_t[]){branch, same, to, 400000, 20, 8000000000}), 0);
        for (uint64_t b = 0; b < 20; b++) {
            uint64_t burst = 100 * way + b, ran = way ? 300000 : 100000;
            assert_int_equal(cs_table_add(burst_edges, (uint64_t[]){burst, branch, same, to, 20000}), 0);
            assert_int_equal(cs_table_add(entries, (uint64_t[]){burst, branch, same, branch, 400000}), 0);
            if (b < timed)
                assert_int_equal(cs_table_add(intervals, (uint64_t[]){branch, burst, 30000, 100000, ran}), 0);
        }
    }
    merge(store, "burst-edges", edges);
    merge(store, "burst-windows", burst_edges);
    merge(store, "burst-paces", intervals);
    merge(store, "burst-beginnings", entries);
}

/* Two loops of which no burst saw the end; those of the second are sixty times as long. */
static void fill_lengths(struct cs_store *store)
{
    struct cs_table *edges = cs_table_open(&cs_schema_edges),
                    *burst_edges = cs_table_open(&cs_schema_per_burst_edges),
                    *entries = cs_table_open(&cs_schema_burst_entries);
    uint64_t same = (uint64_t)cs_table_text(edges, "");
    assert_int_equal(same, (uint64_t)cs_table_text(burst_edges, ""));
    assert_int_equal(same, (uint64_t)cs_table_text(entries, ""));
    for (uint64_t loop = 0; loop < 2; loop++) {
        uint64_t branch = 0x1000 * (loop + 1), start = branch - 16, count = loop ? 30000 : 500;
        assert_int_equal(
            cs_table_add(edges, (uint64_t[]){branch, same, start, 20 * count, 20, 20 * count * count}), 0);
        for (uint64_t b = 0; b < 20; b++) {
            uint64_t burst = 100 * loop + b;
            assert_int_equal(cs_table_add(burst_edges, (uint64_t[]){burst, branch, same, start, count}), 0);
            assert_int_equal(cs_table_add(entries, (uint64_t[]){burst, start, same, start, 10 * count}), 0);
        }
    }
    merge(store, "burst-edges", edges);
    merge(store, "burst-windows", burst_edges);
    merge(store, "burst-beginnings", entries);
}

/* Two loops, 60 bursts in each; three more saw the first one's end, by chance none the second's. */
static void fill_one_way(struct cs_store *store)
{
    struct cs_table *edges = cs_table_open(&cs_schema_edges),
                    *burst_edges = cs_table_open(&cs_schema_per_burst_edges),
                    *entries = cs_table_open(&cs_schema_burst_entries);
    uint64_t same = (uint64_t)cs_table_text(edges, ""), first = 0x1000, second = 0x2000;
    assert_int_equal(same, (uint64_t)cs_table_text(burst_edges, ""));
    assert_int_equal(same, (uint64_t)cs_table_text(entries, ""));
    for (uint64_t burst = 0; burst < 123; burst++) {
        bool leaves = burst >= 120;
        uint64_t branch = burst < 60 || leaves ? first : second, count = leaves ? 500 : 1000;
        assert_int_equal(cs_table_add(burst_edges, (uint64_t[]){burst, branch, same, branch - 16, count}), 0);
        assert_int_equal(cs_table_add(entries, (uint64_t[]){burst, branch - 16, same, branch - 16, 10000}),
                         0);
        if (leaves) {
            assert_int_equal(cs_table_add(burst_edges, (uint64_t[]){burst, first, same, second - 16, 1}), 0);
            assert_int_equal(cs_table_add(burst_edges, (uint64_t[]){burst, second, same, second - 16, 499}),
                             0);
        }
    }
    assert_int_equal(cs_table_add(edges, (uint64_t[]){first, same, first - 16, 61500, 63, 61000000}), 0);
    assert_int_equal(cs_table_add(edges, (uint64_t[]){first, same, second - 16, 3, 3, 3}), 0);
    assert_int_equal(cs_table_add(edges, (uint64_t[]){second, same, second - 16, 61497, 63, 61000000}), 0);
    merge(store, "burst-edges", edges);
    merge(store, "burst-windows", burst_edges);
    merge(store, "burst-beginnings", entries);
}

/* Two loops seen as often, the second by branch records alone, which belong to no burst. */
static void fill_with_records(struct cs_store *store)
{
    struct cs_table *edges = cs_table_open(&cs_schema_edges),
                    *burst_edges = cs_table_open(&cs_schema_per_burst_edges),
                    *entries = cs_table_open(&cs_schema_burst_entries);
    uint64_t same = (uint64_t)cs_table_text(edges, ""), branch = 0x1000;
    assert_int_equal(same, (uint64_t)cs_table_text(burst_edges, ""));
    assert_int_equal(same, (uint64_t)cs_table_text(entries, ""));
    for (uint64_t loop = 0; loop < 2; loop++)
        assert_int_equal(cs_table_add(edges, (uint64_t[]){branch * (loop + 1), same, branch * (loop + 1) - 16,
                                                          20000, 20, 20000000}),
                         0);
    for (uint64_t burst = 0; burst < 20; burst++) {
        assert_int_equal(cs_table_add(burst_edges, (uint64_t[]){burst, branch, same, branch - 16, 1000}), 0);
        assert_int_equal(cs_table_add(entries, (uint64_t[]){burst, branch, same, branch - 16, 16000}), 0);
    }
    merge(store, "burst-edges", edges);
    merge(store, "burst-windows", burst_edges);
    merge(store, "burst-beginnings", entries);
}

/* User time by the clock: per mille of it in the first loop, the rest in the second. */
static void add_samples(struct cs_store *store, uint64_t first)
{
    struct cs_table *points = cs_table_open(&cs_schema_points);
    struct cs_store_profile_head head = {.event = "cpu-clock", .unit = "ns", .period_sum = 1000000};
    assert_int_equal(cs_table_add(points, (uint64_t[]){0x1000 - 1, first}), 0);
    assert_int_equal(cs_table_add(points, (uint64_t[]){0x2000 - 1, 1000 - first}), 0);
    assert_int_equal(cs_store_merge(store, &program, &head, points, &err), 0);
    cs_table_close(points);
}

/* Of the last edge to the first. */
static double ratio_of_flows(struct cs_store *store, enum cs_edge_flow_method method)
{
    struct cs_edge_flow *t;
    if (cs_edge_flow_load(store, method, &t, &err) < 0)
        fail_msg("%s", err.text);
    assert_true(t->n >= 2);
    double ratio = t->list[t->n - 1].flow / t->list[0].flow;
    cs_edge_flow_close(t);
    return ratio;
}

static struct cs_store *new_store(char group[])
{
    struct cs_store *store;
    assert_non_null(mkdtemp(group));
    if (cs_store_open(group, CS_STORE_WRITE, &store, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(cs_store_epoch(store, NULL, &err), 0);
    return store;
}

TEST(a_group_that_runs_more_in_a_time_ran_more_often)
{
    char folder[] = "/tmp/rates-test-XXXXXX";
    struct cs_store *store = new_store(folder);
    struct cs_edge_flow *t;
    fill(store);
    assert_near(ratio_of_flows(store, CS_EDGE_FLOW_UNTIMED), 1, 1e-6);
    assert_near(ratio_of_flows(store, CS_EDGE_FLOW_CHAIN), 3, 0.15);
    /* Half of the time 1 instruction a ns, half of it 3, a branch every 10. */
    assert_int_equal(cs_edge_flow_load(store, CS_EDGE_FLOW_CHAIN, &t, &err), 0);
    assert_near(t->list[0].flow * t->executions_a_flow_ns, 0.05, 0.003);
    assert_near(t->list[1].flow * t->executions_a_flow_ns, 0.15, 0.003);
    cs_edge_flow_close(t);
    cs_store_close(store);
    assert_int_equal(remove_tree(folder), 0);
}

/* As many bursts begin in both loops, by chance; nine of ten samples are in the first. */
TEST(bursts_stand_for_the_time_that_samples_tell)
{
    char folder[] = "/tmp/rates-test-XXXXXX";
    struct cs_store *store = new_store(folder);
    fill(store);
    add_samples(store, 900);
    double time = (100.0 + 20) / (900 + 20); /* the bursts' own moments are samples, too */
    assert_near(ratio_of_flows(store, CS_EDGE_FLOW_UNTIMED), time, 1e-3);
    assert_near(ratio_of_flows(store, CS_EDGE_FLOW_CHAIN), 3 * time, 0.03);
    cs_store_close(store);
    assert_int_equal(remove_tree(folder), 0);
}

static void expect_ratio(void (*fill_with)(struct cs_store *), uint64_t first, double ratio, double tolerance)
{
    char folder[] = "/tmp/rates-test-XXXXXX";
    struct cs_store *store = new_store(folder);
    fill_with(store);
    if (first)
        add_samples(store, first);
    assert_near(ratio_of_flows(store, CS_EDGE_FLOW_CHAIN), ratio, tolerance);
    cs_store_close(store);
    assert_int_equal(remove_tree(folder), 0);
}

TEST(code_whose_bursts_are_short_stands_for_its_time_as_well)
{
    expect_ratio(fill_lengths, 500, 1, 1e-3);
}

TEST(records_of_no_burst_count_as_bursts_do)
{
    expect_ratio(fill_with_records, 0, 1, 0.01);
}

TEST(a_few_ends_of_phases_move_little)
{
    expect_ratio(fill_one_way, 0, 1, 0.15);
}

/* The true ratio is 3, by so many timed bursts of each half's 20. */
static double ratio_by_timed(uint64_t timed)
{
    char folder[] = "/tmp/rates-test-XXXXXX";
    struct cs_store *store = new_store(folder);
    fill_two_rates(store, timed);
    double ratio = ratio_of_flows(store, CS_EDGE_FLOW_CHAIN);
    cs_store_close(store);
    assert_int_equal(remove_tree(folder), 0);
    return ratio;
}

TEST(a_burst_that_was_timed_counts_by_its_own_rate)
{
    assert_near(ratio_by_timed(0), 1, 0.01);
    assert_true(ratio_by_timed(9) > 1.4 && ratio_by_timed(9) < 3);
    assert_near(ratio_by_timed(20), 3, 0.01);
}

TEST(a_long_burst_counts_for_more_than_a_short_one_but_not_by_its_length)
{
    char folder[] = "/tmp/rates-test-XXXXXX";
    struct cs_store *store = new_store(folder);
    fill_short_and_long(store);
    double ratio = ratio_of_flows(store, CS_EDGE_FLOW_CHAIN);
    assert_true(ratio > 2 && ratio < 15);
    assert_near(ratio_of_flows(store, CS_EDGE_FLOW_RAW), 30, 1e-6);
    cs_store_close(store);
    assert_int_equal(remove_tree(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_timed_interval_all_groups_are_alike),
        cmocka_unit_test(rates_come_near_the_truth_as_their_spread_says),
        cmocka_unit_test(one_timed_burst_doesnt_make_the_others_sure),
        cmocka_unit_test(intervals_that_leave_a_phase_tell_the_next_ones_rate),
        cmocka_unit_test(disturbed_intervals_tell_nothing_of_their_group),
        cmocka_unit_test(few_timed_groups_dont_say_what_the_others_are),
        cmocka_unit_test(errors_of_a_phase_dont_cancel),
        cmocka_unit_test(a_group_that_runs_more_in_a_time_ran_more_often),
        cmocka_unit_test(bursts_stand_for_the_time_that_samples_tell),
        cmocka_unit_test(code_whose_bursts_are_short_stands_for_its_time_as_well),
        cmocka_unit_test(records_of_no_burst_count_as_bursts_do),
        cmocka_unit_test(a_few_ends_of_phases_move_little),
        cmocka_unit_test(a_burst_that_was_timed_counts_by_its_own_rate),
        cmocka_unit_test(a_long_burst_counts_for_more_than_a_short_one_but_not_by_its_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
