/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Visit frequencies against a simulated walk's exact counts and against plain iteration. */
#include "analysis/frequency/markov_chain.h"
#include "tests/unit/test.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define STATES 30
#define MOST 200
#define MANY 150

static uint64_t state = 1;
static uint32_t draw(uint32_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 33) % n;
}

/* A closed walk visits each state as often as it leaves it, so its counts are the chain's stationary flow,
 * whatever made it turn where. */
TEST(counts_of_a_closed_walk_are_reproduced)
{
    for (int round = 0; round < 200; round++) {
        uint32_t from[MOST], to[MOST], n = 0, choice[STATES][3];
        double weight[MOST] = {0}, visits[STATES], seen[STATES] = {0};
        for (uint32_t i = 0; i < STATES; i++)
            for (int k = 0; k < 3; k++, n++) {
                from[n] = i;
                to[n] = k == 0 ? (i + 1) % STATES : draw(STATES);
                choice[i][k] = n;
            }
        uint32_t at = 0;
        for (uint32_t steps = 0; steps < 20000 || at != 0; steps++) {
            uint32_t bias = seen[at] < 50 ? 0 : 1; /* remembers: no Markov chain itself */
            uint32_t t = choice[at][(draw(5) + bias) % 3];
            seen[at]++;
            weight[t]++;
            at = to[t];
        }
        struct cs_markov *chain = cs_markov_open(STATES, from, to, n);
        assert_non_null(chain);
        assert_int_equal(cs_markov_solve(chain, weight, visits), 0);
        for (uint32_t i = 0; i < STATES; i++)
            assert_true(fabs(visits[i] * seen[0] - seen[i]) <= 1e-6 * seen[i] + 1e-9);
        cs_markov_close(chain);
    }
}

/* Dense elimination in the order of the states, after the paper: another order, no sparse rows. */
static void eliminate_densely(uint32_t n, double *p, double *visits)
{
    double leaving[MANY];
    for (uint32_t k = n - 1; k > 0; k--) {
        leaving[k] = 0;
        for (uint32_t j = 0; j < k; j++)
            leaving[k] += p[k * n + j];
        for (uint32_t i = 0; i < k; i++)
            for (uint32_t j = 0; j < k; j++)
                p[i * n + j] += p[i * n + k] * p[k * n + j] / leaving[k];
    }
    visits[0] = 1;
    for (uint32_t k = 1; k < n; k++) {
        visits[k] = 0;
        for (uint32_t i = 0; i < k; i++)
            visits[k] += visits[i] * p[i * n + k];
        visits[k] /= leaving[k];
    }
}

/* With a state that can't be left, one that isn't reached, and a transition that wasn't taken in one lane alone. */
TEST(four_solves_at_a_time_are_equal_to_four)
{
    static double weight[CS_MARKOV_LANES][4 * STATES];
    static cs_lanes weights[4 * STATES];
    static uint32_t from[4 * STATES], to[4 * STATES];
    cs_lanes all[STATES];
    uint32_t n = 0;
    for (uint32_t i = 0; i < STATES; i++)
        for (int k = 0; k < 3; k++, n++) {
            from[n] = i;
            to[n] = i == 7 ? 7 : k == 0 ? (i + 1) % (STATES - 1) : draw(STATES - 1);
            for (unsigned lane = 0; lane < CS_MARKOV_LANES; lane++)
                weights[n][lane] = weight[lane][n] = draw(4) ? 1 + draw(1000) : 0;
        }
    struct cs_markov *chain = cs_markov_open(STATES, from, to, n);
    assert_non_null(chain);
    assert_int_equal(cs_markov_solve_lanes(chain, weights, all), 0);
    for (unsigned lane = 0; lane < CS_MARKOV_LANES; lane++) {
        double visits[STATES];
        assert_int_equal(cs_markov_solve(chain, weight[lane], visits), 0);
        for (uint32_t i = 0; i < STATES; i++)
            assert_true(visits[i] == all[i][lane] && visits[i] >= 0);
    }
    cs_markov_close(chain);
}

struct solved {
    struct cs_markov *chain;
    const cs_lanes *weights;
    cs_lanes visits[STATES];
};

static void *solve_often(void *argument)
{
    struct solved *s = argument;
    for (int i = 0; i < 200; i++)
        assert_int_equal(cs_markov_solve_lanes(s->chain, s->weights, s->visits), 0);
    return NULL;
}

TEST(twins_solve_at_the_same_time_what_each_solves_alone)
{
    static cs_lanes weights[2][3 * STATES];
    uint32_t from[3 * STATES], to[3 * STATES], n = 0;
    for (uint32_t i = 0; i < STATES; i++)
        for (int k = 0; k < 3; k++, n++) {
            from[n] = i;
            to[n] = k == 0 ? (i + 1) % STATES : draw(STATES);
            for (unsigned lane = 0; lane < CS_MARKOV_LANES; lane++) {
                weights[0][n][lane] = 1 + draw(1000);
                weights[1][n][lane] = 1 + draw(1000);
            }
        }
    struct cs_markov *chain = cs_markov_open(STATES, from, to, n), *twin = cs_markov_twin(chain);
    assert_true(chain && twin);
    struct solved alone[2] = {{chain, weights[0], {{0}}}, {chain, weights[1], {{0}}}},
                  together[2] = {{chain, weights[0], {{0}}}, {twin, weights[1], {{0}}}};
    solve_often(&alone[0]);
    solve_often(&alone[1]);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, solve_often, &together[1]), 0);
    solve_often(&together[0]);
    pthread_join(thread, NULL);
    for (int k = 0; k < 2; k++)
        assert_memory_equal(together[k].visits, alone[k].visits, sizeof alone[k].visits);
    cs_markov_close(twin);
    cs_markov_close(chain);
}

TEST(sparse_and_dense_elimination_agree_to_twelve_digits)
{
    static double p[MANY * MANY], weight[6 * MANY];
    static uint32_t from[6 * MANY], to[6 * MANY];
    for (int round = 0; round < 10; round++) {
        uint32_t n = 0;
        double sum[MANY] = {0}, visits[MANY], dense[MANY];
        memset(p, 0, sizeof p);
        for (uint32_t i = 1; i < MANY; i++)
            for (int k = 0; k < 5; k++, n++) {
                from[n] = k == 4 ? 0 : i;
                to[n] = k == 0 ? i % (MANY - 1) + 1 : k == 1 ? 0 : k == 4 ? i : 1 + draw(MANY - 1);
                /* From one in a billion, as of what is hardly ever left, to as often as not. */
                weight[n] = k == 1 || k == 4 ? 1e-9 : pow(10, -(int)draw(7));
            }
        for (uint32_t t = 0; t < n; t++)
            sum[from[t]] += weight[t];
        for (uint32_t t = 0; t < n; t++)
            if (from[t] != to[t])
                p[from[t] * MANY + to[t]] += weight[t] / sum[from[t]];
        struct cs_markov *chain = cs_markov_open(MANY, from, to, n);
        assert_non_null(chain);
        eliminate_densely(MANY, p, dense);
        for (int again = 0; again < 2; again++) { /* nothing stays of the first */
            assert_int_equal(cs_markov_solve(chain, weight, visits), 0);
            for (uint32_t i = 0; i < MANY; i++)
                assert_true(fabs(visits[i] / dense[i] - 1) < 1e-12);
        }
        cs_markov_close(chain);
    }
}

TEST(loop_of_a_trillion_turns_keeps_its_digits)
{
    const uint32_t from[] = {0, 1, 2, 2}, to[] = {1, 2, 1, 0};
    const double weight[] = {1, 1, 1e12 - 1, 1};
    double visits[3];
    struct cs_markov *chain = cs_markov_open(3, from, to, 4);
    assert_int_equal(cs_markov_solve(chain, weight, visits), 0);
    assert_true(fabs(visits[1] / 1e12 - 1) < 1e-9);
    assert_true(fabs(visits[2] / 1e12 - 1) < 1e-9);
    cs_markov_close(chain);
}

TEST(what_is_never_reached_has_frequency_zero)
{
    const uint32_t from[] = {0, 1, 2}, to[] = {1, 0, 1};
    const double weight[] = {3, 3, 5};
    double visits[3];
    struct cs_markov *chain = cs_markov_open(3, from, to, 3);
    assert_int_equal(cs_markov_solve(chain, weight, visits), 0);
    assert_true(visits[0] == 1 && fabs(visits[1] - 1) < 1e-12 && visits[2] == 0);
    cs_markov_close(chain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_of_a_closed_walk_are_reproduced),
        cmocka_unit_test(four_solves_at_a_time_are_equal_to_four),
        cmocka_unit_test(twins_solve_at_the_same_time_what_each_solves_alone),
        cmocka_unit_test(sparse_and_dense_elimination_agree_to_twelve_digits),
        cmocka_unit_test(loop_of_a_trillion_turns_keeps_its_digits),
        cmocka_unit_test(what_is_never_reached_has_frequency_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
