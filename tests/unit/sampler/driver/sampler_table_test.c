/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sample table, generations of PIDs, periods and the budget's controller: pure parts of sampler/. */
#include "sampler/driver/generations.h"
#include "sampler/driver/hot_table.h"
#include "sampler/rate/budget.h"
#include "sampler/rate/cost.h"
#include "sampler/rate/period.h"
#include "tests/unit/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint64_t random_state = 88172645463325252ULL;
static uint64_t draw(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* ---- the table ---- */

TEST(a_key_gives_back_what_went_in)
{
    uint64_t user = cs_hot_key(0x7fffdeadbeefULL, 0, 15, 2047);
    uint64_t kernel = cs_hot_key(0xffffffff81234567ULL, 1, 3, 1);
    assert_int_equal(cs_hot_pc(user), 0x7fffdeadbeefULL);
    assert_int_equal(cs_hot_event(user), 15);
    assert_int_equal(cs_hot_generation(user), 2047);
    assert_int_equal(cs_hot_pc(kernel), 0xffffffff81234567ULL);
    assert_int_equal(cs_hot_event(kernel), 3);
    assert_int_equal(cs_hot_generation(kernel), 1);
}

TEST(the_table_loses_no_sample_whatever_is_evicted)
{
    enum { BUCKETS = 16, SAMPLES = 200000, PCS = 500 };
    static struct cs_hot_bucket table[BUCKETS];
    static uint64_t truth[PCS], seen[PCS];
    uint32_t turn = 0;
    memset(table, 0, sizeof table);
    for (unsigned i = 0; i < SAMPLES; i++) {
        uint64_t pc = draw() % PCS;
        struct cs_hot_entry out;
        uint64_t key = cs_hot_key(pc, 0, 0, 0);
        truth[pc]++;
        if (cs_hot_add(&table[cs_hot_hash(key, 7) & (BUCKETS - 1)], &turn, key, 7, &out))
            seen[cs_hot_pc(out.key)] += out.count;
    }
    for (unsigned b = 0; b < BUCKETS; b++)
        for (unsigned w = 0; w < CS_HOT_WAYS; w++)
            if (table[b].way[w].count)
                seen[cs_hot_pc(table[b].way[w].key)] += table[b].way[w].count;
    assert_memory_equal(truth, seen, sizeof truth);
}

TEST(the_same_address_of_two_processes_stays_apart)
{
    struct cs_hot_bucket bucket = {.way = {{0, 0, 0}}};
    struct cs_hot_entry out;
    uint32_t turn = 0;
    uint64_t key = cs_hot_key(0x1000, 0, 0, 0);
    cs_hot_add(&bucket, &turn, key, 1, &out);
    cs_hot_add(&bucket, &turn, key, 2, &out);
    cs_hot_add(&bucket, &turn, cs_hot_key(0x1000, 0, 0, 1), 1, &out); /* after an exec */
    cs_hot_add(&bucket, &turn, key, 1, &out);
    assert_int_equal(bucket.way[0].count, 2);
    assert_int_equal(bucket.way[1].count, 1);
    assert_int_equal(bucket.way[2].count, 1);
}

TEST(a_count_that_is_full_is_evicted_not_wrapped)
{
    uint64_t key = cs_hot_key(0x1000, 0, 0, 0);
    struct cs_hot_bucket bucket = {.way = {{key, 1, UINT32_MAX}}};
    struct cs_hot_entry out;
    uint32_t turn = 0;
    assert_int_equal(cs_hot_add(&bucket, &turn, key, 1, &out), 1);
    assert_int_equal(out.count, UINT32_MAX);
    assert_int_equal(bucket.way[0].count, 1);
}

/* ---- generations ---- */

TEST(a_generation_is_found_by_its_time)
{
    struct cs_generations *g = cs_generations_open();
    assert_int_equal(cs_generations_span(g, 42, 1000).number, 0);
    assert_int_equal(cs_generations_next(g, 42, 1000), 1);
    assert_int_equal(cs_generations_next(g, 42, 2000), 2);
    assert_int_equal(cs_generations_span(g, 42, 999).number, 0);
    assert_int_equal(cs_generations_span(g, 42, 1500).number, 1);
    assert_int_equal(cs_generations_span(g, 42, 2500).number, 2);
    assert_int_equal(cs_generations_start(g, 42, 0), 0);
    assert_int_equal(cs_generations_start(g, 42, 1), 1000);
    assert_int_equal(cs_generations_start(g, 42, 2), 2000);
    cs_generations_expire(g, 1500);
    assert_int_equal(cs_generations_start(g, 42, 2), 2000);
    assert_int_equal(cs_generations_span(g, 42, 5000).number, 2);
    cs_generations_close(g);
}

TEST(a_generation_says_how_long_it_lasts)
{
    struct cs_generations *g = cs_generations_open();
    static const uint64_t begins[] = {0, 1000, 2000, 2500, UINT64_MAX};
    assert_int_equal(cs_generations_span(g, 42, 7).to_ns, UINT64_MAX);
    for (unsigned i = 1; i < 4; i++)
        (void)cs_generations_next(g, 42, begins[i]);
    (void)cs_generations_next(g, 43, 1200); /* a neighbour's are not its own */
    for (uint64_t time = 500; time < 4000; time += 250) {
        struct cs_generation_span span = cs_generations_span(g, 42, time);
        unsigned i = time < 1000 ? 0 : time < 2000 ? 1 : time < 2500 ? 2 : 3;
        assert_int_equal(span.number, i);
        assert_int_equal(span.from_ns, begins[i]);
        assert_int_equal(span.to_ns, begins[i + 1]);
    }
    cs_generations_close(g);
}

TEST(a_generation_whose_notice_was_lost_is_unknown)
{
    struct cs_generations *g = cs_generations_open();
    cs_generations_note(g, 42, 5, 1000);
    cs_generations_note(g, 42, 9, 2000);
    assert_int_equal(cs_generations_start(g, 42, 9), 2000);
    assert_true(cs_generations_start(g, 42, 7) == CS_GENERATION_UNKNOWN);
    cs_generations_close(g);
}

TEST(a_fork_and_an_exec_may_be_told_in_the_wrong_order)
{
    struct cs_generations *g = cs_generations_open();
    assert_int_equal(cs_generations_note(g, 9, 2, 2000), 0); /* exec, on CPU 0 */
    assert_int_equal(cs_generations_note(g, 9, 1, 1000), 0); /* fork, on CPU 1: read later */
    assert_int_equal(cs_generations_start(g, 9, 1), 1000);
    assert_int_equal(cs_generations_start(g, 9, 2), 2000);
    cs_generations_expire(g, 5000); /* it runs on */
    assert_int_equal(cs_generations_start(g, 9, 2), 0);
    cs_generations_close(g);
}

/* Begun every 10 ns, and told in blocks of eight from the last to the first. */
TEST(many_generations_of_a_slot_are_found_whatever_the_order)
{
    struct cs_generations *g = cs_generations_open();
    for (unsigned block = 0; block < 1000; block += 8)
        for (unsigned i = 8; i-- > 0;) {
            assert_int_equal(cs_generations_note(g, 9, block + i + 1, 10 * (block + i + 1)), 0);
            assert_int_equal(cs_generations_note(g, 11, block + i + 1, 10 * (block + i + 1) + 5), 0);
        }
    for (unsigned horizon = 0; horizon < 5000; horizon += 1234) {
        cs_generations_expire(g, horizon);
        for (unsigned time = horizon + 20; time < 9990; time++) {
            struct cs_generation_span span = cs_generations_span(g, 9, time);
            assert_int_equal(span.number, time / 10);
            assert_int_equal(span.from_ns, time / 10 * 10);
            assert_int_equal(span.to_ns, time / 10 * 10 + 10);
            assert_int_equal(cs_generations_span(g, 11, time).number, (time - 5) / 10);
        }
        assert_int_equal(cs_generations_start(g, 9, 700), 7000);
    }
    cs_generations_close(g);
}

TEST(after_lost_notices_only_what_runs_now_is_certain)
{
    struct cs_generations *g = cs_generations_open();
    assert_int_equal(cs_generations_note(g, 9, 1, 1000), 0);
    assert_int_equal(cs_generations_resume(g, 9, 6, 8000), 0); /* 2 to 6 began unseen */
    cs_generations_expire(g, 2000);
    assert_int_equal(cs_generations_start(g, 9, 1), 0);
    assert_int_equal(cs_generations_start(g, 9, 5), CS_GENERATION_UNKNOWN);
    assert_int_equal(cs_generations_start(g, 9, 6), 8000);
    cs_generations_expire(g, 9000);
    assert_int_equal(cs_generations_start(g, 9, 6), 0);
    cs_generations_close(g);
}

TEST(generations_wrap_around)
{
    struct cs_generations *g = cs_generations_open();
    for (uint64_t i = 1; i <= 5000; i++) {
        assert_int_equal(cs_generations_next(g, 3, i * 10), i & CS_HOT_GENERATION_MASK);
        cs_generations_expire(g, i > 10 ? i * 10 - 100 : 0);
        assert_int_equal(cs_generations_start(g, 3, i & CS_HOT_GENERATION_MASK), i * 10);
        assert_int_equal(cs_generations_span(g, 3, i * 10 - 1).number, (i - 1) & CS_HOT_GENERATION_MASK);
    }
    cs_generations_close(g);
}

/* ---- periods ---- */

TEST(periods_are_odd_within_a_sixteenth_and_keep_their_mean)
{
    const uint64_t mean = 1000000;
    struct cs_rate_period p;
    double sum = 0;
    cs_rate_period_init(&p, mean, 12345);
    for (int i = 0; i < 20000; i++) {
        uint64_t drawn = cs_rate_period_draw(&p);
        assert_in_range(drawn, mean * 15 / 16, mean * 17 / 16 + 1);
        assert_int_equal(drawn & 1, 1);
        sum += (double)drawn;
    }
    assert_true(sum / 20000 > (double)mean * 0.999 && sum / 20000 < (double)mean * 1.001);
}

TEST(a_period_too_small_to_vary_stays)
{
    struct cs_rate_period p;
    cs_rate_period_init(&p, 1, 1);
    assert_int_equal(cs_rate_period_draw(&p), 1);
}

TEST(few_samples_are_lost_by_drawing_anew)
{
    /* A new period drops half a countdown on average: under 1 % of the samples. */
    for (uint64_t mean_ns = 10000; mean_ns < 1000000000; mean_ns *= 3)
        assert_true(0.5 * (double)mean_ns / (double)cs_rate_period_redraw_ns(mean_ns) < 0.01);
}

/* ---- the budget ---- */

/* A machine with a true cost a sample and a collector with a fixed and a variable part. */
static double run_machine(struct cs_rate_budget *b, double cost, double fixed, double per_sample,
                          double busy_cpus, int seconds)
{
    double loss = 0;
    for (int i = 0; i < seconds; i++) {
        double samples = b->rate_hz * b->n_events * busy_cpus;
        double collector = fixed + per_sample * samples;
        loss = b->rate_hz * b->n_events * cost + collector / b->n_cpus;
        struct cs_rate_budget_window w = {.seconds = 1, .samples = samples, .collector_seconds = collector};
        cs_rate_budget_update(b, &w);
    }
    return loss;
}

TEST(the_rate_keeps_to_the_budget_on_any_machine)
{
    static const double shares[] = {0.002, 0.005, 0.01, 0.03};
    static const double costs[] = {0.5e-6, 3e-6, 20e-6, 60e-6};
    for (unsigned s = 0; s < 4; s++)
        for (unsigned c = 0; c < 4; c++)
            for (unsigned events = 1; events <= 4; events++)
                for (unsigned busy = 1; busy <= 4; busy++) {
                    struct cs_rate_budget b;
                    cs_rate_budget_init(&b, shares[s], events, 4, costs[c]);
                    double loss = run_machine(&b, costs[c], 0.001, 2e-6, busy, 60);
                    assert_true(loss <= shares[s]);
                    assert_true(b.rate_hz >= b.most_hz || loss > 0.5 * shares[s]); /* and uses it */
                }
}

TEST(a_dearer_sample_lowers_the_rate)
{
    struct cs_rate_budget b;
    cs_rate_budget_init(&b, 0.01, 1, 2, 10e-6);
    run_machine(&b, 10e-6, 0, 0, 2, 10);
    double before = b.rate_hz;
    cs_rate_budget_cost(&b, 40e-6);
    run_machine(&b, 40e-6, 0, 0, 2, 10);
    assert_true(b.rate_hz < before / 3.5);
    assert_true(b.rate_hz * 40e-6 <= 0.01);
}

TEST(held_threads_count_against_the_budget)
{
    struct cs_rate_budget b;
    cs_rate_budget_init(&b, 0.01, 1, 2, 10e-6);
    double before = b.rate_hz;
    for (int i = 0; i < 60; i++) {
        struct cs_rate_budget_window w = {.seconds = 1, .samples = b.rate_hz * 2, .held_seconds = 0.01};
        cs_rate_budget_update(&b, &w);
    }
    assert_true(b.rate_hz < 0.6 * before); /* 5 ms a CPU-second of the 10 are gone */
}

/* A command on one of two CPUs, whose bursts take three quarters of the budget: what is left is for samples,
 * in each of many seconds, though bursts come by chance and so do samples where they are few. */
TEST(bursts_leave_samples_their_part)
{
    uint64_t random = 1;
    double share = 0.03, cost = 27e-6, held = 0, seconds = 300, samples = 0;
    struct cs_rate_budget b;
    cs_rate_budget_init(&b, share, 1, 2, cost);
    b.held_weight = CS_RATE_BUDGET_MARGIN;
    for (int i = 0; i < (int)seconds; i++) {
        struct cs_rate_budget_window w = {.seconds = 1, .collector_seconds = 0.001};
        for (int k = 0; k < 45; k++) { /* chances of a burst of a millisecond */
            random = random * 6364136223846793005ULL + 1442695040888963407ULL;
            w.held_seconds += random >> 63 ? 1e-3 : 0;
        }
        w.samples = floor(b.rate_hz);
        if (b.rate_hz < 2) /* of so few none came, or twice as many */
            w.samples = random >> 62 & 1 ? 2 * b.rate_hz : 0;
        held += w.held_seconds;
        samples += w.samples;
        cs_rate_budget_update(&b, &w);
        assert_true(i < 20 || b.rate_hz > 50);
    }
    assert_true(samples / seconds > 150);
    assert_true(held / seconds + samples / seconds * cost <= share);
}

TEST(a_window_without_samples_does_not_blame_bursts)
{
    struct cs_rate_budget b;
    cs_rate_budget_init(&b, 0.03, 1, 2, 27e-6);
    for (int i = 0; i < 30; i++) {
        struct cs_rate_budget_window w = {.seconds = 1, .samples = b.rate_hz, .held_seconds = 0.01};
        cs_rate_budget_update(&b, &w);
    }
    double before = b.rate_hz;
    cs_rate_budget_update(&b, &(struct cs_rate_budget_window){.seconds = 1, .held_seconds = 0.01});
    assert_true(b.rate_hz > before / 2);
}

TEST(a_budget_that_cannot_be_kept_says_so)
{
    struct cs_rate_budget b;
    cs_rate_budget_init(&b, 0.002, 1, 2, 20e-6);
    run_machine(&b, 20e-6, 0.1, 0, 1, 60); /* the collector alone takes 5 % */
    assert_true(b.over);
    assert_true(b.rate_hz <= b.least_hz);
}

TEST(an_unknown_cost_is_taken_as_dear)
{
    struct cs_rate_budget b;
    cs_rate_budget_init(&b, 0.005, 1, 2, 0);
    assert_true(b.cost_seconds >= 20e-6);
}

/* Triangular noise of two thirds of the cost either way, as measured on a virtual machine. */
static double noisy(double cost, uint64_t *random)
{
    double sum = 0;
    for (int i = 0; i < 2; i++) {
        *random = *random * 6364136223846793005ULL + 1442695040888963407ULL;
        sum += (double)(*random >> 11) / 0x1p53;
    }
    return cost * (1 + (sum - 1) * 2 / 3);
}

TEST(a_measured_cost_is_seldom_too_low_and_never_far_off)
{
    uint64_t random = 1;
    unsigned low = 0, runs = 2000;
    for (unsigned r = 0; r < runs; r++) {
        struct cs_rate_cost cost = {0};
        for (unsigned i = 0; i < 10; i++)
            cs_rate_cost_add(&cost, noisy(20e-6, &random));
        double upper = cs_rate_cost_upper(&cost);
        low += upper < 20e-6;
        assert_true(upper > 14e-6 && upper < 30e-6);
    }
    assert_true(low < runs / 10); /* one-sided 95 %, less for so few measurements */
}

TEST(one_wild_measurement_hardly_moves_the_cost)
{
    struct cs_rate_cost cost = {0};
    for (unsigned i = 0; i < 40; i++)
        cs_rate_cost_add(&cost, 20e-6);
    cs_rate_cost_add(&cost, 5e-3); /* the host was away */
    assert_true(cost.mean < 23e-6);
}

TEST(the_cost_follows_a_host_that_became_slower)
{
    uint64_t random = 7;
    struct cs_rate_cost cost = {0};
    for (unsigned i = 0; i < 200; i++)
        cs_rate_cost_add(&cost, noisy(10e-6, &random));
    for (unsigned i = 0; i < 100; i++)
        cs_rate_cost_add(&cost, noisy(30e-6, &random));
    assert_true(cs_rate_cost_upper(&cost) > 28e-6);
}

TEST(too_few_measurements_are_no_cost)
{
    struct cs_rate_cost cost = {0};
    cs_rate_cost_add(&cost, 20e-6);
    assert_true(cs_rate_cost_upper(&cost) <= 0);
    for (unsigned i = 0; i < 20; i++)
        cs_rate_cost_add(&cost, -20e-6);
    assert_true(cs_rate_cost_upper(&cost) <= 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_measured_cost_is_seldom_too_low_and_never_far_off),
        cmocka_unit_test(one_wild_measurement_hardly_moves_the_cost),
        cmocka_unit_test(the_cost_follows_a_host_that_became_slower),
        cmocka_unit_test(too_few_measurements_are_no_cost),
        cmocka_unit_test(a_key_gives_back_what_went_in),
        cmocka_unit_test(the_table_loses_no_sample_whatever_is_evicted),
        cmocka_unit_test(the_same_address_of_two_processes_stays_apart),
        cmocka_unit_test(a_count_that_is_full_is_evicted_not_wrapped),
        cmocka_unit_test(a_generation_is_found_by_its_time),
        cmocka_unit_test(a_generation_says_how_long_it_lasts),
        cmocka_unit_test(a_generation_whose_notice_was_lost_is_unknown),
        cmocka_unit_test(a_fork_and_an_exec_may_be_told_in_the_wrong_order),
        cmocka_unit_test(many_generations_of_a_slot_are_found_whatever_the_order),
        cmocka_unit_test(after_lost_notices_only_what_runs_now_is_certain),
        cmocka_unit_test(generations_wrap_around),
        cmocka_unit_test(periods_are_odd_within_a_sixteenth_and_keep_their_mean),
        cmocka_unit_test(a_period_too_small_to_vary_stays),
        cmocka_unit_test(few_samples_are_lost_by_drawing_anew),
        cmocka_unit_test(the_rate_keeps_to_the_budget_on_any_machine),
        cmocka_unit_test(a_dearer_sample_lowers_the_rate),
        cmocka_unit_test(held_threads_count_against_the_budget),
        cmocka_unit_test(bursts_leave_samples_their_part),
        cmocka_unit_test(a_window_without_samples_does_not_blame_bursts),
        cmocka_unit_test(a_budget_that_cannot_be_kept_says_so),
        cmocka_unit_test(an_unknown_cost_is_taken_as_dear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
