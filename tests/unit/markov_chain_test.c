/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Visit frequencies against a simulated walk's exact counts and against plain iteration. */
#include "analysis/frequency/markov_chain.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define STATES 30
#define MOST 200

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
static void counts_of_a_closed_walk_are_reproduced(void **unused)
{
    (void)unused;
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

static void loop_of_a_trillion_turns_keeps_its_digits(void **unused)
{
    (void)unused;
    const uint32_t from[] = {0, 1, 2, 2}, to[] = {1, 2, 1, 0};
    const double weight[] = {1, 1, 1e12 - 1, 1};
    double visits[3];
    struct cs_markov *chain = cs_markov_open(3, from, to, 4);
    assert_int_equal(cs_markov_solve(chain, weight, visits), 0);
    assert_true(fabs(visits[1] / 1e12 - 1) < 1e-9);
    assert_true(fabs(visits[2] / 1e12 - 1) < 1e-9);
    cs_markov_close(chain);
}

static void what_is_never_reached_has_frequency_zero(void **unused)
{
    (void)unused;
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
        cmocka_unit_test(loop_of_a_trillion_turns_keeps_its_digits),
        cmocka_unit_test(what_is_never_reached_has_frequency_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
